//! Stored documents, as another program may have written them: a read returns what it can, or says that the document is corrupt, at
//! once and without what is in it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use bson::{Document, RawDocumentBuf, doc};
use local_mongod::{LocalMongod, Options};
use mongodb::Client;
use persistence::mongo::{COLLECTIONS, MongoOptions, MongoStore};
use tokio::runtime::Builder;

use super::Target;
use crate::world::World;
use crate::{fixtures, input};

pub(super) const TARGET: Target = Target { name: "stored", check, seeds };

/// A collection, the golden document of it that is replaced, and the reads that find it.
const READS: &[(&str, &str, &[&str])] = &[
    (
        "chat_sessions",
        "chat_session/v2",
        &[
            "chats/acme_corp/chat_golden",
            "chats/acme_corp",
            "chats/acme_corp/chat_golden/messages",
            "chats/acme_corp/chat_golden/history?dialect=openai",
            "chats/acme_corp/chat_golden/resume",
            "chats/acme_corp/chat_golden/context",
            "chats/acme_corp/chat_golden/artifact",
            "chats/acme_corp/chat_golden/lease",
            "chats/acme_corp/chat_golden/members",
        ],
    ),
    (
        "chat_segments",
        "chat_segment/v4",
        &[
            "chats/acme_corp/chat_golden/messages",
            "chats/acme_corp/chat_golden/history?dialect=anthropic",
            "chats/acme_corp/chat_golden/messages/1",
        ],
    ),
    ("chat_blobs", "chat_blob/v1", &["chats/acme_corp/chat_golden/context"]),
    (
        "context_snapshots",
        "context_snapshot/v1",
        &[
            "chats/acme_corp/chat_golden/context/history",
            "chats/acme_corp/chat_golden/context/history/1",
        ],
    ),
    ("chat_participants", "chat_participants/v1", &["chats/acme_corp/chat_golden/participants"]),
    ("presence", "presence/v1", &["chats/acme_corp/chat_golden/presence"]),
    (
        "input_requests",
        "input_request/v1",
        &[
            "chats/acme_corp/chat_golden/input-requests",
            "chats/acme_corp/chat_golden/input-requests/input_golden",
            "input-requests/acme_corp",
        ],
    ),
    ("provider_calls", "provider_call/v1", &["chats/acme_corp/chat_golden/calls"]),
    (
        "tool_runs",
        "tool_run/v1",
        &[
            "chats/acme_corp/chat_golden/tool-runs",
            "chats/acme_corp/chat_golden/tool-runs/stats",
            "tool-stats/acme_corp",
        ],
    ),
    (
        "resume_points",
        "resume_point/v4",
        &["chats/acme_corp/chat_golden/resume-points", "chats/acme_corp/chat_golden/resume"],
    ),
    (
        "streams",
        "stream/v1",
        &[
            "chats/acme_corp/chat_golden/streams",
            "chats/acme_corp/chat_golden/streams/stream_1",
            "chats/acme_corp/chat_golden/streams/stream_1/chunks",
        ],
    ),
    ("stream_groups", "stream_group/v1", &["chats/acme_corp/chat_golden/streams/stream_1/chunks"]),
    (
        "workflow_stats",
        "workflow_stats/v5",
        &["stats/acme_corp", "stats/acme_corp/Generator", "stats/acme_corp/Generator/chats"],
    ),
    (
        "workflow_stats",
        "rollup/v5",
        &["user-stats/acme_corp", "user-stats/acme_corp/user_alice", "model-stats/acme_corp"],
    ),
    ("apps", "app/v1", &["apps/acme_corp", "apps"]),
    ("wallets", "wallet/v1", &["wallets/acme_corp/alice"]),
    ("wallet_entries", "wallet_entry/v1", &["wallets/acme_corp/alice/entries"]),
    (
        "assistants",
        "assistant/v1",
        &["assistants/acme_corp", "assistants/acme_corp/weather_assistant"],
    ),
    ("documents", "document/v1", &["documents/acme_corp", "documents/acme_corp/notes/plan.md"]),
    ("document_parts", "document_part/v1", &["documents/acme_corp/notes/plan.md"]),
];

/// A database with the golden documents, and a service on it.
struct Database {
    world: World,
    raw: mongodb::Database,
    goldens: BTreeMap<&'static str, Document>,
    _server: LocalMongod,
}

thread_local! {
    static DATABASE: RefCell<Option<Database>> = const { RefCell::new(None) };
}

/// The first byte chooses a golden document; the rest is a document in extended JSON in its place.
fn check(bytes: &[u8]) {
    let (number, text) = input::byte(bytes);
    let (collection, name, reads) = READS[number % READS.len()];
    let Ok(mut document) = serde_json::from_slice::<Document>(text) else { return };
    DATABASE.with_borrow_mut(|database| {
        let database = database.get_or_insert_with(Database::start);
        let golden = database.goldens[name].clone();
        document.insert("_id", golden["_id"].clone());
        if database.replace(collection, &document) {
            for path in reads {
                let request = Request::builder().uri(format!("/api/{path}"));
                let answer = database.world.send(request.body(Body::empty()).unwrap());
                let is_told = ["corrupt-document", "unsupported-schema-version"];
                if answer.status.is_server_error() {
                    let code = answer.json()["code"].as_str().unwrap().to_owned();
                    assert!(is_told.contains(&&*code), "{path}: {answer:?}");
                } else {
                    answer.check(false);
                }
            }
        }
        assert!(database.replace(collection, &golden), "the golden document is stored again");
    });
}

impl Database {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (server, store, raw, goldens) = runtime.block_on(async {
            let server = LocalMongod::start(Options::from_env()).await.expect("a mongod starts");
            let client = Client::with_uri_str(server.uri()).await.unwrap();
            let raw = client.database("fuzz");
            let mut options = MongoOptions::new(server.uri(), "fuzz");
            options.deadline = Duration::from_secs(5);
            options.sealing.is_automatic = false;
            let store = MongoStore::connect(&options).await.unwrap();
            let goldens: BTreeMap<_, _> =
                READS.iter().map(|(_, name, _)| (*name, golden(name))).collect();
            (server, store, raw, goldens)
        });
        let world = World::over(runtime, Arc::new(store), World::config());
        let database = Self { world, raw, goldens, _server: server };
        for stored in COLLECTIONS {
            for (collection, name, _) in READS.iter().filter(|(name, ..)| *name == stored.name) {
                assert!(database.replace(collection, &database.goldens[name]));
            }
        }
        database
    }

    /// Replaces the document with the same id. Returns whether the server stores such a document.
    fn replace(&self, collection: &str, document: &Document) -> bool {
        let Ok(raw) = RawDocumentBuf::try_from(document) else { return false };
        let collection = self.raw.collection::<RawDocumentBuf>(collection);
        let filter = doc! { "_id": document["_id"].clone() };
        let replaced = collection.replace_one(filter, raw).upsert(true);
        self.world.runtime().block_on(async { replaced.await }).is_ok()
    }
}

fn golden(name: &str) -> Document {
    serde_json::from_slice(&fixtures::file(&format!("fixtures/stored/{name}.json"))).unwrap()
}

fn seeds() -> Vec<Vec<u8>> {
    let numbered = (0_u8..).zip(READS);
    let text = |(number, (_, name, _)): (u8, &(&str, &str, &[&str]))| {
        let golden = fixtures::file(&format!("fixtures/stored/{name}.json"));
        let golden: serde_json::Value = serde_json::from_slice(&golden).unwrap();
        [&[number], golden.to_string().as_bytes()].concat()
    };
    numbered.map(text).collect()
}

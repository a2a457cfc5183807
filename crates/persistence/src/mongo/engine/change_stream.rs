//! The change stream of the process: the server's notifications of changes by any process.
//!
//! After a failover or a lost cursor the driver resumes the stream once by its token. If that fails
//! for any reason, such as an expired token, a dropped collection or a long outage, a new stream
//! starts from the present. No change is lost by that, because subscribers catch up from the store
//! after every `Began`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use futures::stream::{self, Stream, StreamExt};
use mongodb::change_stream::ChangeStream;
use mongodb::error::Error;
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};
use records::ChatId;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::mongo::MongoStore;
use crate::mongo::collection_names::{
    CHAT_PARTICIPANTS, CHAT_SESSIONS, PRESENCE, PROVIDER_CALLS, STREAM_GROUPS,
};
use crate::mongo::engine::failure::code;
use crate::mongo::streams::{StoredGroup, stream_group_record};
use crate::store::{Change, ChatChange, StreamChange};

/// The timeout of server selection. After the clean shutdown of a primary the driver waits this
/// long before it reports an error.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// The initial and the largest pause before a change stream is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The pause if the server has no change streams.
const UNSUPPORTED_PAUSE: Duration = Duration::from_secs(30);

/// The server's code for a change stream on a server without an operation log.
const NO_CHANGE_STREAMS: i32 = 40_573;

/// The fields other than the message counter whose change subscribers must see.
const WATCHED_FIELDS: [&str; 7] = [
    "revision",
    "status",
    "status_reason",
    "context_version",
    "artifact_version",
    "input_version",
    "session_version",
];

/// The field with a group of a stream.
const GROUP: &str = "fullDocument";

/// The operations that end a collection; earlier notifications are then void.
pub(crate) const COLLECTION_ENDINGS: [&str; 4] = ["drop", "rename", "dropDatabase", "invalidate"];

/// Opens change streams.
#[derive(Debug)]
pub(crate) struct ChangeStreams {
    options: ClientOptions,
    database_name: String,
    /// A separate client, created on first use, because it needs other timeouts and each stream
    /// occupies a connection.
    watched: OnceCell<Database>,
    are_supported: AtomicBool,
}

impl ChangeStreams {
    pub(crate) fn new(mut options: ClientOptions, database: &str) -> Self {
        options.server_selection_timeout = Some(SELECTION_TIMEOUT);
        // The pool metrics count only the connections for calls.
        options.cmap_event_handler = None;
        let (database_name, watched) = (database.to_owned(), OnceCell::new());
        Self { options, database_name, watched, are_supported: AtomicBool::new(true) }
    }

    pub(crate) fn are_supported(&self) -> bool {
        self.are_supported.load(Ordering::Relaxed)
    }

    /// Reads from a server's `hello` reply whether it has change streams: only members of a replica
    /// set and routers have them.
    pub(crate) fn record_server(&self, hello: &Document) {
        let is_router = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        self.are_supported.store(is_router || hello.contains_key("setName"), Ordering::Relaxed);
    }

    async fn open(&self) -> Result<ChangeStream<RawDocumentBuf>, Error> {
        self.open_with(pipeline()).await
    }

    pub(crate) async fn open_with(
        &self,
        pipeline: [Document; 2],
    ) -> Result<ChangeStream<RawDocumentBuf>, Error> {
        let connect = async || {
            let client = Client::with_options(self.options.clone())?;
            Ok::<_, Error>(client.database(&self.database_name))
        };
        let watched = self.watched.get_or_try_init(connect).await?;
        Ok(watched.watch().pipeline(pipeline).await?.with_type())
    }
}

/// Returns the pipeline that selects the changes that subscribers need, reduced to ids and
/// counters, so that no message is transferred, and to the groups of streams.
fn pipeline() -> [Document; 2] {
    let updated = |field: &str| format!("updateDescription.updatedFields.{field}");
    let is_there = |field: &str| doc! { updated(field): { "$exists": true } };
    let mut worth_telling: Vec<Document> =
        WATCHED_FIELDS.iter().map(|field| is_there(field)).collect();
    worth_telling.push(is_there("last_sequence"));
    // The server may replace a small document as a whole, and then reports a replacement.
    worth_telling.push(doc! { "operationType": { "$in": ["replace", "delete"] } });
    let of = |collection: &str, worth_telling: Document| {
        doc! { "$and": [{ "ns.coll": collection }, worth_telling] }
    };
    let is_one_of = |operations: &[&str]| doc! { "operationType": { "$in": operations.to_vec() } };
    let told = vec![
        of(CHAT_SESSIONS, doc! { "$or": worth_telling }),
        // An update only renews an announcement, so it is not selected.
        of(PRESENCE, is_one_of(&["insert", "delete"])),
        of(PROVIDER_CALLS, is_one_of(&["insert", "delete"])),
        of(STREAM_GROUPS, is_one_of(&["insert"])),
        of(CHAT_PARTICIPANTS, is_one_of(&["insert", "update", "replace", "delete"])),
        of(CHAT_SESSIONS, is_one_of(&COLLECTION_ENDINGS)),
        is_one_of(&["dropDatabase", "invalidate"]),
    ];
    let mut fields = doc! {
        "operationType": 1, "ns": 1, "documentKey._id": 1, updated("last_sequence"): 1,
    };
    // Only the presence of these fields is transferred, because a reason may be long.
    fields.extend(WATCHED_FIELDS.iter().map(|field| {
        let is_there = doc! { "$ne": [{ "$type": format!("${}", updated(field)) }, "missing"] };
        ((*field).to_owned(), Bson::Document(is_there))
    }));
    // A group of a stream is told with its chunks, so that it needs no read.
    let is_group = doc! { "$eq": ["$ns.coll", STREAM_GROUPS] };
    let group = doc! { "$cond": [is_group, "$fullDocument", "$$REMOVE"] };
    fields.insert(GROUP, group);
    [doc! { "$match": { "$or": told } }, doc! { "$project": fields }]
}

/// Converts a notification of the server; returns `None` if it does not concern a chat.
fn change(event: &RawDocument) -> Option<Change> {
    if event.get_str("operationType").is_ok_and(|operation| COLLECTION_ENDINGS.contains(&operation))
    {
        return Some(Change::Lost);
    }
    let collection = event.get_document("ns").ok()?.get_str("coll").ok()?;
    if collection == STREAM_GROUPS {
        return event.get_document(GROUP).ok().and_then(stream_change);
    }
    let key = event.get_document("documentKey").ok()?;
    let chat_id = match collection {
        PRESENCE | PROVIDER_CALLS => key.get_document("_id").ok()?.get_str("chat_id").ok()?,
        _ => key.get_str("_id").ok()?,
    };
    let chat_id = ChatId::parse(chat_id).ok()?;
    match collection {
        PROVIDER_CALLS => return Some(Change::Usage(chat_id)),
        PRESENCE | CHAT_PARTICIPANTS => return Some(Change::Presence(chat_id)),
        _ => {}
    }
    let is_more =
        WATCHED_FIELDS.iter().any(|field| event.get_bool(field).is_ok_and(|is_there| is_there));
    let last_sequence = last_sequence(event).filter(|_| !is_more);
    Some(Change::Chat(ChatChange { chat_id, last_sequence }))
}

fn stream_change(group: &RawDocument) -> Option<Change> {
    // A group that only newer releases can read is not for the listeners of this one.
    let StoredGroup { chat_id, stream_id, group } = stream_group_record(group).ok()?;
    let group = Arc::new(group);
    Some(Change::Stream(StreamChange { chat_id, stream_id, group }))
}

fn last_sequence(event: &RawDocument) -> Option<u64> {
    let updated =
        event.get_document("updateDescription").ok()?.get_document("updatedFields").ok()?;
    match updated.get("last_sequence").ok()?? {
        RawBsonRef::Int64(number) => number.try_into().ok(),
        RawBsonRef::Int32(number) => number.try_into().ok(),
        _ => None,
    }
}

/// Follows the change stream, and opens it again whenever it ends.
pub(crate) struct Watcher {
    store: MongoStore,
    stream: Option<ChangeStream<RawDocumentBuf>>,
    pauses: Pauses,
}

impl Watcher {
    pub(crate) fn new(store: MongoStore) -> Self {
        Self { store, stream: None, pauses: Pauses::default() }
    }

    pub(crate) fn changes(self) -> impl Stream<Item = Change> + Send {
        stream::unfold(self, async |mut watcher| Some((watcher.next().await, watcher)))
    }

    async fn next(&mut self) -> Change {
        loop {
            let Some(stream) = &mut self.stream else {
                match self.store.inner.change_streams.open().await {
                    Ok(stream) => {
                        (self.stream, self.pauses) = (Some(stream), Pauses::default());
                        self.store
                            .inner
                            .change_streams
                            .are_supported
                            .store(true, Ordering::Relaxed);
                        return Change::Began;
                    }
                    Err(error) => {
                        self.pauses.wait_after(&error, &self.store.inner.change_streams).await;
                    }
                }
                continue;
            };
            match stream.next().await {
                Some(Ok(event)) => {
                    let Some(change) = change(&event) else { continue };
                    if change == Change::Lost {
                        self.stream = None;
                    }
                    return change;
                }
                ended => {
                    let error = ended.and_then(Result::err);
                    let error = error.as_ref().map(tracing::field::display);
                    tracing::warn!(error, "the change stream has ended; it is opened again");
                    self.stream = None;
                    return Change::Lost;
                }
            }
        }
    }
}

/// The pauses between attempts to open a change stream.
pub(crate) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: PAUSES.0 }
    }
}

impl Pauses {
    /// Waits after a failed attempt.
    pub(crate) async fn wait_after(&mut self, error: &Error, streams: &ChangeStreams) {
        if code(error) == Some(NO_CHANGE_STREAMS) {
            streams.are_supported.store(false, Ordering::Relaxed);
            sleep(UNSUPPORTED_PAUSE).await;
            return;
        }
        tracing::debug!(%error, "the change stream could not be opened");
        sleep(self.next).await;
        self.next = (self.next * 2).min(PAUSES.1);
    }
}

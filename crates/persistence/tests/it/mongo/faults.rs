//! Faults of the server, and fixtures for the tests of them.

use std::thread;

use bson::{Bson, Document, doc};
use local_mongod::{LocalMongod, Options, Proxy};
use persistence::mongo::MongoStore;
use persistence::{Append, ChatSessions, MessageRange, Messages};
use records::{
    AppId, ChatId, EventId, MessageBody, NewChatSession, NewMessage, Scope, WorkflowName,
};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::database::Database;

/// A process: a runtime in a thread. Killing it drops its tasks wherever they are.
pub(crate) struct Process {
    kill: oneshot::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl Process {
    /// Starts a process that works with a store of its own.
    pub(crate) fn start<Work>(
        database: &Database,
        work: impl FnOnce(MongoStore) -> Work + Send + 'static,
    ) -> Self
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let (kill, killed) = oneshot::channel();
        let options = database.options.clone();
        let thread = thread::spawn(move || {
            let runtime = Runtime::new().unwrap();
            runtime.spawn(async move {
                work(MongoStore::connect(&options).await.unwrap()).await;
            });
            runtime.block_on(killed).unwrap();
            runtime.shutdown_background();
        });
        Self { kill, thread }
    }

    pub(crate) fn kill(self) {
        self.kill.send(()).unwrap();
        self.thread.join().unwrap();
    }
}

/// A fail point belongs to the server, so it names the client that it affects. A test whose fail
/// point cannot name a client has a separate server.
pub(crate) struct FailPoint<'a> {
    admin: mongodb::Database,
    name: &'a str,
    /// How often it had been hit before it was set.
    before: i64,
}

impl<'a> FailPoint<'a> {
    pub(crate) async fn set(
        client: &mongodb::Client,
        name: &'a str,
        mode: impl Into<Bson>,
        data: Document,
    ) -> Self {
        let admin = client.database("admin");
        let set = doc! { "configureFailPoint": name, "mode": mode.into(), "data": data };
        let before = count_of(&admin.run_command(set).await.unwrap());
        Self { admin, name, before }
    }

    /// Returns whether the fail point is hit within a moment.
    pub(crate) async fn is_hit(&self) -> bool {
        let (once, briefly) = (self.before + 1, 100);
        let wait =
            doc! { "waitForFailPoint": self.name, "timesEntered": once, "maxTimeMS": briefly };
        self.admin.run_command(wait).await.is_ok()
    }

    /// Turns the fail point off, and returns how often it was hit.
    pub(crate) async fn off(self) -> i64 {
        let off = doc! { "configureFailPoint": self.name, "mode": "off" };
        count_of(&self.admin.run_command(off).await.unwrap()) - self.before
    }
}

fn count_of(reply: &Document) -> i64 {
    reply.get_i64("count").or_else(|_| reply.get_i32("count").map(i64::from)).unwrap()
}

/// Creates a database on a separate server, so that fail points affect no other test.
pub(crate) async fn database() -> (LocalMongod, Database) {
    let server = LocalMongod::start(Options::for_tests()).await.unwrap();
    let uri = server.uri().to_owned();
    let database = Database::create_with(|options| {
        options.uri = uri.into();
        "under-test".clone_into(&mut options.app_name);
    })
    .await;
    (server, database)
}

/// Like [`database`], reached through a proxy that can lose replies.
pub(crate) async fn database_behind_proxy() -> (LocalMongod, Proxy, Database) {
    let server = LocalMongod::start(Options::for_tests()).await.unwrap();
    let proxy = Proxy::start(server.members()[0].port()).await.unwrap();
    let uri = proxy.uri();
    let mut database = Database::create_with(|options| {
        options.uri = uri.into();
        "under-test".clone_into(&mut options.app_name);
    })
    .await;
    // The database is dropped through the server itself, because the proxy may have stopped by then.
    database.options.uri = server.uri().into();
    (server, proxy, database)
}

pub(crate) fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

pub(crate) async fn chat(database: &Database) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    database.create_chat(&scope(), new).await.unwrap().chat_id
}

pub(crate) fn message(event_id: Option<&str>) -> Vec<NewMessage> {
    let event_id = event_id.map(|id| EventId::parse(id).unwrap());
    let body = MessageBody::new("user", Some("user"), "hello");
    vec![NewMessage { event_id, ..body.into() }]
}

/// Makes messages with the ids `{prefix}_0`, `{prefix}_1` and so on.
pub(crate) fn numbered(prefix: &str, count: usize) -> Vec<NewMessage> {
    (0..count).flat_map(|index| message(Some(&format!("{prefix}_{index}")))).collect()
}

pub(crate) async fn count(database: &Database, chat_id: &ChatId) -> usize {
    let page = database.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
    assert_eq!(page.last_sequence, page.messages.len() as u64);
    page.messages.len()
}

pub(crate) fn sequences(append: &Append) -> Vec<u64> {
    append.messages.iter().map(|message| message.sequence).collect()
}

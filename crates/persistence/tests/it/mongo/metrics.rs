//! The MongoDB store counts its groups, retries, sealings and connections correctly.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use futures::future::join_all;
use persistence::mongo::{Interruption, MongoOptions, MongoStore};
use persistence::{ChatSessions, Messages, Store, StoreError};
use records::ChatId;
use store_contract::metrics::{count, sum};
use tokio::time::timeout;

use super::database::Database;
use super::faults::{FailPoint, chat, database, database_behind_proxy, message, numbered, scope};
use crate::waiting::until;

#[tokio::test]
async fn a_dropped_call_is_counted_as_cancelled() {
    let options = MongoOptions::new("mongodb://127.0.0.1:1/?replicaSet=rs0", "nowhere");
    let store = MongoStore::connect(&options).await.unwrap();
    timeout(Duration::from_millis(20), store.ping()).await.unwrap_err();
    assert_eq!(count(&store, "reprise_store_calls_total", &["ping", "cancelled"]), 1);
    assert_eq!(count(&store, "reprise_store_calls_total", &[]), 1);
}

/// Collects the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_slow_call_is_logged_as_a_warning() {
    // While there is one subscriber alone, `tracing` asks only the thread that reaches an event
    // first, and if that is another test, the event is off for all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    for (slow_call, level) in [(Duration::ZERO, "WARN"), (Duration::MAX, "DEBUG")] {
        let mut options = MongoOptions::new("mongodb://127.0.0.1:1/?replicaSet=rs0", "nowhere");
        options.deadline = Duration::from_millis(20);
        options.slow_call = slow_call;
        let store = MongoStore::connect(&options).await.unwrap();
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG);
        let subscriber = subscriber.with_ansi(false).with_writer(move || writer.clone()).finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let chat_id = ChatId::parse("c1").unwrap();
        store.get_chat(&scope(), &chat_id).await.unwrap_err();
        drop(logging);
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = log.lines().filter(|line| line.contains("call=\"get_chat\"")).collect();
        let [line] = lines[..] else { panic!("one line is expected: {log}") };
        assert!(line.contains(level) && line.contains("chat_id=c1"), "{line}");
        assert!(line.contains("elapsed_ms=") && line.contains("is_ok=false"), "{line}");
    }
}

#[tokio::test]
async fn appends_and_messages_are_counted_once_in_any_grouping() {
    let database = Database::create_unsealed().await;
    let (one, other) = (chat(&database).await, chat(&database).await);
    let appends = (0..200).map(|index| {
        let chat_id = if index % 4 == 0 { &other } else { &one };
        let messages = [message(Some(&format!("evt_{index}"))), message(None)].concat();
        let (store, scope) = (&database, scope());
        async move { store.append(&scope, chat_id, messages).await.unwrap() }
    });
    join_all(appends).await;
    assert_eq!(sum(&database.store, "reprise_append_group_appends"), 200);
    assert_eq!(sum(&database.store, "reprise_append_group_messages"), 400);
    let groups = count(&database.store, "reprise_append_group_appends", &[]);
    assert!((2..100).contains(&groups), "{groups}");
    assert_eq!(sum(&database.store, "reprise_append_command_chats"), groups);
}

#[tokio::test]
async fn chats_that_share_a_command_are_counted_in_it() {
    let database = Database::create_unsealed().await;
    let chats = join_all((0..24).map(|_| chat(&database))).await;
    let writers = chats.iter().map(async |chat_id| {
        for _ in 0..30 {
            database.append(&scope(), chat_id, message(None)).await.unwrap();
        }
    });
    join_all(writers).await;
    let store = &database.store;
    assert_eq!(sum(store, "reprise_append_group_messages"), 24 * 30);
    let commands = count(store, "reprise_append_command_chats", &[]);
    assert!(sum(store, "reprise_append_command_chats") > commands, "none of {commands} was shared");
}

#[tokio::test]
async fn an_append_counts_as_queued_until_it_is_answered() {
    let (server, database) = database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    let slow = doc! {
        "failCommands": ["findAndModify"], "appName": "under-test",
        "blockConnection": true, "blockTimeMS": 500,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow).await;
    let store = &database.store;
    let waiting = || count(store, "reprise_append_queue_appends", &[]);
    let bytes = || count(store, "reprise_append_queue_bytes", &[]);
    assert_eq!((waiting(), bytes()), (0, 0));
    let scope = scope();
    let append = database.append(&scope, &chat_id, message(None));
    let (append, ()) =
        tokio::join!(append, until("the append", async || waiting() == 1 && bytes() > 0));
    append.unwrap();
    until("its answer", async || (waiting(), bytes()) == (0, 0)).await;
    assert_eq!(point.off().await, 1);
}

#[tokio::test]
async fn a_refused_append_counts_as_an_overload_of_its_bound() {
    let database = Database::create_with(|options| options.queue.chat_appends = 2).await;
    let chat_id = chat(&database).await;
    let scope = scope();
    let appends = (0..50).map(|_| database.append(&scope, &chat_id, message(None)));
    let refused = join_all(appends).await.into_iter().filter_map(Result::err);
    let refused: Vec<_> = refused.collect();
    assert!(refused.iter().all(|error| matches!(error, StoreError::Overloaded { .. })));
    assert!(!refused.is_empty());
    let overloads = |bound| count(&database.store, "reprise_append_overloads_total", &[bound]);
    assert_eq!((overloads("chat"), overloads("total")), (refused.len() as u64, 0));
}

#[tokio::test]
async fn a_lost_reply_counts_as_a_network_failure_and_a_retry() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    let store = &database.store;
    let attempts = || count(store, "reprise_store_attempts_total", &["write"]);
    let retries = || count(store, "reprise_store_retries_total", &["write"]);
    let failures =
        |reason| count(store, "reprise_store_attempt_failures_total", &["write", reason]);
    let before = attempts();
    assert_eq!(retries(), 0);
    proxy.lose_replies("findAndModify", 2);
    database.append(&scope(), &chat_id, message(None)).await.unwrap();
    assert_eq!((attempts() - before, retries(), failures("network")), (3, 2, 2));
    assert_eq!(
        sum(store, "reprise_append_group_messages"),
        0,
        "the retry found the message and stored nothing"
    );
}

#[tokio::test]
async fn an_unreachable_database_counts_as_a_server_selection_failure() {
    // No process listens on a port that was just released.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("mongodb://{}/?replicaSet=rs0", free.local_addr().unwrap());
    drop(free);
    let mut options = MongoOptions::new(uri, "nowhere");
    options.deadline = Duration::from_millis(400);
    let store = MongoStore::connect(&options).await.unwrap();
    let error = store.get_message(&scope(), &ChatId::parse("c1").unwrap(), 0).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    let failures =
        |reason| count(&store, "reprise_store_attempt_failures_total", &["read", reason]);
    assert_eq!((failures("server_selection"), failures("refused")), (1, 0));
}

#[tokio::test]
async fn sealings_and_their_segments_are_counted() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for _ in 0..40 {
        database.append(&scope(), &chat_id, message(None)).await.unwrap();
    }
    let store = &database.store;
    until("the sealing", async || count(store, "reprise_sealing_duration_seconds", &[]) > 0).await;
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let segments = database.all("chat_segments").await.len() as u64;
    assert!(segments >= 2);
    assert_eq!(count(store, "reprise_sealing_segments_total", &[]), segments);
    assert_eq!(count(store, "reprise_sealing_failures_total", &[]), 0);
    database.append(&scope(), &chat(&database).await, numbered("evt", 40)).await.unwrap();
    assert_eq!(count(store, "reprise_append_segments_total", &[]), 1);
}

#[tokio::test]
async fn every_used_connection_is_returned_to_the_pool() {
    let database = Database::create().await;
    let chats = join_all((0..8).map(|_| chat(&database))).await;
    let scope = scope();
    let appends = chats.iter().map(|chat_id| database.append(&scope, chat_id, message(None)));
    join_all(appends).await;
    let store = &database.store;
    let created = count(store, "reprise_mongo_pool_connections_opened_total", &[]);
    assert!((1..=64).contains(&created), "{created}");
    until("the pool", async || count(store, "reprise_mongo_pool_connections_in_use", &[]) == 0)
        .await;
    let closed = count(store, "reprise_mongo_pool_connections_closed_total", &[]);
    assert_eq!(count(store, "reprise_mongo_pool_connections", &[]), created - closed);
    assert!(count(store, "reprise_mongo_pool_wait_seconds", &[]) >= 16);
    assert_eq!(count(store, "reprise_mongo_pool_checkout_failures_total", &[]), 0);
    store.ping().await.unwrap();
}

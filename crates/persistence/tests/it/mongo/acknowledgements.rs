//! A lost acknowledgement neither loses nor duplicates a message.

use std::time::Duration;

use bson::doc;
use persistence::{MessageRange, Messages, Outcome, StoreError};

use super::database::Database;
use super::faults::{
    FailPoint, chat, count, database, database_behind_proxy, message, scope, sequences,
};

/// The write is applied, but the connection closes before the reply: once, so that the second
/// attempt must find the message, or twice, so that the third attempt must.
#[tokio::test]
async fn an_acknowledgement_lost_once_or_twice_stores_one_message() {
    let (_server, proxy, database) = database_behind_proxy().await;
    for event_id in [Some("given"), None] {
        for times in [1, 2] {
            let chat_id = chat(&database).await;
            proxy.lose_replies("findAndModify", times);
            let append = database.append(&scope(), &chat_id, message(event_id)).await.unwrap();
            assert_eq!(proxy.lost(), times);
            assert_eq!(sequences(&append), [0]);
            assert_eq!(append.last_sequence, 1);
            assert_eq!(count(&database, &chat_id).await, 1);
        }
    }
}

/// As above, but the tail is sealed between the two attempts, so the message is in a segment.
#[tokio::test]
async fn a_repeat_finds_its_message_in_a_segment() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let first = database.append(&scope(), &chat_id, message(Some("given"))).await.unwrap();
    for _ in 0..100 {
        database.append(&scope(), &chat_id, message(None)).await.unwrap();
    }
    let app_id = scope().app_id;
    database.seal(&app_id, &chat_id, persistence::mongo::Interruption::Never).await.unwrap();
    let again = database.append(&scope(), &chat_id, message(Some("given"))).await.unwrap();
    assert_eq!(sequences(&again), sequences(&first));
    assert_eq!(again.messages[0].outcome, Outcome::Duplicate);
    assert_eq!(count(&database, &chat_id).await, 101);
}

/// A write concern error means that the write was applied but is not durable yet.
#[tokio::test]
async fn a_write_concern_error_is_not_an_acknowledgement() {
    let (server, database) = database().await;
    let chat_id = chat(&database).await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let concern = doc! {
        "failCommands": ["findAndModify"], "appName": "under-test",
        "writeConcernError": { "code": 64, "errmsg": "waiting for replication timed out" },
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, concern).await;
    let append = database.append(&scope(), &chat_id, message(None)).await.unwrap();
    assert_eq!(sequences(&append), [0]);
    assert_eq!(append.messages[0].outcome, Outcome::Stored);
    assert!(point.off().await >= 1);
    assert_eq!(count(&database, &chat_id).await, 1);
}

/// The first attempt is applied and its acknowledgement is lost. The second fails with an error
/// that precedes any write, which proves nothing about the first.
#[tokio::test]
async fn an_error_of_the_driver_retry_proves_nothing_about_the_first_try() {
    let (server, proxy, database) = database_behind_proxy().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for code in [10_107, 13_435, 112, 262] {
        let chat_id = chat(&database).await;
        proxy.lose_replies("findAndModify", 1);
        let refuse = doc! {
            "failCommands": ["findAndModify"], "errorCode": code, "appName": "under-test",
        };
        // The first update passes. All later updates are refused for a while.
        let point = FailPoint::set(&client, "failCommand", doc! { "skip": 1 }, refuse).await;
        let ending = async {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            point.off().await
        };
        let scope = scope();
        let appending = database.append(&scope, &chat_id, message(None));
        let (append, fired) = tokio::join!(appending, ending);
        assert!(proxy.lost() == 1 && fired >= 1, "the faults did not fire for {code}: {fired}");
        assert_eq!(sequences(&append.unwrap()), [0], "{code}");
        assert_eq!(count(&database, &chat_id).await, 1, "{code}");
    }
}

/// A running operation is interrupted when the server stops responding, but the server may still
/// apply it when it resumes.
#[tokio::test]
async fn a_temporarily_hanging_server_stores_one_message() {
    let (server, database) = database().await;
    for pause_ms in [2_500, 7_200] {
        let chat_id = chat(&database).await;
        server.members()[0].pause().unwrap();
        let waking = async {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            server.members()[0].resume().unwrap();
        };
        let scope = scope();
        let appending = database.append(&scope, &chat_id, message(None));
        let (append, ()) = tokio::join!(appending, waking);
        match append {
            Ok(append) => assert_eq!(sequences(&append), [0]),
            Err(StoreError::OutcomeUnknown { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
        assert_eq!(count(&database, &chat_id).await, 1);
    }
}

/// If no server can be selected, nothing is sent, so nothing can have been applied.
#[tokio::test]
async fn a_stopped_server_is_unavailable_for_writes_and_reads() {
    let (server, mut database) = database().await;
    let chat_id = chat(&database).await;
    // Each call waits for the server until its deadline.
    database.options.deadline = Duration::from_secs(5);
    let hurried = persistence::mongo::MongoStore::connect(&database.options).await.unwrap();
    let patient = std::mem::replace(&mut database.store, hurried);
    server.kill_hard().await.unwrap();
    // The pool still has connections, which may break during a write.
    let first = database.append(&scope(), &chat_id, message(None)).await;
    assert!(first.is_err());
    for _ in 0..2 {
        let write = database.append(&scope(), &chat_id, message(None)).await.unwrap_err();
        assert!(matches!(write, StoreError::Unavailable { .. }), "{write:?}");
    }
    let read = database.messages(&scope(), &chat_id, MessageRange::all()).await.unwrap_err();
    assert!(matches!(read, StoreError::Unavailable { .. }), "{read:?}");
    server.restart().await.unwrap();
    let again = patient.append(&scope(), &chat_id, message(None)).await.unwrap();
    assert!(again.last_sequence <= 2);
}

#[tokio::test]
async fn a_write_that_may_have_been_applied_is_unknown_and_its_repeat_succeeds() {
    let (server, mut database) = database().await;
    database.options.deadline = Duration::from_secs(1);
    let store = persistence::mongo::MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let namespace = format!("{}.chat_sessions", database.options.database);
    let withheld = doc! { "ns": namespace, "commands": ["findAndModify"] };
    let name = "waitAfterCommandFinishesExecution";
    let point = FailPoint::set(&client, name, "alwaysOn", withheld).await;
    let unknown = store.append(&scope(), &chat_id, message(Some("given"))).await.unwrap_err();
    assert!(matches!(unknown, StoreError::OutcomeUnknown { .. }), "{unknown:?}");
    assert!(point.off().await >= 1);
    let repeat = store.append(&scope(), &chat_id, message(Some("given"))).await.unwrap();
    assert_eq!(sequences(&repeat), [0]);
    assert_eq!(repeat.messages[0].outcome, Outcome::Duplicate);
    assert_eq!(count(&database, &chat_id).await, 1);
}

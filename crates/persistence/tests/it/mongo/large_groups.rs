//! A large append has the same result as single appends, even if sealing runs at the same time.

use std::collections::HashSet;

use bson::{RawDocumentBuf, doc};
use futures::future::try_join_all;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{MessageRange, Messages, StoreError};
use records::{ChatId, MessageEdit};
use serde_json::json;

use super::database::Database;
use super::faults::{FailPoint, chat, database, message, numbered, scope, sequences};
use crate::waiting::until;

/// Makes large and small appends in turn. Returns the ids with their sequences.
async fn write(
    store: &MongoStore,
    chat_id: &ChatId,
    writer: usize,
) -> Result<Vec<(String, u64)>, StoreError> {
    let mut given = Vec::new();
    for round in 0..12 {
        let count = [20, 1, 3][round % 3];
        let messages = numbered(&format!("evt_{writer}_{round}"), count);
        let append = store.append(&scope(), chat_id, messages).await?;
        let messages = append.messages.into_iter();
        given.extend(messages.map(|message| (message.event_id.to_string(), message.sequence)));
    }
    Ok(given)
}

async fn event_ids(database: &Database, chat_id: &ChatId) -> Vec<String> {
    let page = database.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
    assert_eq!(page.last_sequence, page.messages.len() as u64);
    page.messages.into_iter().map(|message| message.event_id.to_string()).collect()
}

#[tokio::test]
async fn large_and_small_appends_of_two_processes_make_one_sequence() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let stores = [&database.store, &other];
    let writers = (0..6).map(|writer| write(stores[writer % 2], &chat_id, writer));
    let given = try_join_all(writers).await.unwrap().concat();
    let found = event_ids(&database, &chat_id).await;
    assert_eq!(found.len(), 6 * 4 * (20 + 1 + 3));
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
    for (event_id, sequence) in given {
        assert_eq!(found[usize::try_from(sequence).unwrap()], event_id);
    }
}

#[tokio::test]
async fn a_large_append_continues_after_an_unfinished_sealing() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let mut expected = Vec::new();
    for round in 0..3 {
        for index in 0..7 {
            let event_id = format!("single_{round}_{index}");
            database.append(&scope(), &chat_id, message(Some(&event_id))).await.unwrap();
            expected.push(event_id);
        }
        let app_id = scope().app_id;
        database.seal(&app_id, &chat_id, Interruption::AfterSegment).await.unwrap();
        let many = numbered(&format!("many_{round}"), 20);
        expected.extend(many.iter().flat_map(|message| &message.event_id).map(ToString::to_string));
        database.append(&scope(), &chat_id, many).await.unwrap();
        database.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();
        assert_eq!(event_ids(&database, &chat_id).await, expected);
    }
}

/// Returns the first sequence and the number of messages of each segment.
async fn segments(database: &Database) -> Vec<(i64, i64)> {
    let shape = |segment: RawDocumentBuf| {
        let id = segment.get_document("_id").unwrap();
        (id.get_i64("first_sequence").unwrap(), segment.get_i64("count").unwrap())
    };
    database.all("chat_segments").await.into_iter().map(shape).collect()
}

#[tokio::test]
async fn a_large_append_is_written_once() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for event_id in ["one", "two"] {
        database.append(&scope(), &chat_id, message(Some(event_id))).await.unwrap();
    }
    for (round, first) in [2, 102, 202].into_iter().enumerate() {
        let many = numbered(&format!("many_{round}"), 100);
        let append = database.append(&scope(), &chat_id, many).await.unwrap();
        assert_eq!(sequences(&append), (first..first + 100).collect::<Vec<_>>());
    }
    assert_eq!(segments(&database).await, [(0, 102), (102, 100), (202, 100)]);
    database.append(&scope(), &chat_id, message(Some("three"))).await.unwrap();
    let ids = event_ids(&database, &chat_id).await;
    assert_eq!((ids.len(), &*ids[1], &*ids[2], &*ids[302]), (303, "two", "many_0_0", "three"));
    let again = numbered("many_1", 100);
    let again = database.append(&scope(), &chat_id, again).await.unwrap();
    assert_eq!(sequences(&again), (102..202).collect::<Vec<_>>());
}

/// Creates a chat on a separate server, with a store whose updates can be delayed, and another
/// store that is not delayed.
async fn two_stores() -> (local_mongod::LocalMongod, Database, MongoStore, ChatId) {
    let (server, database) = database().await;
    let mut options = database.options.clone();
    "in-between".clone_into(&mut options.app_name);
    let other = MongoStore::connect(&options).await.unwrap();
    let chat_id = chat(&database).await;
    for event_id in 0..30 {
        let event_id = format!("before_{event_id}");
        database.append(&scope(), &chat_id, message(Some(&event_id))).await.unwrap();
    }
    (server, database, other, chat_id)
}

/// Appends 40 messages, and runs `between` after the segment is written and before the session is
/// updated.
async fn append_around<T>(
    server: &local_mongod::LocalMongod,
    database: &Database,
    chat_id: &ChatId,
    between: impl Future<Output = T>,
) -> Vec<u64> {
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let slow = doc! {
        "failCommands": ["update"], "appName": "under-test",
        "blockConnection": true, "blockTimeMS": 1_500,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow).await;
    let meanwhile = async {
        until("a segment", async || !database.all("chat_segments").await.is_empty()).await;
        between.await
    };
    let scope = scope();
    let append = database.append(&scope, chat_id, numbered("many", 40));
    let (append, _) = tokio::join!(append, meanwhile);
    assert_eq!(point.off().await, 1, "the update must be delayed");
    sequences(&append.unwrap())
}

fn expected(ids: &[&str]) -> Vec<String> {
    let before = (0..30).map(|index| format!("before_{index}"));
    let many = (0..40).map(|index| format!("many_{index}"));
    before.chain(ids.iter().map(ToString::to_string)).chain(many).collect()
}

#[tokio::test]
async fn a_concurrent_append_precedes_a_large_append() {
    let (server, database, other, chat_id) = two_stores().await;
    let scope = &scope();
    let between = other.append(scope, &chat_id, message(Some("between")));
    let given = append_around(&server, &database, &chat_id, between).await;
    assert_eq!(given, (31..71).collect::<Vec<_>>());
    other.seal(&scope.app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(event_ids(&database, &chat_id).await, expected(&["between"]));
}

#[tokio::test]
async fn an_edit_during_a_large_append_is_kept() {
    let (server, database, other, chat_id) = two_stores().await;
    let scope = &scope();
    let edit = MessageEdit { content: Some(json!("edited")), ..MessageEdit::default() };
    let between = other.update_message(scope, &chat_id, 7, edit);
    let given = append_around(&server, &database, &chat_id, between).await;
    assert_eq!(given, (30..70).collect::<Vec<_>>());
    other.seal(&scope.app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(event_ids(&database, &chat_id).await, expected(&[]));
    let edited = database.get_message(scope, &chat_id, 7).await.unwrap();
    assert_eq!(edited.body.content, json!("edited"));
}

#[tokio::test]
async fn a_sealing_during_a_large_append_leaves_its_segment() {
    let (server, database, other, chat_id) = two_stores().await;
    let app_id = &scope().app_id;
    let between = other.seal(app_id, &chat_id, Interruption::Never);
    let given = append_around(&server, &database, &chat_id, between).await;
    assert_eq!(given, (30..70).collect::<Vec<_>>());
    assert_eq!(segments(&database).await, [(0, 70)]);
    assert_eq!(event_ids(&database, &chat_id).await, expected(&[]));
}

/// The segment exists, and the update that would include it never happens.
#[tokio::test]
async fn an_abandoned_segment_is_never_read() {
    let (server, database, other, chat_id) = two_stores().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let refuse = doc! { "failCommands": ["update"], "appName": "under-test", "errorCode": 13 };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, refuse).await;
    let refused = database.append(&scope(), &chat_id, numbered("refused", 40)).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(point.off().await, 1);
    assert_eq!(segments(&database).await, [(0, 70)]);
    assert_eq!(event_ids(&database, &chat_id).await.len(), 30);

    let given = database.append(&scope(), &chat_id, numbered("many", 40)).await.unwrap();
    assert_eq!(sequences(&given), (30..70).collect::<Vec<_>>());
    other.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(event_ids(&database, &chat_id).await, expected(&[]));
    let given = database.append(&scope(), &chat_id, numbered("refused", 40)).await.unwrap();
    assert_eq!(sequences(&given), (70..110).collect::<Vec<_>>());
    assert_eq!(event_ids(&database, &chat_id).await.len(), 110);
}

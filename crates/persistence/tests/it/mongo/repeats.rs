//! Repeats are recognised in the tail and in segments, and new messages cause no search.

use bson::{RawDocumentBuf, doc};
use persistence::mongo::{Interruption, MongoStore};
use persistence::{Append, Messages, Outcome};
use records::ChatId;

use super::database::Database;
use super::faults::{chat, count, message, numbered, scope, sequences};

async fn append(store: &MongoStore, chat_id: &ChatId, event_id: &str) -> Append {
    store.append(&scope(), chat_id, message(Some(event_id))).await.unwrap()
}

/// Connects a second process.
async fn another(database: &Database) -> MongoStore {
    MongoStore::connect(&database.options).await.unwrap()
}

async fn assert_repeats(store: &MongoStore, chat_id: &ChatId, event_id: &str, sequence: u64) {
    let again = append(store, chat_id, event_id).await;
    assert_eq!(sequences(&again), [sequence], "{event_id}");
    assert_eq!(again.messages[0].outcome, Outcome::Duplicate, "{event_id}");
}

#[tokio::test]
async fn appends_with_new_ids_never_search_segments() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    // The number is small enough that the profile holds all operations.
    for index in 0..120 {
        append(&database, &chat_id, &format!("evt_{index}")).await;
    }
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let seals = doc! { "command.insert": "chat_segments" };
    assert!(profile.count_documents(seals).await.unwrap() > 0, "nothing was sealed");
    let searches = doc! { "command.find": "chat_segments" };
    assert_eq!(profile.count_documents(searches).await.unwrap(), 0);
    let updates = doc! { "command.findAndModify": "chat_sessions" };
    assert_eq!(profile.count_documents(updates).await.unwrap(), 120);
}

#[tokio::test]
async fn a_new_process_recognises_the_messages_of_a_chat() {
    // The ids of the small chat are read as a whole on first use, those of the large chat are searched.
    for batches in [3, 11] {
        let database = Database::create().await;
        let chat_id = chat(&database).await;
        for batch in 0..batches {
            let messages = numbered(&format!("evt_{batch}"), 500);
            database.append(&scope(), &chat_id, messages).await.unwrap();
        }
        append(&database, &chat_id, "last").await;
        let late = another(&database).await;
        let total = batches * 500;
        assert_repeats(&late, &chat_id, "evt_0_0", 0).await;
        assert_repeats(&late, &chat_id, "evt_1_499", 999).await;
        assert_eq!(sequences(&append(&late, &chat_id, "new").await), [total + 1]);
        assert_repeats(&late, &chat_id, "evt_2_7", 1_007).await;
        assert_repeats(&late, &chat_id, "last", total).await;
        assert_repeats(&late, &chat_id, "new", total + 1).await;
    }
}

#[tokio::test]
async fn a_process_recognises_messages_appended_and_sealed_by_others() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let other = another(&database).await;
    for round in 0..4 {
        append(&database, &chat_id, &format!("here_{round}")).await;
        // The message is first in the tail and then sealed.
        other.append(&scope(), &chat_id, numbered(&format!("one_{round}"), 1)).await.unwrap();
        other.append(&scope(), &chat_id, numbered(&format!("many_{round}"), 60)).await.unwrap();
        if round % 2 == 0 {
            let app_id = scope().app_id;
            other.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();
        }
        let start = round * 62;
        assert_repeats(&database, &chat_id, &format!("many_{round}_59"), start + 61).await;
        assert_repeats(&database, &chat_id, &format!("one_{round}_0"), start + 1).await;
        assert_repeats(&other, &chat_id, &format!("here_{round}"), start).await;
    }
    assert_eq!(count(&database, &chat_id).await, 4 * 62);
}

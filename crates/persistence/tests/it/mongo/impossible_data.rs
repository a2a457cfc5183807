//! Impossible data is reported as such: at once, with the document and the field that are wrong.

use bson::{Bson, Document, doc};
use persistence::{Artifacts, Contexts, MessageRange, Messages, StoreError, Tickets};
use records::{ChatId, JsonObject, TicketDigest};

use super::database::Database;
use super::faults::{message, scope};
use super::goldens::golden;

/// Asserts that a call found impossible data, and what its error says.
fn assert_corrupt<T>(answer: Result<T, StoreError>, text: &str) {
    let error = answer.err().unwrap();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert_eq!(error.to_string(), text);
}

/// Creates a database with the golden session, which has other values in these fields.
async fn with_session(fields: Document) -> (Database, ChatId) {
    let database = Database::create_unsealed().await;
    let mut session = golden("chat_session", 1);
    session.extend(fields);
    database.insert("chat_sessions", session).await;
    (database, ChatId::parse("chat_golden").unwrap())
}

/// A retry would find the same data, so neither a read nor a write ends as `Unavailable` or `OutcomeUnknown`.
#[tokio::test]
async fn a_missing_blob_is_corrupt_for_reads_and_writes() {
    let blobs = doc! { "context_blob": "blob_gone", "artifact_blob": "blob_gone" };
    let (database, chat_id) = with_session(blobs).await;
    let text = "chat_blobs document chat_golden is corrupt at context";
    assert_corrupt(database.load_context_snapshot(&scope(), &chat_id).await, text);
    let patch = JsonObject::new();
    assert_corrupt(database.merge_context_snapshot(&scope(), &chat_id, patch).await, text);
    let text = "chat_blobs document chat_golden is corrupt at artifact";
    assert_corrupt(database.get_last_artifact(&scope(), &chat_id).await, text);
    // A call that does not need the blobs succeeds.
    database.append(&scope(), &chat_id, message(None)).await.unwrap();
}

#[tokio::test]
async fn a_tail_that_contradicts_its_counters_is_corrupt() {
    let (database, chat_id) = with_session(doc! { "messages": Bson::Array(Vec::new()) }).await;
    database.insert("chat_segments", golden("chat_segment", 1)).await;
    let text = "chat_sessions document chat_golden is corrupt at messages";
    assert_corrupt(database.messages(&scope(), &chat_id, MessageRange::all()).await, text);
}

#[tokio::test]
async fn a_ticket_without_the_user_that_it_admits_is_corrupt() {
    let database = Database::create().await;
    let mut ticket = golden("ticket", 1);
    ticket.extend(doc! { "role": "user", "user_id": Bson::Null });
    database.insert("tickets", ticket.clone()).await;
    let (app_id, chat_id) = (scope().app_id, ChatId::parse("chat_golden").unwrap());
    let digest = TicketDigest::of("golden ticket");
    let id = ticket.get_str("_id").unwrap();
    let text = format!("tickets document {id} is corrupt at user_id");
    assert_corrupt(database.redeem_ticket(&app_id, &chat_id, digest).await, &text);
}

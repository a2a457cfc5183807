//! However much a chat holds, its documents stay small and its appends go on.

use persistence::mongo::Interruption;
use persistence::{ChatSessions, Messages};
use records::WorkflowName;
use records::{AppId, ChatId, Limits, MessageBody, MessageEdit, NewChatSession, NewMessage, Scope};

use super::database::Database;

const MEGABYTE: usize = 1 << 20;

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

async fn chat(database: &Database) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    database.create_chat(&scope(), new).await.unwrap().chat_id
}

fn message(bytes: usize) -> NewMessage {
    MessageBody::new("assistant", Some("planner"), "x".repeat(bytes)).into()
}

async fn largest_document(database: &Database) -> usize {
    let mut largest = 0;
    for collection in ["chat_sessions", "chat_segments", "chat_blobs"] {
        let documents = database.all(collection).await;
        largest = documents.iter().map(|raw| raw.as_bytes().len()).max().unwrap_or(0).max(largest);
    }
    largest
}

#[tokio::test]
async fn no_document_grows_past_a_megabyte_unless_one_message_does() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for _ in 0..40 {
        let batch = (0..50).map(|_| message(2_000)).collect();
        database.append(&scope(), &chat_id, batch).await.unwrap();
    }
    for _ in 0..8 {
        database.append(&scope(), &chat_id, vec![message(700_000)]).await.unwrap();
    }
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    assert!(largest_document(&database).await < MEGABYTE);
    assert!(database.all("chat_segments").await.len() > 10);
}

#[tokio::test]
async fn the_largest_batches_fit_one_after_another_without_a_background_sealer() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    let bytes = Limits::MESSAGE_BYTES - 1_000;
    for round in 0..6_u64 {
        let batch = vec![message(bytes), message(bytes)];
        let append = database.append(&scope(), &chat_id, batch).await.unwrap();
        assert_eq!(append.last_sequence, 2 * (round + 1));
    }
}

#[tokio::test]
async fn edits_that_make_a_segment_too_large_split_it() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let batch = (0..60).map(|_| message(100)).collect();
    database.append(&scope(), &chat_id, batch).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let segments_before = database.all("chat_segments").await.len();
    for sequence in [0, 7, 8, 9, 30, 55] {
        let content = Some("y".repeat(3 * MEGABYTE).into());
        let edit = MessageEdit { content, ..MessageEdit::default() };
        database.update_message(&scope(), &chat_id, sequence, edit).await.unwrap();
    }
    assert!(database.all("chat_segments").await.len() > segments_before + 5);
    assert!(largest_document(&database).await < 3 * MEGABYTE + 64 * 1024);
    for sequence in 0..60 {
        let found = database.get_message(&scope(), &chat_id, sequence).await.unwrap();
        let is_large = [0, 7, 8, 9, 30, 55].contains(&sequence);
        let length = found.body.content.as_str().unwrap().len();
        assert_eq!(length, if is_large { 3 * MEGABYTE } else { 100 }, "message {sequence}");
    }
}

#[tokio::test]
async fn replaced_blobs_are_removed() {
    use persistence::{Artifacts, Contexts};
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for size in [10_000, 20_000, 10, 30_000] {
        let data = [("key".to_owned(), "x".repeat(size).into())].into_iter().collect();
        database.update_context_snapshot(&scope(), &chat_id, data).await.unwrap();
        let artifact = records::NewArtifact {
            payload: "y".repeat(size).into(),
            ..records::NewArtifact::default()
        };
        database.update_last_artifact(&scope(), &chat_id, artifact).await.unwrap();
    }
    assert_eq!(database.all("chat_blobs").await.len(), 2);
    database.clear_last_artifact(&scope(), &chat_id).await.unwrap();
    assert_eq!(database.all("chat_blobs").await.len(), 1);
}

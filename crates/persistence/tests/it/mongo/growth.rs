//! The documents of a chat stay small and its appends succeed, however much the chat holds.

use persistence::mongo::Interruption;
use persistence::{ChatSessions, Messages};
use records::WorkflowName;
use records::{AppId, ChatId, Limits, MessageBody, MessageEdit, NewChatSession, NewMessage, Scope};

use super::database::Database;
use crate::waiting::until;

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
async fn replaced_blobs_of_artifacts_are_removed() {
    use persistence::Artifacts;
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for size in [10_000, 20_000, 10, 30_000] {
        let artifact = records::NewArtifact {
            payload: "y".repeat(size).into(),
            ..records::NewArtifact::default()
        };
        database.update_last_artifact(&scope(), &chat_id, artifact).await.unwrap();
    }
    assert_eq!(database.all("chat_blobs").await.len(), 1);
    database.clear_last_artifact(&scope(), &chat_id).await.unwrap();
    assert_eq!(database.all("chat_blobs").await.len(), 0);
}

/// Returns how many replaced snapshots are in the session.
async fn recent_contexts(database: &Database, chat_id: &ChatId) -> usize {
    database.session(chat_id).await.get_array("context_recent").unwrap().len()
}

/// Waits, after so many were replaced, until the snapshots have left the session.
///
/// They are moved in the background, eight at a time. If more came meanwhile, the last ones would stay.
async fn until_moved(database: &Database, chat_id: &ChatId, replaced: u64) {
    if replaced > 0 && replaced.is_multiple_of(8) {
        until("the move", async || recent_contexts(database, chat_id).await == 0).await;
    }
}

/// Snapshots beyond the bound disappear for readers at once, and from the database soon after.
#[tokio::test]
async fn snapshots_beyond_the_bound_are_removed_with_their_blobs() {
    use persistence::{ContextHistory, Contexts};
    let database = Database::create_with(|options| options.context_history = 2).await;
    let chat_id = chat(&database).await;
    for n in 1..=17_u64 {
        let text = "x".repeat(if n % 2 == 0 { 10_000 } else { 1 });
        let data = [("n".to_owned(), n.into()), ("text".to_owned(), text.into())];
        let data = data.into_iter().collect();
        database.update_context_snapshot(&scope(), &chat_id, data).await.unwrap();
        let page = database.list_context_versions(&scope(), &chat_id, 9, None).await.unwrap();
        let versions: Vec<u64> = page.versions.iter().map(|kept| kept.version).collect();
        assert_eq!(versions, (n.saturating_sub(1).max(1)..=n).rev().collect::<Vec<_>>());
        until_moved(&database, &chat_id, n - 1).await;
    }
    for (collection, left) in [("context_snapshots", 1), ("chat_blobs", 1)] {
        until(collection, async || database.all(collection).await.len() == left).await;
    }
    for (version, is_kept) in [(15, false), (16, true), (17, true)] {
        let kept = database.get_context_version(&scope(), &chat_id, version).await.unwrap();
        assert_eq!(kept.is_some(), is_kept, "{version}");
    }
}

#[tokio::test]
async fn replaced_snapshots_are_bounded_in_bytes() {
    use persistence::{ContextHistory, Contexts};
    let database = Database::create_with(|options| options.context_history_bytes = 100_000).await;
    let chat_id = chat(&database).await;
    for n in 0..33_u64 {
        let data = [("n".to_owned(), n.into()), ("text".to_owned(), "x".repeat(20_000).into())];
        let data = data.into_iter().collect();
        database.update_context_snapshot(&scope(), &chat_id, data).await.unwrap();
        until_moved(&database, &chat_id, n).await;
    }
    for (collection, left) in [("context_snapshots", 4), ("chat_blobs", 5)] {
        until(collection, async || database.all(collection).await.len() == left).await;
    }
    let page = database.list_context_versions(&scope(), &chat_id, 99, None).await.unwrap();
    let versions: Vec<u64> = page.versions.iter().map(|kept| kept.version).collect();
    assert_eq!(versions, [33, 32, 31, 30, 29]);
}

/// Writing a snapshot is one command, however many versions are kept.
#[tokio::test]
async fn writing_a_small_snapshot_is_one_update() {
    use persistence::Contexts;
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    database.raw.run_command(bson::doc! { "profile": 2 }).await.unwrap();
    for n in 0..7 {
        let data = [("n".to_owned(), n.into())].into_iter().collect();
        database.update_context_snapshot(&scope(), &chat_id, data).await.unwrap();
    }
    database.raw.run_command(bson::doc! { "profile": 0 }).await.unwrap();
    let profile = database.raw.collection::<bson::RawDocumentBuf>("system.profile");
    let ours = bson::doc! { "ns": { "$regex": "\\.(chat|context)_" } };
    assert_eq!(profile.count_documents(ours).await.unwrap(), 7);
}

/// Each of the racing merges is written once, or twice if it lost its first race.
#[tokio::test(flavor = "multi_thread")]
async fn racing_merges_are_written_at_most_twice() {
    use persistence::Contexts;
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    database.raw.run_command(bson::doc! { "profile": 2 }).await.unwrap();
    let mergers = (0..16).map(|n| {
        let (store, chat_id) = (database.store.clone(), chat_id.clone());
        let patch = [(format!("k{n}"), n.into())].into_iter().collect();
        tokio::spawn(async move {
            store.merge_context_snapshot(&scope(), &chat_id, patch).await.unwrap()
        })
    });
    futures::future::try_join_all(mergers).await.unwrap();
    database.raw.run_command(bson::doc! { "profile": 0 }).await.unwrap();
    let profile = database.raw.collection::<bson::RawDocumentBuf>("system.profile");
    let writes = bson::doc! { "command.findAndModify": "chat_sessions" };
    let writes = profile.count_documents(writes).await.unwrap();
    assert!((16..=32).contains(&writes), "{writes}");
}

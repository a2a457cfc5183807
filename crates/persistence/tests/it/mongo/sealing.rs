//! A sealing that stops at any point leaves a readable chat, and the next sealing continues.

use bson::Document;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{ChatSessions, MessageRange, Messages};
use records::WorkflowName;
use records::{
    AppId, ChatId, EventId, MessageBody, MessageEdit, NewChatSession, NewMessage, Scope,
};

use super::database::Database;

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

async fn chat_of(store: &MongoStore, messages: usize) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = store.create_chat(&scope(), new).await.unwrap().chat_id;
    for index in 0..messages {
        append(store, &chat_id, index).await;
    }
    chat_id
}

async fn append(store: &MongoStore, chat_id: &ChatId, index: usize) {
    let event_id = EventId::parse(format!("event-{index}")).unwrap();
    let body = MessageBody::new("user", Some("user"), format!("message {index}"));
    let message = NewMessage { event_id: Some(event_id), ..body.into() };
    let appended = store.append(&scope(), chat_id, vec![message]).await.unwrap();
    assert_eq!(appended.messages[0].sequence, index as u64);
}

async fn contents(store: &MongoStore, chat_id: &ChatId) -> Vec<String> {
    let page = store.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
    let sequences: Vec<u64> = page.messages.iter().map(|message| message.sequence).collect();
    assert_eq!(sequences, (0..page.last_sequence).collect::<Vec<_>>());
    let text = |content: &serde_json::Value| content.as_str().unwrap().to_owned();
    page.messages.iter().map(|message| text(&message.body.content)).collect()
}

/// Returns all segments as a text.
async fn segments_of(database: &Database) -> String {
    let all = database.all("chat_segments").await;
    all.iter().map(|raw| Document::try_from(raw).unwrap().to_string()).collect()
}

fn expected(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("message {index}")).collect()
}

#[tokio::test]
async fn a_long_chat_is_sealed_and_reads_as_one() {
    let database = Database::create().await;
    let chat_id = chat_of(&database, 300).await;
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(contents(&database, &chat_id).await, expected(300));
    assert!(database.all("chat_segments").await.len() > 4);
    for index in [0, 17, 299] {
        append(&database, &chat_id, index).await;
    }
    assert_eq!(contents(&database, &chat_id).await, expected(300));
}

#[tokio::test]
async fn an_uncut_segment_is_not_read_and_is_reused_by_the_next_sealing() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, 40).await;
    let app_id = scope().app_id;
    database.seal(&app_id, &chat_id, Interruption::AfterSegment).await.unwrap();
    assert_eq!(contents(&database, &chat_id).await, expected(40));
    append(&database, &chat_id, 5).await;

    for index in 40..60 {
        append(&database, &chat_id, index).await;
    }
    database.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(contents(&database, &chat_id).await, expected(60));
    append(&database, &chat_id, 5).await;
    append(&database, &chat_id, 55).await;
}

#[tokio::test]
async fn a_segment_older_than_an_edit_is_replaced_and_not_reused() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, 40).await;
    let app_id = scope().app_id;
    database.seal(&app_id, &chat_id, Interruption::AfterSegment).await.unwrap();
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    database.update_message(&scope(), &chat_id, 3, edit).await.unwrap();
    database.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();

    let mut edited = expected(40);
    "edited".clone_into(&mut edited[3]);
    assert_eq!(contents(&database, &chat_id).await, edited);
    append(&database, &chat_id, 3).await;
}

#[tokio::test]
async fn a_deletion_removes_the_text_from_the_copy_of_a_sealing_that_has_stopped() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, 40).await;
    database.seal(&scope().app_id, &chat_id, Interruption::AfterSegment).await.unwrap();
    let segments = async || segments_of(&database).await;
    assert!(segments().await.contains("message 3\""));
    database.delete_message(&scope(), &chat_id, 3).await.unwrap();
    assert!(!segments().await.contains("message 3\""));
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let page = database.messages(&scope(), &chat_id, MessageRange::all()).await.unwrap();
    let deleted = page.messages.iter().filter(|message| message.deleted_at.is_some());
    assert_eq!((page.messages.len(), deleted.count()), (40, 1));
}

/// A large answer is deleted right after it was stored.
#[tokio::test]
async fn a_sealing_beside_deletions_leaves_no_copy_of_their_texts() {
    let database = Database::create().await;
    for _ in 0..20 {
        let chat_id = chat_of(&database, 0).await;
        let large = |index: usize| {
            let event_id = EventId::parse(format!("event-{index}")).unwrap();
            let text = format!("secret {}", "x".repeat(20_000));
            let body = MessageBody::new("user", None, text);
            NewMessage { event_id: Some(event_id), ..body.into() }
        };
        for index in 0..10 {
            database.append(&scope(), &chat_id, vec![large(index)]).await.unwrap();
        }
        let ids: Vec<_> = (0..10).map(|index| large(index).event_id.unwrap()).collect();
        database.delete_messages(&scope(), &chat_id, &ids).await.unwrap();
        database.finish_tasks().await;
    }
    let segments = segments_of(&database).await;
    assert!(!segments.contains("secret"), "a copy of a deleted text is left");
}

#[tokio::test]
async fn sealers_that_race_with_writers_and_editors_lose_nothing() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, 30).await;
    let app_id = scope().app_id;
    let sealing = async {
        for _ in 0..20 {
            let seal = || database.seal(&app_id, &chat_id, Interruption::Never);
            let (one, two, three) = tokio::join!(seal(), seal(), seal());
            one.and(two).and(three).unwrap();
        }
    };
    let writing = async {
        for index in 30..150 {
            append(&database, &chat_id, index).await;
        }
    };
    let editing = async {
        for index in 0..30 {
            let content = format!("message {index}");
            let edit = MessageEdit { content: Some(content.into()), ..MessageEdit::default() };
            database.update_message(&scope(), &chat_id, index, edit).await.unwrap();
        }
    };
    tokio::join!(sealing, writing, editing);
    assert_eq!(contents(&database, &chat_id).await, expected(150));
}

/// A sealing with several segments is stopped after each of its writes in turn.
#[tokio::test]
async fn a_sealer_stopped_after_any_write_causes_no_gap_and_no_duplicate() {
    let database = Database::create_with(|options| {
        options.sealing.is_automatic = false;
        options.sealing.segment_bytes = 1_000;
    })
    .await;
    let chat_id = chat_of(&database, 40).await;
    let app_id = scope().app_id;
    let mut writes = 0;
    loop {
        let before = database.all("chat_segments").await.len();
        for interruption in [Interruption::AfterSegment, Interruption::AfterFirstCut] {
            database.seal(&app_id, &chat_id, interruption).await.unwrap();
            assert_eq!(contents(&database, &chat_id).await, expected(40), "{writes}");
            for index in [0, 20, 39] {
                append(&database, &chat_id, index).await;
            }
            writes += 1;
        }
        if database.all("chat_segments").await.len() == before {
            break;
        }
    }
    assert!(writes > 10, "only {writes} writes were tried");
    for index in 40..80 {
        append(&database, &chat_id, index).await;
    }
    database.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();
    assert_eq!(contents(&database, &chat_id).await, expected(80));
}

//! A write with a lost reply is applied once, whatever other callers write meanwhile.

use std::time::Duration;

use local_mongod::{Proxy, Source};
use persistence::mongo::MongoStore;
use persistence::{
    AppDocuments, AppendCondition, Artifacts, AssistantFilter, Assistants, AuditFilter, AuditLog,
    ChatSessions, DocumentRange, Erasures, Messages, Outcome, PutCondition, StoreError,
};
use records::{
    Actor, AssistantContent, AssistantId, ChatId, ChatStatus, DocumentPath, IfMatch, MessageEdit,
    NewArtifact, NewAssistant, NewDocument, Scope, StatedBinding, UserId,
};
use serde_json::json;

use super::database::Database;
use super::faults::{chat, database_behind_proxy, message, scope};
use crate::waiting::until;

/// Connects another process directly to the server.
async fn another(database: &Database) -> MongoStore {
    MongoStore::connect(&database.options).await.unwrap()
}

/// Loses the replies to a write and to the driver's retry, and then delays everything until
/// `meanwhile` has completed.
async fn lose<T>(
    proxy: &Proxy,
    command: &str,
    write: impl Future<Output = T>,
    meanwhile: impl Future<Output = ()>,
) -> T {
    proxy.lose_replies(command, 2);
    let before = proxy.lost();
    let interfere = async {
        until("the lost replies", async || proxy.lost() >= before + 2).await;
        proxy.silence(Source::Everyone);
        meanwhile.await;
        proxy.speak();
    };
    tokio::join!(write, interfere).0
}

fn edit(content: &str) -> MessageEdit {
    MessageEdit { content: Some(content.into()), ..MessageEdit::default() }
}

#[tokio::test]
async fn an_edit_with_a_lost_reply_keeps_a_later_edit() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, message(None)).await.unwrap();
    let other = another(&database).await;
    let scope = scope();
    let editing = database.update_message(&scope, &chat_id, 0, edit("first"));
    let meanwhile = async {
        assert_eq!(content(&other, &chat_id).await, "first", "the first edit was applied");
        other.update_message(&scope, &chat_id, 0, edit("second")).await.unwrap();
    };
    let edited = lose(&proxy, "findAndModify", editing, meanwhile).await.unwrap();
    assert_eq!(edited.body.content, "second", "the current message is returned");
    assert_eq!(content(&other, &chat_id).await, "second");
}

async fn content(store: &MongoStore, chat_id: &ChatId) -> serde_json::Value {
    store.get_message(&scope(), chat_id, 0).await.unwrap().body.content
}

#[tokio::test]
async fn an_artifact_with_a_lost_reply_keeps_a_later_one() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    let other = another(&database).await;
    let scope = scope();
    for large in ["", &*"x".repeat(8_000)] {
        let artifact =
            |name: &str| NewArtifact { payload: json!([name, large]), ..NewArtifact::default() };
        let writing = database.update_last_artifact(&scope, &chat_id, artifact("first"));
        let meanwhile = async {
            other.update_last_artifact(&scope, &chat_id, artifact("second")).await.unwrap();
        };
        lose(&proxy, "findAndModify", writing, meanwhile).await.unwrap();
        let last = other.get_last_artifact(&scope, &chat_id).await.unwrap().unwrap();
        assert_eq!(last.payload[0], "second");
    }
    let clearing = database.clear_last_artifact(&scope, &chat_id);
    let meanwhile = async {
        let artifact = NewArtifact { payload: json!("third"), ..NewArtifact::default() };
        other.update_last_artifact(&scope, &chat_id, artifact).await.unwrap();
    };
    lose(&proxy, "findAndModify", clearing, meanwhile).await.unwrap();
    let last = other.get_last_artifact(&scope, &chat_id).await.unwrap().unwrap();
    assert_eq!(last.payload, "third");
}

#[tokio::test]
async fn an_erasure_whose_commit_lost_its_reply_is_in_the_audit_log_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let (actor, app_id) = (Actor::command_line(), scope().app_id);
    let person = UserId::parse("ada").unwrap();
    let beginning = database.begin_erasure(&actor, &app_id, &person);
    lose(&proxy, "commitTransaction", beginning, async {}).await.unwrap();
    let entries = database.list_audit_entries(&AuditFilter::default(), 10, None).await.unwrap();
    assert_eq!(entries.entries.len(), 1, "{entries:?}");
}

#[tokio::test]
async fn a_write_of_an_assistant_whose_commit_lost_its_reply_is_made_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let other = another(&database).await;
    let (scope, id) = (scope(), AssistantId::parse("weather").unwrap());
    let named = |name: &str| {
        let (name, kind) = (name.to_owned(), "assistant".to_owned());
        let content = AssistantContent { name, kind, ..AssistantContent::default() };
        NewAssistant { content, ..NewAssistant::default() }
    };
    let put_by_other = async |name: &str| {
        other.put_assistant(&scope, &id, named(name)).await.unwrap();
    };
    let creating = database.put_assistant(&scope, &id, named("A"));
    let created = lose(&proxy, "commitTransaction", creating, async {}).await.unwrap();
    assert_eq!((created.outcome, created.version), (Outcome::Stored, 1));

    // The answer is not `AssistantChanged`, which would mean that nothing was changed.
    let seen = IfMatch::Tags(vec![created.entity_tag()]);
    let seeing = Scope { if_match: Some(seen), ..scope.clone() };
    let replacing = database.put_assistant(&seeing, &id, named("B"));
    let replaced = lose(&proxy, "commitTransaction", replacing, put_by_other("C")).await.unwrap();
    assert_eq!((replaced.version, replaced.content.name.as_str()), (3, "C"));

    // The retry leaves what another caller has stored under the id since.
    let deleting = database.delete_assistant(&scope, &id);
    assert!(lose(&proxy, "commitTransaction", deleting, put_by_other("D")).await.unwrap());
    let stored = other.get_assistant(&scope, &id).await.unwrap().unwrap();
    assert_eq!((stored.version, stored.content.name.as_str()), (1, "D"));

    let all = AssistantFilter::default();
    let deleting = database.delete_assistants(&scope, &all, 10);
    let deleted = lose(&proxy, "commitTransaction", deleting, async {}).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (1, false));
    let entries = database.list_audit_entries(&AuditFilter::default(), 100, None).await.unwrap();
    assert_eq!(entries.entries.len(), 6, "{entries:?}");
}

#[tokio::test]
async fn a_write_of_a_document_that_lost_its_reply_is_made_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let other = another(&database).await;
    let (scope, path) = (scope(), DocumentPath::parse("log").unwrap());
    let of = |content: &[u8]| NewDocument {
        binding: StatedBinding::default(),
        content_type: "text/plain".to_owned(),
        content: content.to_vec(),
        lifetime: None,
    };
    let append = |content: &[u8]| {
        database.append_document(&scope, &path, of(content), AppendCondition::default())
    };
    let by_other = async || {
        other.append_document(&scope, &path, of(b"-"), AppendCondition::default()).await.unwrap();
    };
    let created = lose(&proxy, "insert", append(b"first"), by_other()).await.unwrap();
    assert_eq!((created.offset, created.outcome), (0, Outcome::Stored));
    let second = lose(&proxy, "findAndModify", append(b"second"), by_other()).await.unwrap();
    assert_eq!((second.offset, second.outcome), (6, Outcome::Stored));
    let large = vec![b'x'; 70_000];
    let moved = lose(&proxy, "commitTransaction", append(&large), by_other()).await.unwrap();
    assert_eq!((moved.offset, moved.outcome), (13, Outcome::Stored));
    let all = DocumentRange::From(0, u64::MAX);
    let stored = other.read_document(&scope, &path, all).await.unwrap().unwrap();
    assert_eq!(stored.content, [b"first-second-", &*large, b"-"].concat());

    // The answer is not `DocumentChanged`, which would mean that nothing was changed.
    let seen = IfMatch::Tags(vec![stored.head.entity_tag()]);
    let seeing = Scope { if_match: Some(seen), ..scope.clone() };
    let replacing = database.put_document(&seeing, &path, of(b"new"), PutCondition::default());
    let replaced = lose(&proxy, "commitTransaction", replacing, by_other()).await.unwrap();
    assert_eq!(replaced.version, stored.head.version + 2);
    assert!(
        lose(&proxy, "delete", database.delete_document(&scope, &path), async {}).await.unwrap()
    );
    assert_eq!(other.read_document(&scope, &path, all).await.unwrap(), None);
    assert!(database.all("document_parts").await.is_empty());
}

#[tokio::test]
async fn a_refused_retry_of_an_applied_write_is_not_a_refusal() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, message(None)).await.unwrap();
    let other = another(&database).await;
    let scope = scope();
    let editing = database.update_message(&scope, &chat_id, 0, edit("first"));
    let meanwhile = async {
        other.delete_message(&scope, &chat_id, 0).await.unwrap();
    };
    // The answer is not `MessageNotFound`, which would mean that nothing was changed.
    let edited = lose(&proxy, "findAndModify", editing, meanwhile).await.unwrap();
    assert!(edited.deleted_at.is_some());
    let status = other.get_chat(&scope, &chat_id).await.unwrap().unwrap().status;
    assert_eq!(status, ChatStatus::Running);
}

/// The first attempt is applied and its reply is lost. Afterwards no server can be selected, which proves that
/// the later attempts wrote nothing, but says nothing about the first one.
#[tokio::test]
async fn an_applied_write_is_never_unavailable() {
    let (server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, message(None)).await.unwrap();
    let other = another(&database).await;
    let mut options = database.options.clone();
    (options.uri, options.deadline) = (proxy.uri().into(), Duration::from_secs(2));
    let impatient = MongoStore::connect(&options).await.unwrap();
    impatient.get_chat(&scope(), &chat_id).await.unwrap();

    let scope = scope();
    let editing = impatient.update_message(&scope, &chat_id, 0, edit("edited"));
    let meanwhile = async {
        assert_eq!(content(&other, &chat_id).await, "edited", "the edit was applied");
        server.kill_hard().await.unwrap();
    };
    let edited = lose(&proxy, "findAndModify", editing, meanwhile).await.map(|_| ());
    assert!(matches!(edited, Err(StoreError::OutcomeUnknown { .. })), "{edited:?}");
    // Nothing of the next call is sent.
    let unsent = impatient.update_message(&scope, &chat_id, 0, edit("again")).await.map(|_| ());
    assert!(matches!(unsent, Err(StoreError::Unavailable { .. })), "{unsent:?}");

    server.restart().await.unwrap();
    assert_eq!(content(&other, &chat_id).await, "edited");
    let appending = impatient.append(&scope, &chat_id, message(None));
    let meanwhile = async {
        assert_eq!(last_sequence(&other, &chat_id).await, 2, "the append was applied");
        server.kill_hard().await.unwrap();
    };
    let appended = lose(&proxy, "findAndModify", appending, meanwhile).await.map(|_| ());
    assert!(matches!(appended, Err(StoreError::OutcomeUnknown { .. })), "{appended:?}");
    server.restart().await.unwrap();
    assert_eq!(last_sequence(&other, &chat_id).await, 2);
}

async fn last_sequence(store: &MongoStore, chat_id: &ChatId) -> u64 {
    store.get_chat(&scope(), chat_id).await.unwrap().unwrap().last_sequence
}

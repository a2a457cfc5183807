//! Writes that depend on what their caller has seen of the record.

use std::sync::Arc;

use persistence::{Outcome, RecordVersions, Store, StoreError};
use records::{EventId, IfMatch, MessageEdit, NewArtifact, NewMessage, Scope};
use serde_json::json;

use super::fixture::{TestChat, assert_refused, message, object, race};

/// Returns the same chat for a caller whose writes depend on what the caller has read.
fn having_seen(chat: &TestChat, seen: IfMatch) -> TestChat {
    let scope = Scope { if_match: Some(seen), ..chat.scope.clone() };
    TestChat { scope, ..chat.clone() }
}

fn tag(tag: &(impl ToString + ?Sized)) -> IfMatch {
    IfMatch::Tags(vec!["other".to_owned(), tag.to_string()])
}

async fn versions(chat: &TestChat) -> RecordVersions {
    chat.store.record_versions(&chat.scope, &chat.id).await.unwrap()
}

fn is_changed<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Changed { .. }))
}

pub async fn a_snapshot_is_written_only_if_it_is_the_one_that_was_seen(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(versions(&chat).await, RecordVersions { context: 0, artifact: 0 });
    let data = |n: u64| object(json!({ "n": n }));
    having_seen(&chat, tag(&0)).replace_context(data(1)).await.unwrap();
    assert_eq!(versions(&chat).await.context, 1);
    let late = having_seen(&chat, tag(&0));
    assert!(is_changed(&late.replace_context(data(2)).await));
    assert!(is_changed(&late.merge_context(data(2)).await));
    assert_eq!(chat.load_context().await.unwrap().data, data(1));
    having_seen(&chat, tag(&1)).merge_context(data(3)).await.unwrap();
    having_seen(&chat, IfMatch::Any).merge_context(data(4)).await.unwrap();
    assert_eq!(versions(&chat).await.context, 3);
}

pub async fn of_callers_who_have_seen_the_same_snapshot_one_writes(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for round in 0..4 {
        let racers = (0..8).map(|n| {
            let chat = having_seen(&chat, tag(&round));
            async move {
                let data = object(json!({ "n": n }));
                let written = if n % 2 == 0 {
                    chat.replace_context(data).await
                } else {
                    chat.merge_context(data).await
                };
                let is_written = written.is_ok();
                assert!(is_written || is_changed(&written));
                is_written
            }
        });
        assert_eq!(race(racers).await.into_iter().filter(|it| *it).count(), 1);
        assert_eq!(versions(&chat).await.context, round + 1);
    }
}

pub async fn an_artifact_is_written_only_if_it_is_the_one_that_was_seen(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let new = |n: u64| NewArtifact { payload: json!(n), ..NewArtifact::default() };
    // Without an artifact there is nothing that could have been seen.
    for seen in [IfMatch::Any, tag(&0)] {
        assert!(is_changed(&having_seen(&chat, seen).update_artifact(new(1)).await));
    }
    chat.update_artifact(new(1)).await.unwrap();
    let version = versions(&chat).await.artifact;
    having_seen(&chat, tag(&version)).update_artifact(new(2)).await.unwrap();
    let late = having_seen(&chat, tag(&version));
    assert!(is_changed(&late.update_artifact(new(3)).await));
    assert!(is_changed(&late.clear_artifact().await));
    assert_eq!(chat.get_artifact().await.unwrap().unwrap().payload, json!(2));
    having_seen(&chat, tag(&versions(&chat).await.artifact)).clear_artifact().await.unwrap();
    assert_eq!(chat.get_artifact().await.unwrap(), None);
    // Clearing nothing is no change.
    late.clear_artifact().await.unwrap();
}

pub async fn a_message_is_edited_only_if_it_is_as_it_was_seen(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("first"), message("second")]).await.unwrap();
    chat.append_filler().await;
    chat.append([message("newest")]).await.unwrap();
    let edit = |n: u64| MessageEdit { content: Some(json!(n)), ..MessageEdit::default() };
    for sequence in [0, 502] {
        let seen = chat.get_message(sequence).await.unwrap().entity_tag();
        let edited = having_seen(&chat, tag(&seen)).update_message(sequence, edit(1)).await;
        assert_ne!(edited.unwrap().entity_tag(), seen);
        let late = having_seen(&chat, tag(&seen));
        assert!(is_changed(&late.update_message(sequence, edit(2)).await));
        assert!(is_changed(&late.delete_message(sequence).await));
        let current = chat.get_message(sequence).await.unwrap();
        assert_eq!(current.body.content, json!(1));
        let known = having_seen(&chat, tag(&current.entity_tag()));
        assert!(known.delete_message(sequence).await.unwrap().deleted_at.is_some());
    }
}

pub async fn messages_are_appended_only_to_the_chat_that_was_seen(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let expecting = |n: u64| {
        let scope = Scope { expected_last_sequence: Some(n), ..chat.scope.clone() };
        TestChat { scope, ..chat.clone() }
    };
    let conflict = |expected, actual| StoreError::SequenceConflict {
        chat_id: chat.id.clone(),
        expected,
        actual,
    };
    assert_refused(expecting(1).append([message("early")]).await, &conflict(1, 0));
    let named =
        |id: &str| NewMessage { event_id: Some(EventId::parse(id).unwrap()), ..message(id) };
    assert_eq!(expecting(0).append([named("a"), message("b")]).await.unwrap().last_sequence, 2);
    // A repeat gets the first result, whatever it expects; even if that is what the chat has now.
    for expected in [0, 2, 7] {
        let again = expecting(expected).append([named("a")]).await.unwrap();
        assert_eq!(
            (again.messages[0].sequence, again.messages[0].outcome),
            (0, Outcome::Duplicate)
        );
    }
    assert_refused(expecting(0).append([named("a"), named("c")]).await, &conflict(0, 2));
    assert_eq!(expecting(2).append([named("a"), named("c")]).await.unwrap().last_sequence, 3);
    chat.append_filler().await;
    let again = expecting(0).append([named("c")]).await.unwrap();
    assert_eq!(again.messages[0].outcome, Outcome::Duplicate);
    let again = expecting(503).append([named("c")]).await.unwrap();
    assert_eq!((again.messages[0].outcome, again.last_sequence), (Outcome::Duplicate, 503));
    assert_eq!(expecting(503).append([named("d")]).await.unwrap().last_sequence, 504);
    assert_refused(expecting(503).delete_message(503).await, &conflict(503, 504));
    assert!(expecting(504).delete_message(503).await.unwrap().deleted_at.is_some());
    assert!(expecting(504).delete_message(0).await.unwrap().deleted_at.is_some());
}

pub async fn of_callers_who_expect_the_same_messages_one_appends(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for round in 0..8 {
        let racers = (0..8).map(|n| {
            let scope = Scope { expected_last_sequence: Some(round), ..chat.scope.clone() };
            let chat = TestChat { scope, ..chat.clone() };
            async move {
                let appended = chat.append([message(format!("{round} {n}"))]).await;
                let is_stored = appended.is_ok();
                let is_conflict = matches!(appended, Err(StoreError::SequenceConflict { .. }));
                assert!(is_stored || is_conflict);
                is_stored
            }
        });
        assert_eq!(race(racers).await.into_iter().filter(|it| *it).count(), 1);
    }
    assert_eq!(chat.session().await.last_sequence, 8);
}

/// The newest message is taken by the one caller who deletes it as it was read, if nothing was appended since.
pub async fn a_chats_newest_message_is_taken_by_one_caller(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append((0..3).map(|n| message(n.to_string()))).await.unwrap();
    let racers = (0..6).map(|_| {
        let chat = chat.clone();
        async move {
            let newest = chat.get_message(2).await.unwrap();
            let scope = Scope {
                if_match: Some(IfMatch::Tags(vec![newest.entity_tag()])),
                expected_last_sequence: Some(3),
                ..chat.scope.clone()
            };
            let is_whole = newest.deleted_at.is_none();
            is_whole && TestChat { scope, ..chat }.delete_message(2).await.is_ok()
        }
    });
    assert_eq!(race(racers).await.into_iter().filter(|it| *it).count(), 1);
}

//! Editing and deleting messages, new and old ones.

use std::sync::Arc;

use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{Limits, MessageBody, MessageEdit, SizeLimit};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_invalid, assert_refused, event, message,
    nested, new_content, object, outcomes, sequences,
};
use persistence::{MessageRange, Outcome, Store, StoreError};

pub async fn an_edit_changes_only_the_fields_it_names(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let body = MessageBody {
        timestamp: Some("then".to_owned()),
        metadata: Some(object(json!({"a": 1}))),
        extra: object(json!({"refusal": "no"})),
        ..MessageBody::new("user", Some("Ada"), "hello")
    };
    chat.append([body.clone().into(), message("neighbour")]).await.unwrap();
    let name = MessageEdit { name: Some("Bob".to_owned()), ..MessageEdit::default() };
    let metadata =
        MessageEdit { metadata: Some(object(json!({"b": 2}))), ..MessageEdit::default() };
    let form = MessageEdit {
        kind: Some("image".to_owned()),
        props: Some(json!({"url": "a.png"})),
        ..MessageEdit::default()
    };
    let mut expected = chat.history().await.unwrap();
    for edit in [new_content(json!({"x": []})), name, metadata, form] {
        let before = chat.session().await;
        a_moment_passes().await;
        let edited = chat.update_message(0, edit.clone()).await.unwrap();
        let session = chat.session().await;
        expected[0].body = edit.apply(&expected[0].body);
        expected[0].edited_at = Some(session.last_updated_at);
        assert_eq!(edited, expected[0]);
        assert_eq!(chat.history().await.unwrap(), expected);
        assert!(session.last_updated_at > before.last_updated_at);
        assert_eq!(session.last_sequence, 2);
    }
    assert_eq!(expected[0].body.role, body.role);
    let extra = json!({"refusal": "no", "type": "image", "props": {"url": "a.png"}});
    assert_eq!(json!(expected[0].body.extra), extra);
}

pub async fn old_messages_are_edited_like_new_ones(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let mut expected = chat.history().await.unwrap();
    for sequence in OLD_AND_NEW {
        let edited = chat.update_message(sequence, new_content("changed")).await.unwrap();
        assert!(edited.edited_at.is_some());
        assert_eq!(chat.get_message(sequence).await.unwrap(), edited);
        let original = &mut expected[index(sequence)];
        original.body.content = "changed".into();
        original.edited_at = edited.edited_at;
        assert_eq!(edited, *original);
    }
    assert_eq!(chat.history().await.unwrap(), expected);
    assert_eq!(chat.messages(MessageRange::all()).await.unwrap().messages, expected);
    assert_dense(&expected);
}

pub async fn a_deleted_message_leaves_a_tombstone_and_no_gap(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let mut expected = chat.history().await.unwrap();
    for sequence in OLD_AND_NEW {
        let before = chat.session().await;
        a_moment_passes().await;
        let deleted = chat.delete_message(sequence).await.unwrap();
        let session = chat.session().await;
        assert_eq!(deleted.deleted_at, Some(session.last_updated_at));
        assert!(session.last_updated_at > before.last_updated_at);
        let original = &mut expected[index(sequence)];
        original.body = MessageBody::new("user", None, Value::Null);
        original.deleted_at = deleted.deleted_at;
        assert_eq!(deleted, *original);
        assert_eq!(chat.get_message(sequence).await.unwrap(), deleted);
    }
    assert_eq!(chat.history().await.unwrap(), expected);
    assert_eq!(chat.messages(MessageRange::all()).await.unwrap().messages, expected);
    let next = chat.append([message("next")]).await.unwrap();
    assert_eq!(sequences(&next), [expected.len() as u64]);
}

pub async fn a_tombstone_keeps_only_the_role(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let body = MessageBody {
        timestamp: Some("then".to_owned()),
        metadata: Some(object(json!({"a": 1}))),
        extra: object(json!({"tool_calls": [1]})),
        ..MessageBody::new("tool", Some("search"), "secret")
    };
    chat.append([body.into()]).await.unwrap();
    chat.delete_message(0).await.unwrap();
    let left = chat.get_message(0).await.unwrap().body;
    assert_eq!(left, MessageBody::new("tool", None, Value::Null));
}

pub async fn deleting_twice_gets_the_first_answer(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    for sequence in OLD_AND_NEW {
        let first = chat.delete_message(sequence).await.unwrap();
        let before = chat.whole().await;
        a_moment_passes().await;
        let second = chat.delete_message(sequence).await.unwrap();
        assert_eq!(second, first);
        assert_eq!(chat.whole().await, before);
    }
}

pub async fn a_deleted_or_missing_message_cannot_be_edited(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    for sequence in OLD_AND_NEW {
        chat.delete_message(sequence).await.unwrap();
    }
    let before = chat.whole().await;
    let end = before.session.last_sequence;
    let missing = [end, end + 1, u64::MAX];
    for sequence in OLD_AND_NEW.into_iter().chain(missing) {
        let edited = chat.update_message(sequence, new_content("back")).await;
        assert_refused(edited, &message_not_found(&chat, sequence));
    }
    for sequence in missing {
        let deleted = chat.delete_message(sequence).await;
        assert_refused(deleted, &message_not_found(&chat, sequence));
    }
    assert_eq!(chat.whole().await, before);
}

pub async fn a_repeated_original_is_recognised_after_an_edit_or_deletion(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    for sequence in OLD_AND_NEW {
        let id = format!("e{sequence}");
        let original = event(&id, sequence);
        chat.update_message(sequence, new_content("changed")).await.unwrap();
        let edited = chat.whole().await;
        let again = chat.append([original.clone()]).await.unwrap();
        assert_eq!(
            (sequences(&again), outcomes(&again)),
            (vec![sequence], vec![Outcome::Duplicate])
        );
        let as_edited = chat.append([event(&id, "changed")]).await;
        assert!(matches!(as_edited, Err(StoreError::EventConflict { .. })), "{as_edited:?}");
        assert_eq!(chat.whole().await, edited);
        chat.delete_message(sequence).await.unwrap();
        let deleted = chat.whole().await;
        let again = chat.append([original]).await.unwrap();
        assert_eq!(
            (sequences(&again), outcomes(&again)),
            (vec![sequence], vec![Outcome::Duplicate])
        );
        assert_eq!(chat.whole().await, deleted);
    }
}

pub async fn an_edit_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let before = chat.whole().await;
    let metadata =
        |value: Value| MessageEdit { metadata: Some(object(value)), ..MessageEdit::default() };
    let too_deep = format!("/content{}", "/0".repeat(Limits::NESTING));
    let cases = [
        (new_content("x".repeat(Limits::MESSAGE_BYTES)), "/content", TooLarge(SizeLimit::Message)),
        (new_content(nested(Limits::NESTING + 1)), &too_deep, NotAdmitted),
        (new_content(json!({"a\0": 1})), "/content/a\0", NotAdmitted),
        (metadata(json!({"a": u64::MAX})), "/metadata/a", NotAdmitted),
        (
            MessageEdit { name: Some("\n".to_owned()), ..MessageEdit::default() },
            "/name",
            NotAdmitted,
        ),
        (MessageEdit { kind: Some(String::new()), ..MessageEdit::default() }, "/type", NotAdmitted),
        (
            MessageEdit { props: Some(nested(Limits::NESTING + 1)), ..MessageEdit::default() },
            &too_deep.replace("content", "props"),
            NotAdmitted,
        ),
    ];
    for sequence in OLD_AND_NEW {
        for (edit, pointer, kind) in cases.clone() {
            let refused = chat.update_message(sequence, edit).await;
            assert_invalid(refused, pointer, kind);
        }
    }
    assert_eq!(chat.whole().await, before);
}

/// Six adjacent messages of 3 MiB are larger than one database document can be.
pub async fn adjacent_old_messages_may_grow_to_3_mib_each(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    grow_and_compare(&chat, [0, 3, 4, 5, 6, 7, 8, 200, 301, 302]).await;
}

pub async fn the_newest_messages_may_grow_to_3_mib_each(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let end = chat.session().await.last_sequence;
    grow_and_compare(&chat, (1..=10).map(|back| end - back)).await;
    let next = chat.append([event("next", "x".repeat(900_000))]).await.unwrap();
    assert_eq!(sequences(&next), [end]);
}

/// Sequences in a [`long_chat`], old and new.
const OLD_AND_NEW: [u64; 5] = [0, 1, 150, 318, 319];

/// Creates a chat of 320 messages, `e0` to `e319`, whose content is their sequence.
async fn long_chat(store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for start in (0..320).step_by(32) {
        let batch = (start..start + 32).map(|n| event(&format!("e{n}"), n));
        chat.append(batch).await.unwrap();
    }
    chat
}

/// Makes messages large by edits, one after another, and asserts that the other messages are unchanged.
async fn grow_and_compare(chat: &TestChat, sequences: impl IntoIterator<Item = u64>) {
    let mut expected = chat.history().await.unwrap();
    for sequence in sequences {
        let large = format!("{sequence:08}").repeat((3 << 20) / 8);
        expected[index(sequence)] =
            chat.update_message(sequence, new_content(large.clone())).await.unwrap();
        assert!(expected[index(sequence)].body.content == large);
    }
    assert!(chat.history().await.unwrap() == expected, "only the edited messages changed");
}

fn index(sequence: u64) -> usize {
    usize::try_from(sequence).unwrap()
}

fn message_not_found(chat: &TestChat, sequence: u64) -> StoreError {
    let chat_id = chat.id.clone();
    StoreError::MessageNotFound { chat_id, sequence }
}

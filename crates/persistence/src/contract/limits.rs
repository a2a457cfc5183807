//! What is too large, too deep or not storable is refused by name, and nothing of it is kept.

use std::sync::Arc;

use records::InvalidKind::{self, TooLarge, Value as NotAdmitted};
use records::{Limits, MessageBody, NewMessage};
use serde_json::{Value, json};

use super::fixture::{TestChat, assert_invalid, contents, event, message, nested, object};
use crate::Store;

pub async fn a_message_past_a_limit_is_refused_with_its_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let before = chat.whole().await;
    for (body, pointer, kind) in refused_bodies() {
        let pointer = format!("/messages/1{pointer}");
        let batch = || [event("fine", "fine"), NewMessage::from(body.clone())];
        assert_invalid(chat.append(batch()).await, &pointer, kind);
        assert_invalid(chat.persist_initial(batch()).await, &pointer, kind);
    }
    assert_eq!(chat.whole().await, before);
}

pub async fn a_batch_past_a_limit_is_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let before = chat.whole().await;
    let third = "x".repeat(3 << 20);
    let batches = [
        (Vec::new(), NotAdmitted),
        (vec![message("x"); Limits::BATCH_MESSAGES + 1], TooLarge),
        (vec![message(third); 3], TooLarge),
    ];
    for (batch, kind) in batches {
        assert_invalid(chat.append(batch.clone()).await, "/messages", kind);
        assert_invalid(chat.persist_initial(batch).await, "/messages", kind);
    }
    assert_eq!(chat.whole().await, before);
}

pub async fn two_messages_just_within_the_limits_are_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let largest = largest_message();
    assert_eq!(largest.body.check().unwrap(), Limits::MESSAGE_BYTES);
    chat.append([message("before")]).await.unwrap();
    chat.append([largest.clone(), largest.clone()]).await.unwrap();
    chat.append([message("after")]).await.unwrap();
    let stored = contents(&chat.history().await.unwrap());
    assert_eq!(stored.len(), 4);
    assert!(stored[1..3].iter().all(|content| *content == largest.body.content));
    assert_eq!([&stored[0], &stored[3]], ["before", "after"]);
}

pub async fn a_thousand_messages_in_one_append_are_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let batch = || (0..Limits::BATCH_MESSAGES).map(|n| event(&format!("e{n}"), n));
    chat.append(batch()).await.unwrap();
    let again = chat.append(batch()).await.unwrap();
    assert!(again.messages.iter().map(|m| m.sequence).eq(0..1000));
    let stored = contents(&chat.history().await.unwrap());
    assert!(stored.into_iter().eq((0..Limits::BATCH_MESSAGES).map(Value::from)));
}

pub async fn the_deepest_nesting_allowed_comes_back(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let body = MessageBody {
        metadata: Some(object(json!({"a": nested(Limits::NESTING - 1)}))),
        extra: object(json!({"tool_calls": nested(Limits::NESTING)})),
        ..MessageBody::new("tool", None, nested(Limits::NESTING))
    };
    chat.append([body.clone().into()]).await.unwrap();
    assert_eq!(chat.get_message(0).await.unwrap().body, body);
    chat.bury().await;
    assert_eq!(chat.get_message(0).await.unwrap().body, body);
}

/// The largest of everything at once is more than one database document can hold.
pub async fn a_chat_may_hold_the_largest_of_everything_at_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let large = object(json!({"a": "s".repeat(Limits::SNAPSHOT_BYTES - 64)}));
    let artifact = records::NewArtifact {
        payload: "p".repeat(Limits::ARTIFACT_BYTES - 64).into(),
        ..Default::default()
    };
    chat.replace_context(large.clone()).await.unwrap();
    chat.update_artifact(artifact.clone()).await.unwrap();
    for _ in 0..3 {
        chat.append([largest_message()]).await.unwrap();
    }
    let whole = chat.whole().await;
    assert!(whole.context.data == large && whole.context.sequence == 0);
    assert!(whole.artifact.unwrap().payload == artifact.payload);
    assert_eq!(whole.messages.len(), 3);
    let expected = largest_message().body;
    assert!(whole.messages.iter().all(|message| message.body == expected));
}

/// Bodies that are refused, with the pointer within the message and the kind of objection.
fn refused_bodies() -> Vec<(MessageBody, String, InvalidKind)> {
    let of = |content: Value| MessageBody::new("user", None, content);
    let plain = || of(json!("x"));
    let beyond_i64 = json!(9_223_372_036_854_775_808_u64);
    let too_deep = |pointer: &str, levels: usize| pointer.to_owned() + &"/0".repeat(levels);
    let role = |role: &str| MessageBody { role: role.to_owned(), ..plain() };
    let metadata = |value: Value| MessageBody { metadata: Some(object(value)), ..plain() };
    let extra = |value: Value| MessageBody { extra: object(value), ..plain() };
    let timestamp = "9".repeat(Limits::TIMESTAMP_CHARS + 1);
    let large = || Value::from("x".repeat(Limits::MESSAGE_BYTES));
    let cases = [
        (role(""), "/role".to_owned(), NotAdmitted),
        (role("a\nb"), "/role".to_owned(), NotAdmitted),
        (role(&"r".repeat(129)), "/role".to_owned(), NotAdmitted),
        (MessageBody::new("user", Some("a\0b"), "x"), "/name".to_owned(), NotAdmitted),
        (
            MessageBody { timestamp: Some(timestamp), ..plain() },
            "/timestamp".to_owned(),
            NotAdmitted,
        ),
        (of(large()), "/content".to_owned(), TooLarge),
        (metadata(json!({"a": large()})), "/content".to_owned(), TooLarge),
        (extra(json!({"refusal": large()})), "/content".to_owned(), TooLarge),
        (of(json!({"a/b": [0, beyond_i64]})), "/content/a~1b/1".to_owned(), NotAdmitted),
        (metadata(json!({"n": beyond_i64})), "/metadata/n".to_owned(), NotAdmitted),
        (extra(json!({"refusal": beyond_i64})), "/refusal".to_owned(), NotAdmitted),
        (of(json!([{"a\0b": 1}])), "/content/0/a\0b".to_owned(), NotAdmitted),
        (metadata(json!({"\0": 1})), "/metadata/\0".to_owned(), NotAdmitted),
        (extra(json!({"colour": 1})), "/colour".to_owned(), NotAdmitted),
        (of(nested(65)), too_deep("/content", 64), NotAdmitted),
        (metadata(json!({"a": nested(64)})), too_deep("/metadata/a", 63), NotAdmitted),
        (extra(json!({"refusal": nested(65)})), too_deep("/refusal", 64), NotAdmitted),
    ];
    cases.into()
}

/// A message of exactly the largest size.
fn largest_message() -> NewMessage {
    let overhead = message("").body.check().unwrap_or_default();
    message("x".repeat(Limits::MESSAGE_BYTES - overhead))
}

//! Values that are too large, too deep or not storable are refused by their pointer, and nothing of
//! them is stored.

use std::sync::Arc;

use records::InvalidKind::{self, TooLarge, Value as NotAdmitted};
use records::{Limits, MessageBody, NewArtifact, NewChatSession, NewMessage, SizeLimit};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, assert_invalid, contents, event, message, nested, new_chat, object,
};
use persistence::Store;

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
        (vec![message("x"); Limits::BATCH_MESSAGES + 1], TooLarge(SizeLimit::Batch)),
        (vec![message(third); 3], TooLarge(SizeLimit::Batch)),
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

pub async fn the_deepest_allowed_nesting_is_returned(store: Arc<dyn Store>) {
    let body = MessageBody {
        metadata: Some(object(json!({"a": nested(Limits::NESTING - 1)}))),
        extra: object(json!({"tool_calls": nested(Limits::NESTING)})),
        ..MessageBody::new("tool", None, nested(Limits::NESTING))
    };
    let within_an_object = object(json!({"a": nested(Limits::NESTING - 1)}));
    let artifact = NewArtifact { payload: nested(Limits::NESTING), ..NewArtifact::default() };
    let metadata = within_an_object.clone();
    let chat = TestChat::create_from(&store, NewChatSession { metadata, ..new_chat() }).await;
    chat.append([body.clone().into()]).await.unwrap();
    chat.replace_context(within_an_object.clone()).await.unwrap();
    chat.merge_context(object(json!({"b": nested(Limits::NESTING - 1)}))).await.unwrap();
    chat.update_artifact(artifact.clone()).await.unwrap();
    chat.append_filler().await;
    let whole = chat.whole().await;
    assert_eq!(whole.session.metadata, within_an_object);
    assert_eq!(whole.messages[0].body, body);
    assert_eq!(whole.context.data["a"], whole.context.data["b"]);
    assert_eq!(whole.context.data["a"], within_an_object["a"]);
    assert_eq!(whole.artifact.unwrap().payload, artifact.payload);
}

/// All records at their largest size together exceed one database document.
pub async fn a_chat_may_hold_every_record_at_its_largest_size(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let large = object(json!({"a": "s".repeat(Limits::SNAPSHOT_BYTES - 64)}));
    let artifact = NewArtifact {
        payload: "p".repeat(Limits::ARTIFACT_BYTES - 64).into(),
        ..NewArtifact::default()
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

/// Bodies that are refused, with the pointer within the message and the kind of error.
fn refused_bodies() -> Vec<(MessageBody, String, InvalidKind)> {
    let content = |value: Value| MessageBody::new("user", None, value);
    let plain = || content(json!("x"));
    let role = |role: &str| MessageBody { role: role.to_owned(), ..plain() };
    let name = |name: &str| MessageBody { name: Some(name.to_owned()), ..plain() };
    let timestamp = |text: String| MessageBody { timestamp: Some(text), ..plain() };
    let metadata = |value: Value| MessageBody { metadata: Some(object(value)), ..plain() };
    let extra = |value: Value| MessageBody { extra: object(value), ..plain() };
    let large = || "x".repeat(Limits::MESSAGE_BYTES);
    let beyond_i64 = json!(9_223_372_036_854_775_808_u64);
    let deep = "/0".repeat(Limits::NESTING);
    let cases = [
        (role(""), "/role", NotAdmitted),
        (role("a\nb"), "/role", NotAdmitted),
        (role(&"r".repeat(129)), "/role", NotAdmitted),
        (name("a\0b"), "/name", NotAdmitted),
        (timestamp("9".repeat(Limits::TIMESTAMP_CHARS + 1)), "/timestamp", NotAdmitted),
        (content(large().into()), "/content", TooLarge(SizeLimit::Message)),
        (metadata(json!({"a": large()})), "/content", TooLarge(SizeLimit::Message)),
        (extra(json!({"refusal": large()})), "/content", TooLarge(SizeLimit::Message)),
        (content(json!({"a/b": [0, beyond_i64]})), "/content/a~1b/1", NotAdmitted),
        (metadata(json!({"n": beyond_i64})), "/metadata/n", NotAdmitted),
        (extra(json!({"refusal": beyond_i64})), "/refusal", NotAdmitted),
        (content(json!([{"a\0b": 1}])), "/content/0/a\0b", NotAdmitted),
        (metadata(json!({"\0": 1})), "/metadata/\0", NotAdmitted),
        (extra(json!({"colour": 1})), "/colour", NotAdmitted),
        (content(nested(Limits::NESTING + 1)), &format!("/content{deep}"), NotAdmitted),
        (metadata(json!({"0": nested(Limits::NESTING)})), &format!("/metadata{deep}"), NotAdmitted),
        (
            extra(json!({"refusal": nested(Limits::NESTING + 1)})),
            &format!("/refusal{deep}"),
            NotAdmitted,
        ),
    ];
    cases.map(|(body, pointer, kind)| (body, pointer.to_owned(), kind)).into()
}

/// Makes a message of exactly the largest size.
fn largest_message() -> NewMessage {
    let overhead = message("").body.check().unwrap_or_default();
    message("x".repeat(Limits::MESSAGE_BYTES - overhead))
}

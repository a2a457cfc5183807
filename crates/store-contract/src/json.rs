//! JSON is returned as it was sent, through every write and every read.

use std::sync::Arc;

use records::{
    ChatStatus, JsonObject, Message, MessageBody, MessageEdit, NewArtifact, NewChatSession,
    NewMessage, merge_patch,
};
use serde_json::{Value, json};

use super::fixture::{TestChat, event, message, new_chat, object, outcomes};
use super::poison;
use persistence::{ChatFilter, MessageRange, Outcome, Store};

pub async fn every_poisonous_value_is_returned_unchanged(store: Arc<dyn Store>) {
    for value in poison::values() {
        round_trips(Arc::clone(&store), value).await;
    }
}

pub async fn poison_in_old_messages_is_returned_unchanged(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let poison: Vec<_> = (0..).zip(poison::values()).collect();
    let batch = || poison.iter().map(|(n, value)| with_body(&format!("e{n}"), body_of(value)));
    chat.append(batch()).await.unwrap();
    chat.append_filler().await;
    for (sequence, value) in &poison {
        read_back(&chat, *sequence, &body_of(value)).await;
    }
    let again = chat.append(batch()).await.unwrap();
    assert!(outcomes(&again).iter().all(|outcome| *outcome == Outcome::Duplicate));
    for (sequence, value) in poison.iter().rev() {
        chat.update_message(*sequence, edit_to(&json!("replaced"))).await.unwrap();
        let restored = chat.update_message(*sequence, edit_to(value)).await.unwrap();
        assert_same(&restored.body, &body_of(value));
    }
    for (sequence, value) in &poison {
        read_back(&chat, *sequence, &body_of(value)).await;
    }
}

/// Sends a value through every write that accepts JSON, and asserts that every read returns it
/// unchanged and that another chat stays unchanged.
///
/// With two more levels around it, the value must fit the [`Limits`](records::Limits) of chat
/// metadata, the smallest limits.
pub async fn round_trips(store: Arc<dyn Store>, value: Value) {
    let new = NewChatSession { metadata: as_object(&value), ..new_chat() };
    let chat = TestChat::create_from(&store, new.clone()).await;
    let neighbour = TestChat::create_in(&chat.scope, &store, new).await;
    neighbour.append([event("e", value.clone())]).await.unwrap();
    let before = neighbour.whole().await;
    through_messages(&chat, &value).await;
    through_context(&chat, &value).await;
    through_artifact(&chat, &value).await;
    through_metadata(&chat, &value).await;
    assert_eq!(neighbour.whole().await, before);
}

async fn through_messages(chat: &TestChat, value: &Value) {
    let body = body_of(value);
    let appended = || with_body("appended", body.clone());
    chat.append([appended()]).await.unwrap();
    let again = chat.append([appended()]).await.unwrap();
    assert_eq!(outcomes(&again), [Outcome::Duplicate]);
    read_back(chat, 0, &body).await;

    let initial = || [message("begin"), body.clone().into()];
    chat.persist_initial(initial()).await.unwrap();
    let again = chat.persist_initial(initial()).await.unwrap();
    assert_eq!(outcomes(&again), [Outcome::Duplicate; 2]);
    read_back(chat, 2, &body).await;

    let edit = edit_to(value);
    let edited = chat.update_message(1, edit.clone()).await.unwrap();
    assert_same(&edited.body, &edit.apply(&message("begin").body));
    read_back(chat, 1, &edited.body).await;
    assert_eq!(chat.session().await.last_sequence, 3);
}

async fn read_back(chat: &TestChat, sequence: u64, expected: &MessageBody) {
    let only = MessageRange::Oldest {
        after: sequence.checked_sub(1),
        before: Some(sequence + 1),
        limit: 1,
    };
    let page = chat.messages(only).await.unwrap().messages;
    let history: Vec<Message> = chat.history().await.unwrap();
    let index = usize::try_from(sequence).unwrap();
    for read in [&page[0], &history[index], &chat.get_message(sequence).await.unwrap()] {
        assert_eq!(read.sequence, sequence);
        assert_same(&read.body, expected);
    }
}

async fn through_context(chat: &TestChat, value: &Value) {
    let data = as_object(value);
    let replaced = chat.replace_context(data.clone()).await.unwrap();
    assert_same_object(&replaced.data, &data);
    assert_same_object(&chat.load_context().await.unwrap().data, &data);
    // In a merge patch, a null in an array is a value; elsewhere it removes a key.
    for patch in [object(json!({"list": [value]})), as_object(value), object(json!({"in": value}))]
    {
        let mut expected = chat.load_context().await.unwrap().data;
        merge_patch(&mut expected, &patch);
        let merged = chat.merge_context(patch).await.unwrap();
        assert_same_object(&merged.data, &expected);
        assert_same_object(&chat.load_context().await.unwrap().data, &expected);
    }
}

async fn through_artifact(chat: &TestChat, value: &Value) {
    let artifact = NewArtifact { payload: value.clone(), ..NewArtifact::default() };
    let kept = chat.update_artifact(artifact).await.unwrap();
    assert_eq!(kept.payload.to_string(), value.to_string());
    let read = chat.get_artifact().await.unwrap().unwrap();
    assert_eq!(read.payload.to_string(), value.to_string());
}

async fn through_metadata(chat: &TestChat, value: &Value) {
    let expected = as_object(value);
    let filter = ChatFilter::default();
    let page = chat.store.list_chats(&chat.scope, &filter, 10, None).await;
    let listed = page.unwrap().chats.into_iter();
    let listed = listed.filter(|listed| listed.chat_id == chat.id);
    let moved = chat.set_status(ChatStatus::Paused, None).await;
    let read: Vec<_> = listed.chain([moved.unwrap(), chat.session().await]).collect();
    assert_eq!(read.len(), 3);
    for session in read {
        assert_same_object(&session.metadata, &expected);
    }
}

/// Makes a body that holds the value in every JSON field.
fn body_of(value: &Value) -> MessageBody {
    let extra = MessageBody::free_extra().map(|name| (name.to_owned(), value.clone()));
    MessageBody {
        metadata: Some(as_object(value)),
        extra: extra.into_iter().collect(),
        ..MessageBody::new("assistant", Some("Ada"), value.clone())
    }
}

fn with_body(id: &str, body: MessageBody) -> NewMessage {
    NewMessage { body, ..event(id, "") }
}

fn edit_to(value: &Value) -> MessageEdit {
    MessageEdit {
        content: Some(value.clone()),
        metadata: Some(as_object(value)),
        ..MessageEdit::default()
    }
}

/// Returns the value itself if it is an object, or else an object that holds it.
fn as_object(value: &Value) -> JsonObject {
    match value {
        Value::Object(object) => object.clone(),
        other => object(json!({"value": other})),
    }
}

#[track_caller]
fn assert_same(body: &MessageBody, expected: &MessageBody) {
    assert_eq!(body, expected);
    let json = |body: &MessageBody| json!([body.content, body.metadata, body.extra]).to_string();
    assert_eq!(json(body), json(expected));
}

/// Compares the texts, because equality of JSON values ignores the order of keys and the sign of zero.
#[track_caller]
fn assert_same_object(object: &JsonObject, expected: &JsonObject) {
    assert_eq!(json!(object).to_string(), json!(expected).to_string());
}

//! Appending messages: order, density, and which chats accept messages.

use std::collections::HashSet;
use std::sync::Arc;

use records::{
    ChatStatus, JsonObject, MessageBody, MessageEdit, NewChatSession, NewFork, NewMessage,
};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_refused, contents, event, message, new_chat,
    numbered, object, outcomes, sequences,
};
use persistence::{Outcome, Store, StoreError};

pub async fn sequences_count_from_0_through_singles_and_batches(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut next = 0;
    for size in [1, 3, 1, 100, 2] {
        let answer = chat.append(numbered(0..size)).await.unwrap();
        let expected: Vec<u64> = (next..next + size as u64).collect();
        next += size as u64;
        assert_eq!(sequences(&answer), expected);
        assert_eq!(outcomes(&answer), vec![Outcome::Stored; size]);
        assert_eq!(answer.last_sequence, next);
        assert_eq!(chat.session().await.last_sequence, next);
    }
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len() as u64, next);
    assert_dense(&messages);
}

pub async fn a_batch_is_stored_in_its_order(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let answer = chat.append((0..200).map(|n| event(&format!("e{n}"), n)));
    let ids: Vec<_> = answer.await.unwrap().messages;
    let messages = chat.history().await.unwrap();
    assert_eq!(contents(&messages), (0..200).map(Value::from).collect::<Vec<_>>());
    assert!(ids.iter().map(|m| &m.event_id).eq(messages.iter().map(|m| &m.event_id)));
}

pub async fn every_field_of_a_message_is_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let free = MessageBody::free_extra().map(|name| (name.to_owned(), json!([{"of": name}])));
    let others = MessageBody::EXTRA.into_iter().filter(|name| *name != MessageBody::PROVIDER);
    let mut extra = others.map(|name| (name.to_owned(), json!(name))).collect::<JsonObject>();
    extra.extend(free);
    extra.insert(MessageBody::PROVIDER.to_owned(), json!({"openai": {"a": 1}}));
    let full = MessageBody {
        role: "Größe $".to_owned(),
        name: Some("a.b$c".to_owned()),
        content: json!([{"type": "text", "text": ""}, null, 1.5]),
        timestamp: Some("2026-02-30T25:61:00+99:99, or so".to_owned()),
        metadata: Some(object(json!({"z": 1, "a": {"": false}}))),
        extra,
    };
    let bare = MessageBody::new("tool", None, Value::Null);
    let empty_name = MessageBody::new("user", Some(""), "");
    for body in [full, bare, empty_name] {
        let answer = chat.append([body.clone().into()]).await.unwrap();
        let stored = chat.get_message(answer.messages[0].sequence).await.unwrap();
        assert_eq!(stored.body, body);
        assert_eq!(stored.event_id, answer.messages[0].event_id);
        assert_eq!((stored.edited_at, stored.deleted_at), (None, None));
    }
}

pub async fn an_append_updates_the_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let before = chat.session().await;
    a_moment_passes().await;
    chat.append([message("hello")]).await.unwrap();
    let after = chat.whole().await;
    assert!(after.session.last_updated_at > before.last_updated_at);
    assert_eq!(after.messages[0].created_at, after.session.last_updated_at);
    assert_eq!(after.session.created_at, before.created_at);
}

pub async fn a_chat_has_the_speaker_of_its_last_message(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let said = |id: &str, role: &str, name: Option<&str>| {
        let body = MessageBody::new(role, name, "hello");
        NewMessage { body, ..event(id, "") }
    };
    let last = async || chat.session().await.last_speaker;
    assert_eq!(last().await, None);
    let first = said("e1", "assistant", Some("Planner"));
    chat.append([first.clone()]).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Planner"));
    chat.append([said("e2", "assistant", Some("Coder")), said("e3", "tool", None)]).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("tool"), "the role of a message without a name");
    chat.append([first]).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("tool"), "a repeat changes nothing");
    // So many that they are stored in a segment at once.
    let many = (0..40).map(|n| said(&format!("m{n}"), "assistant", Some(&format!("Agent {n}"))));
    chat.append(many.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Agent 39"));
}

/// A tombstone has its role only, and so has the chat whose last message it is.
pub async fn a_deleted_message_takes_its_name_with_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let last = async || chat.session().await.last_speaker;
    let said = |name: &str| NewMessage::from(MessageBody::new("assistant", Some(name), "hello"));
    // So many that they are stored in a segment at once.
    chat.append((0..40).map(|n| said(&format!("Agent {n}")))).await.unwrap();
    chat.delete_message(3).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Agent 39"), "an older message was deleted");
    let fork = chat.fork(NewFork::default()).await.unwrap();
    for chat in [&chat, &fork] {
        let deleted = chat.delete_message(39).await.unwrap();
        assert_eq!((deleted.body.role.as_str(), deleted.body.name), ("assistant", None));
    }
    assert_eq!(last().await.as_deref(), Some("assistant"));
    assert!(chat.history().await.unwrap()[38].body.name.is_some());
    chat.append([said("Coder")]).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Coder"));
    let renamed =
        |name: &str| MessageEdit { name: Some(name.to_owned()), ..MessageEdit::default() };
    chat.update_message(38, renamed("Other")).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Coder"), "an older message was renamed");
    chat.update_message(40, renamed("Writer")).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("Writer"));
    chat.delete_message(40).await.unwrap();
    assert_eq!(last().await.as_deref(), Some("assistant"));
}

pub async fn a_chat_has_the_last_connector_and_mode_of_its_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let with = |id: &str, extra: Value| {
        let body = MessageBody { extra: object(extra), ..MessageBody::new("user", None, id) };
        NewMessage { body, ..event(id, "") }
    };
    let last = async || {
        let session = chat.session().await;
        (session.last_connector, session.last_mode)
    };
    let text = |text: &str| Some(text.to_owned());
    chat.append([message("without either")]).await.unwrap();
    assert_eq!(last().await, (None, None));
    let first = with("e1", json!({"connector": "a", "mode": "chat"}));
    chat.append([first.clone(), with("e2", json!({"connector": "b"}))]).await.unwrap();
    assert_eq!(last().await, (text("b"), text("chat")), "of the last message that has one");
    chat.append([first, with("e3", json!({"mode": "task", "connector": null}))]).await.unwrap();
    assert_eq!(last().await, (text("b"), text("task")), "a repeat changes nothing");
    let many = (0..100).map(|n| with(&format!("m{n}"), json!({"connector": format!("c{n}")})));
    chat.append(many).await.unwrap();
    assert_eq!(last().await, (text("c99"), text("task")));
}

pub async fn equal_messages_without_ids_are_both_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("go on"), message("go on")]).await.unwrap();
    let third = chat.append([message("go on")]).await.unwrap();
    assert_eq!(sequences(&third), [2]);
    assert_eq!(chat.history().await.unwrap().len(), 3);
}

pub async fn missing_event_ids_are_minted_and_unique(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..50)).await.unwrap();
    chat.append([event("given", 50)]).await.unwrap();
    let messages = chat.history().await.unwrap();
    let ids: HashSet<_> = messages.iter().map(|m| m.event_id.as_str()).collect();
    assert_eq!(ids.len(), 51);
    assert!(ids.iter().all(|id| *id == "given" || id.starts_with("evt_")));
}

pub async fn appending_to_an_unknown_chat_is_refused_and_stores_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::unknown(&store);
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    assert_refused(chat.append([event("e", "lost?")]).await, &not_found);
    assert_refused(chat.persist_initial([message("lost?")]).await, &not_found);
    assert_eq!(chat.get().await.unwrap(), None);
    let new = NewChatSession { chat_id: Some(chat.id.clone()), ..new_chat() };
    store.create_chat(&chat.scope, new).await.unwrap();
    assert_eq!(chat.session().await.last_sequence, 0);
    assert_eq!(chat.history().await.unwrap(), []);
}

pub async fn an_ended_chat_accepts_no_messages(store: Arc<dyn Store>) {
    for status in [ChatStatus::Completed, ChatStatus::Failed] {
        let chat = TestChat::create(&store).await;
        chat.append([message("before")]).await.unwrap();
        chat.set_status(status, None).await.unwrap();
        let before = chat.whole().await;
        let chat_id = chat.id.clone();
        let ended = StoreError::ChatEnded { chat_id, status };
        assert_refused(chat.append([message("after")]).await, &ended);
        assert_refused(chat.persist_initial([message("after")]).await, &ended);
        assert_eq!(chat.whole().await, before);
    }
}

pub async fn paused_and_reopened_chats_accept_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("while running")]).await.unwrap();
    chat.set_status(ChatStatus::Paused, None).await.unwrap();
    let paused = chat.append([message("while paused")]).await.unwrap();
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    let reopened = chat.append([message("once reopened")]).await.unwrap();
    assert_eq!([sequences(&paused), sequences(&reopened)], [[1], [2]]);
}

/// Together the messages are larger than one database document can be.
pub async fn thirty_messages_of_900_kb_are_all_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let text = |n: usize| format!("{n}:").repeat(900_000 / format!("{n}:").len());
    for n in 0..30 {
        chat.append([event(&format!("e{n}"), text(n))]).await.unwrap();
    }
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 30);
    assert_dense(&messages);
    for (n, message) in messages.iter().enumerate() {
        assert!(message.body.content == text(n), "message {n} differs");
    }
    let repeated = chat.append([event("e3", text(3))]).await.unwrap();
    assert_eq!(sequences(&repeated), [3]);
}

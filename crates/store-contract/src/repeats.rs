//! Repeated appends: an `event_id` names one message of its chat forever.

use std::sync::Arc;

use records::{ChatStatus, MessageBody, NewMessage};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_invalid, assert_refused, event, event_id,
    message, object, outcomes, race, sequences,
};
use persistence::Outcome::{Duplicate, Stored};
use persistence::{Store, StoreError};

pub async fn appending_twice_with_one_event_id_keeps_one_message(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = chat.append([message("before"), event("e", "said once")]).await;
    assert_eq!(first.unwrap().messages[1].event_id, event_id("e"));
    chat.append([message("after")]).await.unwrap();
    let before = chat.whole().await;
    a_moment_passes().await;
    let again = chat.append([event("e", "said once")]).await.unwrap();
    assert_eq!(again.messages[0].event_id, event_id("e"));
    assert_eq!((sequences(&again), outcomes(&again)), (vec![1], vec![Duplicate]));
    assert_eq!(again.last_sequence, 3);
    assert_eq!(chat.whole().await, before);
}

pub async fn a_repeat_may_order_its_keys_differently(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let ordered = json!({"a": 1, "b": {"c": [], "d": null}});
    let reordered = json!({"b": {"d": null, "c": []}, "a": 1});
    let body = |value: &Value| MessageBody {
        metadata: Some(object(value.clone())),
        extra: object(json!({"tool_calls": value, "structured_output": value})),
        ..MessageBody::new("assistant", None, value.clone())
    };
    chat.append([with_id("e", body(&ordered))]).await.unwrap();
    let again = chat.append([with_id("e", body(&reordered))]).await.unwrap();
    assert_eq!(outcomes(&again), [Duplicate]);
    let mut extra_reordered = body(&ordered);
    extra_reordered.extra = body(&ordered).extra.into_iter().rev().collect();
    let again = chat.append([with_id("e", extra_reordered)]).await.unwrap();
    assert_eq!(outcomes(&again), [Duplicate]);
}

pub async fn a_batch_with_repeats_stores_only_new_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([event("a", 0), event("b", 1)]).await.unwrap();
    let batch = [event("c", 2), event("b", 1), message(3), event("a", 0), event("d", 4)];
    let answer = chat.append(batch).await.unwrap();
    assert_eq!(sequences(&answer), [2, 1, 3, 0, 4]);
    assert_eq!(outcomes(&answer), [Stored, Duplicate, Stored, Duplicate, Stored]);
    assert_eq!(answer.last_sequence, 5);
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert!(messages.iter().all(|m| m.body.content == m.sequence));
}

pub async fn a_repeat_within_one_batch_is_stored_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let batch = || [event("a", 0), event("b", 1), event("a", 0)];
    let first = chat.append(batch()).await.unwrap();
    assert_eq!(sequences(&first), [0, 1, 0]);
    assert_eq!(outcomes(&first), [Stored, Stored, Duplicate]);
    let second = chat.append(batch()).await.unwrap();
    assert_eq!(sequences(&second), [0, 1, 0]);
    assert_eq!(outcomes(&second), [Duplicate; 3]);
    assert_eq!(chat.session().await.last_sequence, 2);
}

pub async fn one_event_id_with_two_bodies_in_one_batch_is_invalid(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let before = chat.whole().await;
    let refused = chat.append([event("a", 0), event("b", 1), event("a", 2)]).await;
    assert_invalid(refused, "/messages/2/event_id", records::InvalidKind::Value);
    assert_eq!(chat.whole().await, before);
}

pub async fn an_event_id_with_another_body_refuses_the_whole_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let original = MessageBody {
        timestamp: Some("2026-01-01T00:00:00Z".to_owned()),
        metadata: Some(object(json!({"a": 1}))),
        extra: object(json!({"refusal": "no"})),
        ..MessageBody::new("user", Some("Ada"), "hello")
    };
    chat.append([message("before"), with_id("e", original.clone())]).await.unwrap();
    let before = chat.whole().await;
    let others = [
        MessageBody { role: "assistant".to_owned(), ..original.clone() },
        MessageBody { name: None, ..original.clone() },
        MessageBody { name: Some("Bob".to_owned()), ..original.clone() },
        MessageBody { content: json!("hello "), ..original.clone() },
        MessageBody { timestamp: None, ..original.clone() },
        MessageBody { metadata: Some(object(json!({"a": 2}))), ..original.clone() },
        MessageBody { extra: object(json!({"refusal": "yes"})), ..original.clone() },
        MessageBody { extra: object(json!({})), ..original.clone() },
    ];
    for other in others {
        let batch = [event("new", "new"), with_id("e", other)];
        assert_refused(chat.append(batch).await, &conflict(&chat, "e", 1, 1));
    }
    assert_eq!(chat.whole().await, before);
}

/// Bodies that a careless comparison treats as equal.
pub async fn similar_but_unequal_bodies_conflict(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let contents = [
        json!(1),
        json!(1.0),
        json!("1"),
        json!([1]),
        json!({"1": 1}),
        json!(true),
        json!("true"),
        json!(null),
        json!(""),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"": null}),
        json!([null]),
    ];
    for (sequence, content) in (0..).zip(&contents) {
        let id = format!("e{sequence}");
        chat.append([event(&id, content.clone())]).await.unwrap();
        for other in contents.iter().filter(|other| *other != content) {
            let refused = chat.append([event(&id, other.clone())]).await;
            assert_refused(refused, &conflict(&chat, &id, sequence, 0));
        }
    }
}

/// The same value in another field makes another body.
pub async fn a_value_moved_to_another_field_conflicts(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let in_metadata =
        MessageBody { metadata: Some(object(json!({"refusal": "no"}))), ..MessageBody::default() };
    let in_extra =
        MessageBody { extra: object(json!({"refusal": "no"})), ..MessageBody::default() };
    let body = |fields: &MessageBody| MessageBody { role: "user".to_owned(), ..fields.clone() };
    chat.append([with_id("e", body(&in_metadata))]).await.unwrap();
    let moved = chat.append([with_id("e", body(&in_extra))]).await;
    assert_refused(moved, &conflict(&chat, "e", 0, 0));
}

pub async fn repeats_and_conflicts_are_recognised_after_500_further_messages(
    store: Arc<dyn Store>,
) {
    let chat = TestChat::create(&store).await;
    chat.append([event("a", "first"), event("b", "second")]).await.unwrap();
    chat.append_filler().await;
    let before = chat.whole().await;
    let again = chat.append([event("b", "second"), event("a", "first")]).await.unwrap();
    assert_eq!((sequences(&again), outcomes(&again)), (vec![1, 0], vec![Duplicate; 2]));
    let refused = chat.append([event("new", ""), event("b", "other")]).await;
    assert_refused(refused, &conflict(&chat, "b", 1, 1));
    assert_eq!(chat.whole().await, before);
    let mixed = chat.append([event("a", "first"), event("new", ""), event("b", "second")]).await;
    assert_eq!(sequences(&mixed.unwrap()), [0, 502, 1]);
    assert_dense(&chat.history().await.unwrap());
}

pub async fn racing_callers_with_one_event_id_store_one_message(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("before")]).await.unwrap();
    let callers = (0..16).map(|_| {
        let chat = chat.clone();
        async move { chat.append([event("e", "once")]).await.unwrap() }
    });
    let answers = race(callers).await;
    assert!(answers.iter().all(|answer| sequences(answer) == [1]));
    let stored = answers.iter().filter(|answer| outcomes(answer) == [Stored]);
    assert_eq!(stored.count(), 1);
    assert_eq!(chat.session().await.last_sequence, 2);
}

pub async fn racing_batches_that_overlap_store_each_message_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let callers = (0..8).map(|start| {
        let chat = chat.clone();
        let batch: Vec<_> = (start..start + 6).map(|n| event(&format!("e{n}"), n)).collect();
        async move { chat.append(batch).await.unwrap() }
    });
    let answers = race(callers).await;
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 13);
    assert_dense(&messages);
    for appended in answers.iter().flat_map(|answer| &answer.messages) {
        let sequence = usize::try_from(appended.sequence).unwrap();
        assert_eq!(messages[sequence].event_id, appended.event_id);
    }
    let stored = answers.iter().flat_map(outcomes).filter(|outcome| *outcome == Stored);
    assert_eq!(stored.count(), 13);
}

pub async fn one_of_the_racing_bodies_under_one_event_id_wins(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let callers = (0..8).map(|n| {
        let chat = chat.clone();
        async move { (n, chat.append([event("e", n)]).await) }
    });
    let answers = race(callers).await;
    let stored = chat.history().await.unwrap();
    assert_eq!(stored.len(), 1);
    for (n, answer) in answers {
        if stored[0].body.content == n {
            assert_eq!(outcomes(&answer.unwrap()), [Stored]);
        } else {
            assert_refused(answer, &conflict(&chat, "e", 0, 0));
        }
    }
}

pub async fn a_repeat_succeeds_after_the_chat_has_ended(store: Arc<dyn Store>) {
    for status in [ChatStatus::Completed, ChatStatus::Failed] {
        let chat = TestChat::create(&store).await;
        chat.append([event("a", 0), event("b", 1)]).await.unwrap();
        chat.append_filler().await;
        chat.append([event("c", 502)]).await.unwrap();
        chat.set_status(status, None).await.unwrap();
        let before = chat.whole().await;
        let again = chat.append([event("c", 502), event("b", 1)]).await.unwrap();
        assert_eq!((sequences(&again), outcomes(&again)), (vec![502, 1], vec![Duplicate; 2]));
        let chat_id = chat.id.clone();
        let with_news = chat.append([event("a", 0), event("new", 2)]).await;
        assert_refused(with_news, &StoreError::ChatEnded { chat_id, status });
        let other_body = chat.append([event("a", 9)]).await;
        assert_refused(other_body, &conflict(&chat, "a", 0, 0));
        assert_eq!(chat.whole().await, before);
    }
}

pub async fn an_event_id_belongs_to_its_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let neighbour = TestChat::create_in(&chat.scope, &store, super::fixture::new_chat()).await;
    chat.append([message(0), event("e", "here")]).await.unwrap();
    let answer = neighbour.append([event("e", "there")]).await.unwrap();
    assert_eq!((sequences(&answer), outcomes(&answer)), (vec![0], vec![Stored]));
}

fn with_id(id: &str, body: MessageBody) -> NewMessage {
    NewMessage { event_id: Some(event_id(id)), ..body.into() }
}

fn conflict(chat: &TestChat, id: &str, sequence: u64, index: usize) -> StoreError {
    StoreError::EventConflict { chat_id: chat.id.clone(), event_id: event_id(id), sequence, index }
}

//! The messages from which a workflow starts: they are stored once, however often the workflow
//! sends them.

use std::sync::Arc;

use records::{ChatStatus, MessageBody, NewMessage};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, assert_refused, contents, event, event_id, message, new_content,
    numbered, outcomes, race, sequences,
};
use persistence::Outcome::{self, Duplicate, Stored};
use persistence::{Append, Store, StoreError};

pub async fn initial_messages_are_appended_in_their_order(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let answer = chat.persist_initial([message("a"), event("b", "b"), message("c")]).await.unwrap();
    assert_answer(&answer, &[(0, Stored), (1, Stored), (2, Stored)]);
    assert_eq!(answer.last_sequence, 3);
    let messages = chat.history().await.unwrap();
    assert_eq!(contents(&messages), ["a", "b", "c"]);
    let ids = answer.messages.iter().map(|m| &m.event_id);
    assert!(ids.eq(messages.iter().map(|m| &m.event_id)));
}

pub async fn repeated_initial_messages_without_ids_are_recognised(store: Arc<dyn Store>) {
    for count in [1, 2, 5, 200] {
        let chat = TestChat::create(&store).await;
        chat.append([message("something before")]).await.unwrap();
        let first = chat.persist_initial(numbered(0..count)).await.unwrap();
        let before = chat.whole().await;
        a_moment_passes().await;
        let again = chat.persist_initial(numbered(0..count)).await.unwrap();
        assert!(again.messages.iter().all(|m| m.outcome == Duplicate));
        let names = |answer: &Append| -> Vec<_> {
            answer.messages.iter().map(|m| (m.sequence, m.event_id.clone())).collect()
        };
        assert_eq!(names(&again), names(&first));
        assert_eq!(chat.whole().await, before);
    }
}

/// Messages at the end of a chat are among the newest, in the tail or in a segment.
pub async fn initial_messages_are_recognised_at_the_end_of_a_long_chat(store: Arc<dyn Store>) {
    for length in [62, 63, 64, 65, 500] {
        let chat = TestChat::create(&store).await;
        chat.append(numbered(0..length)).await.unwrap();
        let again = chat.persist_initial(numbered(length - 3..length)).await.unwrap();
        assert_eq!(outcomes(&again), [Duplicate; 3], "{length} messages");
        assert_eq!(chat.session().await.last_sequence, length as u64);
    }
}

pub async fn structured_content_is_recognised_by_its_structure(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let content = json!({"task": {"a": 1, "b": [{"c": null, "d": 0.5}]}});
    let reordered = json!({"task": {"b": [{"d": 0.5, "c": null}], "a": 1}});
    chat.persist_initial([message(content.clone())]).await.unwrap();
    let again = chat.persist_initial([message(reordered)]).await.unwrap();
    assert_answer(&again, &[(0, Duplicate)]);
    let others = [
        json!({"task": {"a": 1, "b": [{"c": null}]}}),
        json!({"task": {"a": "1", "b": [{"c": null, "d": 0.5}]}}),
        json!({"task": {"a": 1, "b": {"c": null, "d": 0.5}}}),
        Value::from(content.to_string()),
    ];
    for (sequence, other) in (1..).zip(others) {
        let answer = chat.persist_initial([message(other)]).await.unwrap();
        assert_answer(&answer, &[(sequence, Stored)]);
    }
}

pub async fn messages_are_compared_by_role_and_not_by_name(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let said_by =
        |role: &str, name: &str| [NewMessage::from(MessageBody::new(role, Some(name), "begin"))];
    chat.persist_initial(said_by("user", "Ada")).await.unwrap();
    let renamed = chat.persist_initial(said_by("user", "Bob")).await.unwrap();
    assert_answer(&renamed, &[(0, Duplicate)]);
    let other_role = chat.persist_initial(said_by("system", "Ada")).await.unwrap();
    assert_answer(&other_role, &[(1, Stored)]);
}

pub async fn initial_messages_with_ids_are_compared_by_id_only(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([event("a", "begin")]).await.unwrap();
    let same_text = chat.persist_initial([event("b", "begin")]).await.unwrap();
    assert_answer(&same_text, &[(1, Stored)]);
    chat.append_filler().await;
    let again = chat.persist_initial([event("a", "begin"), event("b", "begin")]).await.unwrap();
    assert_answer(&again, &[(0, Duplicate), (1, Duplicate)]);
    let other_body = chat.persist_initial([message("new"), event("b", "other")]).await;
    let conflict = StoreError::EventConflict {
        chat_id: chat.id.clone(),
        event_id: event_id("b"),
        sequence: 1,
        index: 1,
    };
    assert_refused(other_body, &conflict);
    assert_eq!(chat.session().await.last_sequence, 502);
}

pub async fn only_messages_after_the_overlap_are_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("a"), message("b")]).await.unwrap();
    let longer = chat.persist_initial([message("a"), message("b"), message("c")]).await.unwrap();
    assert_answer(&longer, &[(0, Duplicate), (1, Duplicate), (2, Stored)]);
    let shifted = chat.persist_initial([message("c"), message("d")]).await.unwrap();
    assert_answer(&shifted, &[(2, Duplicate), (3, Stored)]);
}

pub async fn messages_that_are_no_longer_the_newest_are_stored_again(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("a")]).await.unwrap();
    chat.append([message("x")]).await.unwrap();
    let again = chat.persist_initial([message("a")]).await.unwrap();
    assert_answer(&again, &[(2, Stored)]);
}

pub async fn one_of_equal_adjacent_messages_is_kept(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let call = || ["a", "a", "b", "a"].map(message);
    let first = chat.persist_initial(call()).await.unwrap();
    assert_answer(&first, &[(0, Stored), (0, Duplicate), (1, Stored), (2, Stored)]);
    let again = chat.persist_initial(call()).await.unwrap();
    assert_answer(&again, &[(0, Duplicate), (0, Duplicate), (1, Duplicate), (2, Duplicate)]);
    assert_eq!(contents(&chat.history().await.unwrap()), ["a", "b", "a"]);
}

pub async fn an_equal_adjacent_message_with_an_id_is_kept(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let answer = chat.persist_initial([message("a"), event("id", "a")]).await.unwrap();
    assert_answer(&answer, &[(0, Stored), (1, Stored)]);
}

pub async fn messages_after_a_new_one_are_not_compared_with_old_ones(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("a")]).await.unwrap();
    let answer = chat.persist_initial([event("id", "new"), message("a")]).await.unwrap();
    assert_answer(&answer, &[(1, Stored), (2, Stored)]);
}

pub async fn messages_after_a_known_one_are_not_compared_with_earlier_ones(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("a"), event("id", "known")]).await.unwrap();
    let answer = chat.persist_initial([event("id", "known"), message("a")]).await.unwrap();
    assert_answer(&answer, &[(1, Duplicate), (2, Stored)]);
}

pub async fn initial_messages_with_and_without_ids_are_recognised_together(store: Arc<dyn Store>) {
    let calls = [
        [message("a"), event("id", "b"), message("c")],
        [event("id", "a"), message("b"), message("c")],
        [message("a"), message("b"), event("id", "c")],
    ];
    for call in calls {
        let chat = TestChat::create(&store).await;
        chat.persist_initial(call.clone()).await.unwrap();
        let again = chat.persist_initial(call).await.unwrap();
        assert_answer(&again, &[(0, Duplicate), (1, Duplicate), (2, Duplicate)]);
    }
}

pub async fn eight_racing_callers_store_one_copy(store: Arc<dyn Store>) {
    let calls = [
        vec![message("a")],
        vec![message(json!({"a": 1, "b": 2})), message("b")],
        vec![message("a"), message("a"), message("b")],
        vec![event("id", "a"), message("b")],
        vec![message("a"), event("id", "b"), message("c")],
    ];
    for call in calls {
        let chat = TestChat::create(&store).await;
        let racers = (0..8).map(|_| {
            let (chat, call) = (chat.clone(), call.clone());
            async move { chat.persist_initial(call).await.unwrap() }
        });
        let answers = race(racers).await;
        let stored = chat.history().await.unwrap();
        let is_stored = |outcome: &Outcome| *outcome == Stored;
        let acknowledged = answers.iter().flat_map(outcomes).filter(is_stored).count();
        assert_eq!(stored.len(), acknowledged, "{call:?}");
        assert!(answers.iter().all(|answer| sequences(answer) == sequences(&answers[0])));
        let mut expected = call.clone();
        expected.dedup_by(|a, b| a.body == b.body);
        assert!(contents(&stored).iter().eq(expected.iter().map(|m| &m.body.content)));
    }
}

pub async fn an_equal_message_appended_afterwards_is_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("begin")]).await.unwrap();
    let appended = chat.append([message("begin")]).await.unwrap();
    assert_answer(&appended, &[(1, Stored)]);
}

pub async fn a_deleted_message_is_not_recognised(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("begin")]).await.unwrap();
    chat.delete_message(0).await.unwrap();
    for (sequence, content) in [(1, json!(null)), (2, json!("begin"))] {
        let answer = chat.persist_initial([message(content)]).await.unwrap();
        assert_answer(&answer, &[(sequence, Stored)]);
    }
}

pub async fn an_edited_message_is_recognised_by_its_current_content(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("draft")]).await.unwrap();
    chat.update_message(0, new_content("final")).await.unwrap();
    let edited = chat.persist_initial([message("final")]).await.unwrap();
    assert_answer(&edited, &[(0, Duplicate)]);
    let original = chat.persist_initial([message("draft")]).await.unwrap();
    assert_answer(&original, &[(1, Stored)]);
}

pub async fn an_ended_chat_recognises_known_messages_and_refuses_new_ones(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.persist_initial([message("begin")]).await.unwrap();
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let before = chat.whole().await;
    let again = chat.persist_initial([message("begin")]).await.unwrap();
    assert_answer(&again, &[(0, Duplicate)]);
    let new = chat.persist_initial([message("begin"), message("more")]).await;
    let (chat_id, status) = (chat.id.clone(), ChatStatus::Completed);
    assert_refused(new, &StoreError::ChatEnded { chat_id, status });
    assert_eq!(chat.whole().await, before);
}

#[track_caller]
fn assert_answer(answer: &Append, expected: &[(u64, Outcome)]) {
    let messages = &answer.messages;
    let given: Vec<_> = messages.iter().map(|m| (m.sequence, m.outcome)).collect();
    assert_eq!(given, expected);
}

//! Callers that write to and read one chat at the same time.

use std::sync::Arc;

use records::{ChatStatus, Limits};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, assert_dense, contents, event, message, new_chat, new_content, race, sequences,
};
use persistence::{MessageRange, Store, StoreError};

/// Sixteen writers send fifty messages each, and send every tenth message twice.
pub async fn racing_writers_leave_no_gap_and_no_duplicate(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writers = (0..16).map(|writer| {
        let chat = chat.clone();
        async move {
            let mut given = Vec::new();
            for n in 0..50 {
                let say = || chat.append([event(&format!("{writer}-{n}"), json!([writer, n]))]);
                let answer = if n % 10 == 0 {
                    let (first, second) = tokio::join!(say(), say());
                    assert_eq!(sequences(&first.unwrap()), sequences(second.as_ref().unwrap()));
                    second
                } else {
                    say().await
                };
                given.push((answer.unwrap().messages[0].sequence, json!([writer, n])));
            }
            given
        }
    });
    let given_in_order =
        |given: &Vec<(u64, Value)>| given.is_sorted_by_key(|(sequence, _)| *sequence);
    let answers = race(writers).await;
    assert!(answers.iter().all(given_in_order));
    let mut given = answers.concat();
    given.sort_by_key(|(sequence, _)| *sequence);
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 800);
    assert_dense(&messages);
    assert_eq!(
        contents(&messages),
        given.into_iter().map(|(_, content)| content).collect::<Vec<_>>()
    );
    assert_eq!(chat.session().await.last_sequence, 800);
}

pub async fn readers_see_racing_batches_whole_in_order_or_not_at_all(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writers = (0..4).map(|writer| {
        let chat = chat.clone();
        async move {
            for batch in 0..20 {
                let messages = (0..5).map(|n| message(json!([writer, batch, n])));
                chat.append(messages).await.unwrap();
            }
        }
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    while !writing.is_finished() {
        let seen = chat.messages(MessageRange::all()).await.unwrap();
        assert_eq!(seen.messages.len() as u64, seen.last_sequence);
        assert_eq!(seen.messages.len() % 5, 0, "a partial batch was read");
        assert_dense(&seen.messages);
        assert_dense(&chat.history().await.unwrap());
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
    let messages = contents(&chat.history().await.unwrap());
    assert_eq!(messages.len(), 4 * 20 * 5);
    for batch in messages.chunks(5) {
        let (writer, number) = (&batch[0][0], &batch[0][1]);
        let expected: Vec<_> = (0..5).map(|n| json!([writer, number, n])).collect();
        assert_eq!(batch, expected);
    }
}

pub async fn completion_and_racing_appends_agree_on_what_was_stored(store: Arc<dyn Store>) {
    // Far more messages than are appended before the completion.
    const PLENTY: u64 = 500;
    let chat = TestChat::create(&store).await;
    let writers = (0..8).map(|writer| {
        let chat = chat.clone();
        async move {
            for n in 0..PLENTY {
                match chat.append([message(json!([writer, n]))]).await {
                    Ok(_) => {}
                    Err(StoreError::ChatEnded { .. }) => return n,
                    Err(other) => panic!("{other:?}"),
                }
            }
            PLENTY
        }
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    while chat.session().await.last_sequence < 20 {
        tokio::task::yield_now().await;
    }
    let completed = chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let acknowledged: u64 = writing.await.unwrap().into_iter().sum();
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len() as u64, acknowledged);
    assert_eq!(completed.last_sequence, acknowledged);
    assert_dense(&messages);
}

pub async fn racing_appends_to_different_chats_are_independent(store: Arc<dyn Store>) {
    let first = TestChat::create(&store).await;
    let mut chats = vec![first.clone()];
    for _ in 0..7 {
        chats.push(TestChat::create_in(&first.scope, &store, new_chat()).await);
    }
    let writers = (0..32).map(|n| {
        let chat = chats[n % chats.len()].clone();
        async move {
            for round in 0..5 {
                let id = format!("{}-{round}", n / 8);
                chat.append([event(&id, chat.id.as_str())]).await.unwrap();
            }
        }
    });
    race(writers).await;
    for chat in chats {
        let messages = chat.history().await.unwrap();
        assert_eq!(messages.len(), 20);
        assert_dense(&messages);
        assert!(messages.iter().all(|message| message.body.content == chat.id.as_str()));
    }
}

pub async fn a_refused_append_does_not_affect_racing_appends(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([event("taken", "original")]).await.unwrap();
    let writers = (0..16).map(|n| {
        let chat = chat.clone();
        let id = if n % 2 == 0 { "taken".to_owned() } else { format!("e{n}") };
        async move { (n, chat.append([event(&id, n)]).await) }
    });
    for (n, answer) in race(writers).await {
        if n % 2 == 0 {
            assert!(matches!(answer, Err(StoreError::EventConflict { .. })), "{answer:?}");
        } else {
            let sequence = sequences(&answer.unwrap())[0];
            assert_eq!(chat.get_message(sequence).await.unwrap().body.content, n);
        }
    }
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 9);
    assert_dense(&messages);
}

/// Together the messages are larger than one database document can be.
pub async fn racing_appends_of_the_largest_messages_are_all_stored(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writers = (0..5).map(|n| {
        let chat = chat.clone();
        let text = n.to_string().repeat(Limits::MESSAGE_BYTES - 64);
        async move { chat.append([event(&format!("e{n}"), text)]).await.unwrap() }
    });
    race(writers).await;
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 5);
    assert_dense(&messages);
    for message in messages {
        let text = message.body.content.as_str().unwrap();
        let n = message.event_id.as_str().strip_prefix('e').unwrap();
        assert!(text == n.repeat(Limits::MESSAGE_BYTES - 64), "message {n} differs");
    }
}

pub async fn racing_edits_of_different_messages_all_survive(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append_filler().await;
    let end = 500;
    let edited: Vec<u64> = (0..8).chain(end - 8..end).collect();
    let editors = edited.clone().into_iter().map(|sequence| {
        let chat = chat.clone();
        async move {
            let edit = new_content(format!("edited {sequence}"));
            chat.update_message(sequence, edit).await.unwrap();
        }
    });
    let writer = chat.clone();
    let writing = tokio::spawn(async move { writer.append_filler().await });
    race(editors).await;
    writing.await.unwrap();
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert_eq!(messages.len() as u64, end + 500);
    for message in messages.iter().filter(|m| m.sequence < end) {
        let is_edited = edited.contains(&message.sequence);
        assert_eq!(message.edited_at.is_some(), is_edited);
        let changed = json!(format!("edited {}", message.sequence));
        assert_eq!(message.body.content == changed, is_edited);
    }
}

pub async fn a_deletion_wins_over_racing_edits(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append_filler().await;
    for sequence in [0, 499] {
        let editors = (0..8).map(|n| {
            let chat = chat.clone();
            async move {
                match chat.update_message(sequence, new_content(n)).await {
                    Ok(edited) => assert_eq!(edited.body.content, n),
                    Err(error) => assert!(matches!(error, StoreError::MessageNotFound { .. })),
                }
            }
        });
        let deleter = chat.clone();
        let deleting = tokio::spawn(async move { deleter.delete_message(sequence).await.unwrap() });
        race(editors).await;
        let tombstone = deleting.await.unwrap();
        assert_eq!(tombstone.body.content, Value::Null);
        assert_eq!(chat.get_message(sequence).await.unwrap(), tombstone);
    }
}

pub async fn readers_see_every_message_once_while_old_ones_grow(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append_filler().await;
    let editor = chat.clone();
    let growing = tokio::spawn(async move {
        for sequence in (0..40).rev() {
            let large = new_content("x".repeat(100_000));
            editor.update_message(sequence, large).await.unwrap();
        }
    });
    while !growing.is_finished() {
        let messages = chat.history().await.unwrap();
        assert_eq!(messages.len(), 500);
        assert_dense(&messages);
        tokio::task::yield_now().await;
    }
    growing.await.unwrap();
}

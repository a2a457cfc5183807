//! Reading the messages that a filter admits.

use std::sync::Arc;

use records::{Message, MessageBody, MessageEdit, NewMessage};
use serde_json::{Value, json};

use super::fixture::{TestChat, assert_refused, event, message, object};
use persistence::{FilteredPage, MessageFilter, MessageRange, Store, StoreError};

pub async fn a_filter_selects_messages_by_their_fields(store: Arc<dyn Store>) {
    let chat = mixed_chat(&store).await;
    let all = chat.history().await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let none = MessageFilter::default();
    for filter in [
        none.clone(),
        MessageFilter { role: text("assistant"), ..none.clone() },
        MessageFilter { role: text("Assistant"), ..none.clone() },
        MessageFilter { request_id: text("r1"), ..none.clone() },
        MessageFilter { block_id: text("b0"), ..none.clone() },
        MessageFilter { thread_id: text("t2"), ..none.clone() },
        MessageFilter { kind: text("image"), ..none.clone() },
        MessageFilter { kind: text("image"), role: text("user"), ..none.clone() },
        MessageFilter { kind: text(""), ..none.clone() },
    ] {
        let expected: Vec<_> =
            all.iter().filter(|message| filter.admits(&message.body)).cloned().collect();
        for limit in [3, 50, usize::MAX] {
            assert_eq!(forward(&chat, &filter, limit).await, expected, "{filter:?}");
            assert_eq!(backward(&chat, &filter, limit).await, expected, "{filter:?}");
        }
        let range = MessageRange::Oldest { after: Some(9), before: Some(200), limit: usize::MAX };
        let page = read(&chat, range, &filter).await.unwrap();
        let within = |message: &&Message| (10..200).contains(&message.sequence);
        assert!(page.messages.iter().eq(expected.iter().filter(within)), "{filter:?}");
        assert_eq!((page.last_sequence, page.next), (all.len() as u64, None));
    }
    let unknown = TestChat::unknown(&store);
    let refused = read(&unknown, MessageRange::all(), &none).await;
    assert_refused(refused, &StoreError::ChatNotFound(unknown.id.clone()));
}

pub async fn a_filter_sees_what_messages_are_now(store: Arc<dyn Store>) {
    let chat = mixed_chat(&store).await;
    // An edit of a message that a fork shares is stored elsewhere than one in a segment or in the tail.
    let fork = chat.fork_at(100).await;
    let images = MessageFilter { kind: Some("image".to_owned()), ..MessageFilter::default() };
    let count = async |chat: &TestChat| forward(chat, &images, 100).await.len();
    let (of_chat, of_fork) = (count(&chat).await, count(&fork).await);
    for sequence in [1, 299] {
        let kind = Some("image".to_owned());
        let edit = MessageEdit { kind, ..MessageEdit::default() };
        chat.update_message(sequence, edit).await.unwrap();
    }
    assert_eq!(count(&chat).await, of_chat + 2);
    let sequence = forward(&chat, &images, 1).await[0].sequence;
    chat.delete_message(sequence).await.unwrap();
    assert_eq!(count(&chat).await, of_chat + 1);
    assert_eq!(count(&fork).await, of_fork);
    let role = Some(chat.get_message(sequence).await.unwrap().body.role);
    let of_role = forward(&chat, &MessageFilter { role, ..MessageFilter::default() }, 100).await;
    assert!(of_role.iter().any(|message| message.sequence == sequence), "a tombstone has a role");
}

pub async fn a_filtered_page_examines_a_bounded_number_of_messages(store: Arc<dyn Store>) {
    const MOST: u64 = FilteredPage::MESSAGES as u64;
    let chat = TestChat::create(&store).await;
    chat.append([said("first", json!({"type": "rare"}))]).await.unwrap();
    for _ in 0..(MOST / 1_000) {
        chat.append((0..1_000).map(message)).await.unwrap();
    }
    chat.append([said("last", json!({"type": "rare"}))]).await.unwrap();
    let rare = MessageFilter { kind: Some("rare".to_owned()), ..MessageFilter::default() };
    let page = read(&chat, MessageRange::all(), &rare).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![0], Some(MOST - 1)));
    let after = MessageRange::Oldest { after: page.next, before: None, limit: 10 };
    let page = read(&chat, after, &rare).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![MOST + 1], None));
    let newest = MessageRange::Newest { before: None, limit: 10 };
    let page = read(&chat, newest, &rare).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![MOST + 1], Some(2)));
    let unknown = MessageFilter { kind: Some("unknown".to_owned()), ..MessageFilter::default() };
    let page = read(&chat, newest, &unknown).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![], Some(2)), "an empty page with a next one");
}

pub async fn a_filtered_page_examines_a_bounded_number_of_bytes(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for _ in 0..8 {
        chat.append([message("x".repeat(3 << 20))]).await.unwrap();
    }
    chat.append([said("last", json!({"type": "rare"}))]).await.unwrap();
    let rare = MessageFilter { kind: Some("rare".to_owned()), ..MessageFilter::default() };
    let page = read(&chat, MessageRange::all(), &rare).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![], Some(4)));
    // A page of admitted messages ends like any other.
    let page = read(&chat, MessageRange::all(), &MessageFilter::default()).await.unwrap();
    assert_eq!((sequences(&page), page.next), (vec![0], Some(0)));
    assert_eq!(sequence_list(&forward(&chat, &rare, 10).await), [8]);
}

/// Creates a chat of 300 messages with different roles, types, threads, blocks and turns.
async fn mixed_chat(store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for start in (0..300).step_by(60) {
        let mixed = |n: u64| {
            let kind = if n.is_multiple_of(5) { "image" } else { "text" };
            let extra = json!({
                "type": kind, "thread_id": format!("t{}", n % 3), "block_id": format!("b{}", n % 7),
                "request_id": format!("r{}", n / 100),
            });
            let mut said = said(&n.to_string(), extra);
            if n.is_multiple_of(2) {
                "assistant".clone_into(&mut said.body.role);
            }
            said
        };
        chat.append((start..start + 60).map(mixed)).await.unwrap();
    }
    chat
}

fn said(id: &str, extra: Value) -> NewMessage {
    let body = MessageBody { extra: object(extra), ..MessageBody::new("user", None, id) };
    NewMessage { body, ..event(id, "") }
}

fn sequences(page: &FilteredPage) -> Vec<u64> {
    sequence_list(&page.messages)
}

fn sequence_list(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.sequence).collect()
}

async fn read(
    chat: &TestChat,
    range: MessageRange,
    filter: &MessageFilter,
) -> Result<FilteredPage, StoreError> {
    chat.store.filtered_messages(&chat.scope, &chat.id, range, filter).await
}

/// Reads all pages from the oldest message on.
async fn forward(chat: &TestChat, filter: &MessageFilter, limit: usize) -> Vec<Message> {
    let (mut read_so_far, mut after) = (Vec::new(), None);
    loop {
        let range = MessageRange::Oldest { after, before: None, limit };
        let page = read(chat, range, filter).await.unwrap();
        assert!(page.messages.len() <= limit);
        read_so_far.extend(page.messages);
        assert!(page.next.is_none() || page.next > after, "a page makes progress");
        let Some(next) = page.next else { return read_so_far };
        after = Some(next);
    }
}

/// Reads all pages backwards from the newest message, and returns the messages in the order of the chat.
async fn backward(chat: &TestChat, filter: &MessageFilter, limit: usize) -> Vec<Message> {
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let range = MessageRange::Newest { before, limit };
        let page = read(chat, range, filter).await.unwrap();
        assert!(page.messages.len() <= limit);
        pages.push(page.messages);
        let Some(next) = page.next else { break };
        assert!(before.is_none_or(|before| next < before), "a page makes progress");
        before = Some(next);
    }
    pages.reverse();
    pages.concat()
}

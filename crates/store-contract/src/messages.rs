//! Reading one message, a range, or the history.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use records::Message;

use super::fixture::{
    TestChat, assert_dense, assert_refused, contents, event_id, message, numbered,
};
use persistence::{MessageRange, Store, StoreError, Transcript};

pub async fn old_and_new_messages_are_found_by_their_ids(store: Arc<dyn Store>) {
    let chat = chat_of(300, &store).await;
    let all = chat.history().await.unwrap();
    let find = async |event_id| store.get_message_by_id(&chat.scope, &chat.id, event_id).await;
    for message in [&all[0], &all[150], &all[299]] {
        assert_eq!(find(&message.event_id).await.unwrap().as_ref(), Some(message));
    }
    assert_eq!(find(&event_id("nobody")).await.unwrap(), None);
    let stranger = TestChat::unknown(&store);
    let found = store.get_message_by_id(&stranger.scope, &stranger.id, &all[0].event_id).await;
    assert_refused(found, &StoreError::ChatNotFound(stranger.id));
}

pub async fn a_range_equals_a_slice_of_the_history(store: Arc<dyn Store>) {
    let chat = chat_of(300, &store).await;
    let all = chat.history().await.unwrap();
    let afters = [None, Some(0), Some(31), Some(149), Some(298), Some(299), Some(u64::MAX)];
    let befores = [None, Some(0), Some(1), Some(150), Some(299), Some(300), Some(u64::MAX)];
    for limit in [1, 40, usize::MAX] {
        for before in befores {
            let range = MessageRange::Newest { before, limit };
            let expected = newest(&all, before, limit);
            assert_eq!(chat.messages(range).await.unwrap(), expected, "{range:?}");
            for after in afters {
                let range = MessageRange::Oldest { after, before, limit };
                let expected = oldest(&all, after, before, limit);
                assert_eq!(chat.messages(range).await.unwrap(), expected, "{range:?}");
            }
        }
    }
}

pub async fn pages_of_any_size_join_into_the_history(store: Arc<dyn Store>) {
    let chat = chat_of(300, &store).await;
    let all = chat.history().await.unwrap();
    for limit in [7, 32, 100, 299, 300] {
        assert_eq!(forward_pages(&chat, limit).await.concat(), all, "{limit}");
        assert_eq!(backward_pages(&chat, limit).await.concat(), all, "{limit}");
    }
}

pub async fn a_chat_without_messages_reads_as_empty(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let newest = MessageRange::Newest { before: None, limit: 10 };
    for range in [MessageRange::all(), newest] {
        let expected = Transcript { last_sequence: 0, messages: Vec::new(), has_more: false };
        assert_eq!(chat.messages(range).await.unwrap(), expected);
    }
    assert_eq!(chat.history().await.unwrap(), []);
}

pub async fn the_history_streams_everything_in_order(store: Arc<dyn Store>) {
    let chat = chat_of(1_234, &store).await;
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert!(
        contents(&messages).into_iter().eq(numbered(0..1_234).into_iter().map(|m| m.body.content))
    );
}

pub async fn a_history_excludes_messages_appended_while_it_is_read(store: Arc<dyn Store>) {
    let chat = chat_of_8_mib(&store).await;
    let mut history = chat.store.history(&chat.scope, &chat.id);
    let mut read = vec![history.try_next().await.unwrap().unwrap()];
    chat.append(numbered(16..50)).await.unwrap();
    read.extend(history.try_collect::<Vec<_>>().await.unwrap());
    assert_dense(&read);
    assert_eq!(read.len(), 16);
}

pub async fn an_edit_while_the_history_is_read_affects_unread_messages_at_most(
    store: Arc<dyn Store>,
) {
    let chat = chat_of_8_mib(&store).await;
    let mut history = chat.store.history(&chat.scope, &chat.id);
    let mut read = vec![history.try_next().await.unwrap().unwrap()];
    for sequence in [0, 1, 15] {
        chat.delete_message(sequence).await.unwrap();
    }
    read.extend(history.try_collect::<Vec<_>>().await.unwrap());
    assert_dense(&read);
    assert_eq!(read[0].deleted_at, None);
    let is_deleted = |message: &Message| message.deleted_at.is_some();
    let may_show = |message: &Message| [1, 15].contains(&message.sequence);
    assert!(read.iter().all(|message| !is_deleted(message) || may_show(message)));
}

pub async fn the_history_of_an_unknown_chat_is_one_error(store: Arc<dyn Store>) {
    let chat = TestChat::unknown(&store);
    let mut history = chat.store.history(&chat.scope, &chat.id);
    assert_refused(history.try_next().await, &StoreError::ChatNotFound(chat.id.clone()));
    assert!(history.next().await.is_none());
}

pub async fn a_message_is_found_by_its_sequence(store: Arc<dyn Store>) {
    let chat = chat_of(300, &store).await;
    let all = chat.history().await.unwrap();
    for sequence in [0, 1, 31, 32, 150, 298, 299] {
        let index = usize::try_from(sequence).unwrap();
        assert_eq!(chat.get_message(sequence).await.unwrap(), all[index]);
    }
    for sequence in [300, 301, i64::MAX as u64, u64::MAX] {
        let chat_id = chat.id.clone();
        let expected = StoreError::MessageNotFound { chat_id, sequence };
        assert_refused(chat.get_message(sequence).await, &expected);
    }
}

pub async fn a_page_ends_past_4_mib_and_the_next_continues_there(store: Arc<dyn Store>) {
    const MESSAGE: usize = 225_000;
    const PAGE: usize = 4 << 20;
    let chat = TestChat::create(&store).await;
    for n in 0..30 {
        chat.append([message(n.to_string().repeat(MESSAGE / n.to_string().len()))]).await.unwrap();
    }
    let all = chat.history().await.unwrap();
    let size = |page: &Vec<Message>| MESSAGE * page.len();
    for pages in [forward_pages(&chat, 1_000).await, backward_pages(&chat, 1_000).await] {
        assert!(pages.concat() == all, "the pages join into the history");
        assert_eq!(pages.len(), 2);
        let largest = pages.iter().map(size).max().unwrap_or_default();
        assert!(largest.abs_diff(PAGE) <= MESSAGE, "{largest} bytes in a page");
    }
}

/// Creates sixteen messages that are together larger than the window of a history stream.
async fn chat_of_8_mib(store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for n in 0..16 {
        chat.append([message(n.to_string().repeat(400_000))]).await.unwrap();
    }
    chat
}

async fn chat_of(count: usize, store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for start in (0..count).step_by(100) {
        chat.append(numbered(start..count.min(start + 100))).await.unwrap();
    }
    chat
}

fn oldest(all: &[Message], after: Option<u64>, before: Option<u64>, limit: usize) -> Transcript {
    let mut messages = all.to_vec();
    messages.retain(|m| after.is_none_or(|after| m.sequence > after));
    messages.retain(|m| before.is_none_or(|before| m.sequence < before));
    let has_more = messages.len() > limit;
    messages.truncate(limit);
    Transcript { last_sequence: all.len() as u64, messages, has_more }
}

fn newest(all: &[Message], before: Option<u64>, limit: usize) -> Transcript {
    let mut messages = all.to_vec();
    messages.retain(|m| before.is_none_or(|before| m.sequence < before));
    let excess = messages.len().saturating_sub(limit);
    messages.drain(..excess);
    Transcript { last_sequence: all.len() as u64, messages, has_more: excess > 0 }
}

/// Reads all pages from the oldest message on.
async fn forward_pages(chat: &TestChat, limit: usize) -> Vec<Vec<Message>> {
    let mut pages: Vec<Vec<Message>> = Vec::new();
    loop {
        let after = pages.iter().flatten().last().map(|m| m.sequence);
        let range = MessageRange::Oldest { after, before: None, limit };
        let page = chat.messages(range).await.unwrap();
        assert_ne!(page.messages, [], "{range:?}");
        assert!(page.messages.iter().all(|m| after < Some(m.sequence)), "{range:?}");
        pages.push(page.messages);
        if !page.has_more {
            return pages;
        }
    }
}

/// Reads all pages backwards from the newest message, and returns them in the order of the chat.
async fn backward_pages(chat: &TestChat, limit: usize) -> Vec<Vec<Message>> {
    let mut pages: Vec<Vec<Message>> = Vec::new();
    loop {
        let before = pages.iter().flatten().map(|m| m.sequence).min();
        let range = MessageRange::Newest { before, limit };
        let page = chat.messages(range).await.unwrap();
        assert_ne!(page.messages, [], "{range:?}");
        assert!(page.messages.iter().all(|m| before.is_none_or(|before| m.sequence < before)));
        pages.insert(0, page.messages);
        if !page.has_more {
            return pages;
        }
    }
}

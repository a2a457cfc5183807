//! A request that reaches the server after its call was answered changes nothing.
//!
//! A broken connection or a hanging server may delay a request for any time. Meanwhile its call has been
//! retried, and other calls have changed the chat.

use local_mongod::Proxy;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{Contexts, Messages, Outcome};
use records::ChatId;
use serde_json::json;

use super::faults::{chat, count, database_behind_proxy, message, numbered, scope, sequences};

/// Delays the first request with a command, and the driver's own retry if it makes one.
async fn delayed<T>(
    proxy: &Proxy,
    command: &str,
    times: usize,
    call: impl Future<Output = T>,
) -> T {
    proxy.delay_requests(command, times);
    call.await
}

/// Appends 100 messages one at a time, and seals them.
async fn append_and_seal(store: &MongoStore, chat_id: &ChatId) {
    for _ in 0..100 {
        store.append(&scope(), chat_id, message(None)).await.unwrap();
    }
    store.seal(&scope().app_id, chat_id, Interruption::Never).await.unwrap();
}

#[tokio::test]
async fn a_late_append_stores_nothing_again() {
    let (_server, proxy, database) = database_behind_proxy().await;
    for given in [None, Some("given")] {
        for earlier in [0, 1, 2] {
            let chat_id = chat(&database).await;
            for _ in 0..earlier {
                database.append(&scope(), &chat_id, message(None)).await.unwrap();
            }
            let scope = scope();
            let appending = database.append(&scope, &chat_id, message(given));
            let append = delayed(&proxy, "findAndModify", 1, appending).await.unwrap();
            assert_eq!(sequences(&append), [earlier]);
            assert_eq!(append.messages[0].outcome, Outcome::Stored);
            assert_eq!(proxy.deliver_delayed().await, 1);
            assert_eq!(count(&database, &chat_id).await as u64, earlier + 1, "{given:?}");
        }
    }
}

/// The message is no longer in the tail, so the tail cannot show that it is a duplicate.
#[tokio::test]
async fn a_late_append_is_known_after_its_message_was_sealed() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    let scope = scope();
    let appending = database.append(&scope, &chat_id, message(None));
    delayed(&proxy, "findAndModify", 1, appending).await.unwrap();
    database.append(&scope, &chat_id, numbered("more", 100)).await.unwrap();
    append_and_seal(&database, &chat_id).await;
    assert_eq!(proxy.deliver_delayed().await, 1);
    assert_eq!(count(&database, &chat_id).await, 201);
}

/// The process has never appended to the chat, so it does not know what is sealed there.
#[tokio::test]
async fn a_late_first_append_of_a_process_stores_nothing_again() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let scope = scope();
    append_and_seal(&other, &chat_id).await;
    let appending = database.append(&scope, &chat_id, message(None));
    delayed(&proxy, "findAndModify", 1, appending).await.unwrap();
    append_and_seal(&other, &chat_id).await;
    assert_eq!(proxy.deliver_delayed().await, 1);
    assert_eq!(count(&database, &chat_id).await, 201);
}

#[tokio::test]
async fn a_late_merge_leaves_a_later_one_alone() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    let scope = scope();
    let patch = |value: u64| json!({ "value": value }).as_object().unwrap().clone();
    let merging = database.merge_context_snapshot(&scope, &chat_id, patch(1));
    delayed(&proxy, "findAndModify", 2, merging).await.unwrap();
    database.merge_context_snapshot(&scope, &chat_id, patch(2)).await.unwrap();
    assert!(proxy.deliver_delayed().await >= 1);
    let snapshot = database.load_context_snapshot(&scope, &chat_id).await.unwrap();
    assert_eq!(snapshot.data["value"], 2);
}

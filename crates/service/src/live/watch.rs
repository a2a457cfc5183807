//! What wakes the feeds of a process: the changes that the store tells, and a look at all of their
//! chats now and then, often where it tells none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use persistence::{Change, Store, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::hub::Feeds;

/// How often all chats are looked at while their changes are told. Nothing should be found then.
const WATCHED_PERIOD: Duration = Duration::from_secs(2);

/// How often while they are not told.
const UNWATCHED_PERIOD: Duration = Duration::from_millis(250);

/// Chats that are looked at with one call.
const LOOKED_AT: usize = 500;

/// Wakes feeds, for as long as it is run.
pub(super) async fn watch(store: Arc<dyn Store>, feeds: Arc<Feeds>) {
    let telling = Telling::default();
    tokio::join!(follow(&*store, &feeds, &telling), look_again(&*store, &feeds, &telling));
}

/// Whether changes are told.
#[derive(Default)]
struct Telling {
    is_on: AtomicBool,
    /// It has been switched on or off.
    is_switched: Notify,
}

async fn follow(store: &dyn Store, feeds: &Feeds, telling: &Telling) {
    let mut changes = store.changes();
    while let Some(change) = changes.next().await {
        match change {
            Change::Chat(change) => feeds.notice(&change),
            Change::Usage(chat_id) => feeds.notice_usage(&chat_id),
            Change::Presence(chat_id) => feeds.notice_presence(&chat_id),
            Change::Began | Change::Lost => {
                telling.is_on.store(change == Change::Began, Ordering::Release);
                telling.is_switched.notify_one();
            }
        }
    }
}

/// Looks at all chats, whatever happened before it could be told.
async fn look_again(store: &dyn Store, feeds: &Feeds, telling: &Telling) {
    let (mut was_told, mut looked_aside) = (None, Instant::now());
    loop {
        if let Err(error) = look(store, feeds).await {
            tracing::debug!(%error, "could not look at the live chats");
        }
        let is_told = telling.is_on.load(Ordering::Acquire);
        if was_told != Some(is_told) || !is_told && looked_aside.elapsed() >= WATCHED_PERIOD {
            feeds.notice_asides();
            (was_told, looked_aside) = (Some(is_told), Instant::now());
        }
        let period = if is_told { WATCHED_PERIOD } else { UNWATCHED_PERIOD };
        let _ = timeout(period, telling.is_switched.notified()).await;
    }
}

async fn look(store: &dyn Store, feeds: &Feeds) -> Result<(), StoreError> {
    for (scope, chat_ids) in feeds.by_app() {
        for chat_ids in chat_ids.chunks(LOOKED_AT) {
            for head in store.heads(&scope, chat_ids).await? {
                feeds.notice_head(&head);
            }
        }
    }
    Ok(())
}

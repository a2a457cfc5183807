//! Wakes the feeds of this process: by the changes that the store reports, and by polling the heads of
//! all live chats, seldom while changes are reported and often while they are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use persistence::{Change, Store, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::feeds::Feeds;

/// How often heads are polled while the store reports changes.
///
/// Polling finds nothing then. It bounds the delay should a change ever not be reported.
const POLL_INTERVAL_WITH_CHANGES: Duration = Duration::from_secs(2);

/// How often heads are polled while the store reports no changes.
const POLL_INTERVAL_WITHOUT_CHANGES: Duration = Duration::from_millis(250);

/// The most heads that one store call reads.
const MAX_HEADS_PER_READ: usize = 500;

/// Wakes feeds for as long as the future is polled.
pub(super) async fn watch_changes(store: Arc<dyn Store>, feeds: Arc<Feeds>) {
    let reporting = Reporting::default();
    tokio::join!(
        follow_changes(&*store, &feeds, &reporting),
        poll_heads(&*store, &feeds, &reporting),
    );
}

/// Whether the store reports changes at the moment.
#[derive(Default)]
struct Reporting {
    is_on: AtomicBool,
    switched: Notify,
}

async fn follow_changes(store: &dyn Store, feeds: &Feeds, reporting: &Reporting) {
    let mut changes = store.changes(feeds.interest());
    while let Some(change) = changes.next().await {
        match change {
            Change::Chat(change) => feeds.chat_changed(&change),
            Change::Listed(chat_id) => feeds.all_changed(&chat_id),
            Change::Usage(chat_id) => feeds.usage_changed(&chat_id),
            Change::Presence(chat_id) => feeds.presence_changed(&chat_id),
            Change::Stream(change) => feeds.stream_changed(&change),
            Change::Began | Change::Lost => {
                let is_on = matches!(change, Change::Began);
                reporting.is_on.store(is_on, Ordering::Release);
                reporting.switched.notify_one();
            }
        }
    }
}

/// Polls the heads of all live chats, and the states without a sequence where their changes may be lost.
async fn poll_heads(store: &dyn Store, feeds: &Feeds, reporting: &Reporting) {
    let (mut was_reported, mut states_read_at) = (None, Instant::now());
    loop {
        if let Err(error) = read_heads(store, feeds).await {
            tracing::debug!(%error, "failed to poll the heads of the live chats");
        }
        let is_reported = reporting.is_on.load(Ordering::Acquire);
        // States are no part of a head, so polling heads does not find their changes. They are read when
        // reporting starts or stops, because changes may be lost in between, and now and then while it
        // is off. They cost a query for each chat, so they are read less often than heads.
        let is_due = !is_reported && states_read_at.elapsed() >= POLL_INTERVAL_WITH_CHANGES;
        if was_reported != Some(is_reported) || is_due {
            feeds.all_states_changed();
            (was_reported, states_read_at) = (Some(is_reported), Instant::now());
        }
        let interval =
            if is_reported { POLL_INTERVAL_WITH_CHANGES } else { POLL_INTERVAL_WITHOUT_CHANGES };
        let _ = timeout(interval, reporting.switched.notified()).await;
    }
}

async fn read_heads(store: &dyn Store, feeds: &Feeds) -> Result<(), StoreError> {
    for (scope, chat_ids) in feeds.by_app() {
        for chat_ids in chat_ids.chunks(MAX_HEADS_PER_READ) {
            for head in store.heads(&scope, chat_ids).await? {
                feeds.head_polled(&head);
            }
        }
    }
    Ok(())
}

//! Periodic clean-up tasks.
//!
//! Any number of processes may run them at the same time. Nothing waits for them: readers treat a record
//! that is due but not yet swept as if it were.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use persistence::{DueChat, Interrupted, Retained, Store, StoreError, apply_retention};
use records::{AppId, Clock as _, Erasure, Retention, Scope, SystemClock};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::config::AppSettings;

/// The most records that one sweep handles.
const BATCH_SIZE: usize = 100;

/// How long an erasure that has failed is left: as long as it may have kept the others waiting, until the deadline of its call.
const FAILED_ERASURE_PAUSE: Duration = Duration::from_secs(10);

/// Closes the overdue input requests of all chats, until the future is dropped.
///
/// An overdue request refuses answers anyway. Closing it lets its chat run on and notifies subscribers.
pub async fn expire_input_requests(store: Arc<dyn Store>) {
    let sweep = || store.expire_input_requests(BATCH_SIZE);
    sweep_repeatedly("overdue input requests", 750..1_250, sweep).await;
}

/// Interrupts the chats whose leases have expired, until the future is dropped.
///
/// A worker that resumes such a chat can acquire its lease anyway. Interrupting the chat shows that no
/// worker continues it.
pub async fn interrupt_abandoned_chats(store: Arc<dyn Store>) {
    let sweep = || async {
        let interrupted = store.interrupt_abandoned(BATCH_SIZE).await?;
        for Interrupted { app_id, chat_id, lease } in &interrupted {
            tracing::info!(%app_id, %chat_id, owner = %lease.owner, "chat interrupted: its lease has expired");
        }
        Ok(interrupted.len())
    };
    sweep_repeatedly("abandoned chats", 3_000..5_000, sweep).await;
}

/// Finishes the purges of chats, until the future is dropped: those that broke off, and those whose time has come to
/// remove late records.
pub async fn finish_purges(store: Arc<dyn Store>) {
    let sweep = || store.finish_purges(BATCH_SIZE);
    sweep_repeatedly("purged chats", 45_000..75_000, sweep).await;
}

/// Removes the texts of deleted messages that no chat shows any more, until the future is dropped.
pub async fn remove_deleted_texts(store: Arc<dyn Store>) {
    let sweep = || store.remove_deleted_texts(BATCH_SIZE);
    sweep_repeatedly("deleted texts", 45_000..75_000, sweep).await;
}

/// Removes the streams whose time is over, until the future is dropped.
pub async fn remove_ended_streams(store: Arc<dyn Store>) {
    let sweep = || store.remove_ended_streams(BATCH_SIZE);
    sweep_repeatedly("ended streams", 45_000..75_000, sweep).await;
}

/// Indexes the metadata of chats whose app has changed the keys of its lists, until the future is dropped.
pub async fn index_metadata(store: Arc<dyn Store>) {
    let sweep = || store.index_metadata(BATCH_SIZE);
    sweep_repeatedly("metadata of chats", 1_500..2_500, sweep).await;
}

/// Goes on with the erasures that are under way, until the future is dropped. They take turns: a step ends after a few seconds.
/// One that fails is left for a while, so that it does not keep the others waiting.
pub async fn continue_erasures(store: Arc<dyn Store>) {
    let failed = Mutex::new(HashMap::new());
    let sweep = || async {
        let mut failed = failed.lock().await;
        failed.retain(|_, left_until| *left_until > Instant::now());
        let unfinished = store.unfinished_erasures(BATCH_SIZE + failed.len()).await?;
        let mut has_advanced = false;
        for Erasure { app_id, pseudonym, .. } in &unfinished {
            let this = (app_id.clone(), *pseudonym);
            if failed.contains_key(&this) {
                continue;
            }
            match store.continue_erasure(app_id, *pseudonym, BATCH_SIZE).await {
                Ok(erasure) => {
                    has_advanced = true;
                    if erasure.is_some_and(|erasure| erasure.finished_at.is_some()) {
                        tracing::info!(%app_id, %pseudonym, "a person was erased");
                    }
                }
                Err(error) => {
                    failed.insert(this, Instant::now() + FAILED_ERASURE_PAUSE);
                    tracing::warn!(%app_id, %pseudonym, %error, "an erasure has failed; it is tried again");
                }
            }
        }
        // At once, until none is left.
        Ok(if has_advanced { BATCH_SIZE } else { 0 })
    };
    sweep_repeatedly("erasures", 1_500..2_500, sweep).await;
}

/// Purges the chats, and removes the runs of tools, whose retention is over, and archives inactive chats, until the future is
/// dropped.
///
/// Each round goes through all apps, with a few queries for each. Retention is counted in days, so rounds are rare.
pub async fn purge_due_chats(store: Arc<dyn Store>, settings: AppSettings) {
    loop {
        if let Err(error) = purge_round(&*store, settings).await {
            report(&error, "failed to purge the chats that are due");
        }
        sleep(Duration::from_secs(fastrand::u64(12 * 60..18 * 60))).await;
    }
}

async fn purge_round(store: &dyn Store, settings: AppSettings) -> Result<(), StoreError> {
    let mut after = None;
    while let Some(app_id) = store.next_app_with_chats(after.as_ref()).await? {
        // One app that fails does not keep the others waiting.
        if let Err(error) = purge_app(store, settings, &app_id).await {
            report(&error, "failed to purge the chats of an app that are due");
        }
        after = Some(app_id);
    }
    Ok(())
}

async fn purge_app(
    store: &dyn Store,
    settings: AppSettings,
    app_id: &AppId,
) -> Result<(), StoreError> {
    let actor = Scope::service(app_id.clone()).actor();
    let retention = retention_of(store, settings, app_id).await?;
    let mut note = |DueChat { chat, due }| {
        let (chat_id, due) = (&chat.chat_id, due.as_str());
        tracing::info!(%app_id, %chat_id, due, "chat purged or archived: its retention is over");
    };
    let done = apply_retention(store, &actor, app_id, &retention, SystemClock.now(), &mut note);
    let Retained { tool_runs, .. } = done.await?;
    if tool_runs > 0 {
        tracing::info!(%app_id, tool_runs, "runs of tools removed: their retention is over");
    }
    Ok(())
}

/// Logs an error. One that only says that the store is away is logged where the calls are.
pub(crate) fn report(error: &StoreError, what: &str) {
    if error.is_unavailable() {
        tracing::debug!(%error, "{what}");
    } else {
        tracing::warn!(%error, "{what}");
    }
}

/// Returns the retention of an app: its own, or that of the service where it has none.
pub async fn retention_of(
    store: &dyn Store,
    settings: AppSettings,
    app_id: &AppId,
) -> Result<Retention, StoreError> {
    let app = store.get_app(app_id).await?;
    let own = app.map(|app| app.settings.retention).unwrap_or_default();
    Ok(settings.retention.overridden_by(own))
}

/// Repeats a sweep: at once after a full batch, otherwise after a random pause from a range of
/// milliseconds, so that the processes do not sweep at the same moment.
async fn sweep_repeatedly<Sweep>(records: &str, pause_ms: Range<u64>, sweep: impl Fn() -> Sweep)
where
    Sweep: Future<Output = Result<usize, StoreError>>,
{
    loop {
        match sweep().await {
            Ok(BATCH_SIZE) => continue,
            Ok(_) => {}
            Err(error) => report(&error, &format!("failed to sweep {records}")),
        }
        sleep(Duration::from_millis(fastrand::u64(pause_ms.clone()))).await;
    }
}

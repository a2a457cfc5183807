//! Removes and archives what retention says, app by app.

use chrono::{DateTime, Utc};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use records::{Actor, AppId, ChatSession, Due, Retention, Scope};

use crate::{Store, StoreError};

/// What was done in an app because its retention says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// How many chats were purged.
    pub purged: u64,
    /// How many chats were archived.
    pub archived: u64,
    /// How many runs of tools were removed by themselves.
    pub tool_runs: u64,
}

/// Removes the runs of tools of an app that are due, purges the chats that are, archives the inactive ones, and passes each of
/// these chats to `handled`. See [`purge_due`], [`archive_due`] and [`remove_due_tool_runs`].
pub async fn apply_retention(
    store: &dyn Store,
    actor: &Actor,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
    handled: &mut (dyn FnMut(DueChat) + Send),
) -> Result<Retained, StoreError> {
    // Before the chats, whose runs are removed with them and not counted.
    let tool_runs = remove_due_tool_runs(store, app_id, retention, now).await?;
    let purged = purge_due(store, actor, app_id, retention, now, handled).await?;
    let archived = archive_due(store, actor, app_id, retention, now, handled).await?;
    Ok(Retained { purged, archived, tool_runs })
}

/// How many chats are listed with one query.
const PAGE: usize = 100;

/// How many chats are purged, or archived, at once. Each is several writes one after the other, which wait for the disk.
const AT_ONCE: usize = 4;

/// How many runs of tools are removed, or counted, with one call.
const RUNS: usize = 500;

/// A chat that was purged or archived, or would be.
#[derive(Debug, Clone, PartialEq)]
pub struct DueChat {
    /// The chat as it was.
    pub chat: ChatSession,
    /// Why it was due.
    pub due: Due,
}

/// Purges all chats of an app that are due, and passes each to `purged`. Returns how many there were.
///
/// It may be broken off anywhere and repeated at any time; any number of processes may run it. A chat that cannot be
/// purged is logged and skipped. Only an unavailable store ends it early.
pub async fn purge_due(
    store: &dyn Store,
    actor: &Actor,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
    purged: &mut (dyn FnMut(DueChat) + Send),
) -> Result<u64, StoreError> {
    let mut count = 0;
    for due in Due::PURGES {
        let Some(before) = retention.cutoff(due, now) else { continue };
        count += handle_due(store, actor, app_id, due, before, purged).await?;
    }
    Ok(count)
}

/// Archives all chats of an app in which nothing has happened for long, and passes each to `archived`. Returns how many there
/// were. Like [`purge_due`], it may be broken off and repeated.
pub async fn archive_due(
    store: &dyn Store,
    actor: &Actor,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
    archived: &mut (dyn FnMut(DueChat) + Send),
) -> Result<u64, StoreError> {
    let Some(before) = retention.cutoff(Due::Inactive, now) else { return Ok(0) };
    handle_due(store, actor, app_id, Due::Inactive, before, archived).await
}

/// Purges or archives the chats that have been due for a reason since a time.
async fn handle_due(
    store: &dyn Store,
    actor: &Actor,
    app_id: &AppId,
    due: Due,
    before: DateTime<Utc>,
    handled: &mut (dyn FnMut(DueChat) + Send),
) -> Result<u64, StoreError> {
    let scope = &Scope::service(app_id.clone());
    let mut count = 0;
    loop {
        let chats = store.list_due(app_id, due, before, &[], PAGE).await?;
        let handle = |chat: ChatSession| async move {
            let chat_id = &chat.chat_id;
            let is_handled = match due {
                Due::Inactive => store.archive_inactive(actor, app_id, chat_id, before).await,
                _ => store.purge_chat(actor, scope, chat_id, Some((due, before))).await,
            };
            match is_handled {
                Err(error) if !error.is_unavailable() => {
                    let due = due.as_str();
                    tracing::warn!(%app_id, %chat_id, due, %error, "a chat that is due was skipped");
                    Ok((chat, false))
                }
                is_handled => is_handled.map(|is_handled| (chat, is_handled)),
            }
        };
        let mut handling = stream::iter(chats).map(handle).buffered(AT_ONCE);
        let mut is_progress = false;
        while let Some((chat, is_handled)) = handling.try_next().await? {
            if is_handled {
                is_progress = true;
                count += 1;
                handled(DueChat { chat, due });
            }
        }
        if !is_progress {
            return Ok(count);
        }
    }
}

/// Removes the runs of tools of an app that were recorded too long ago, except those of chats under hold. Returns how many
/// there were.
///
/// Like [`purge_due`], it may be broken off and repeated, and any number of processes may run it.
pub async fn remove_due_tool_runs(
    store: &dyn Store,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    for_due_tool_runs(Effect::Remove, store, app_id, retention, now).await
}

/// Counts the runs of tools that [`remove_due_tool_runs`] would remove.
pub async fn count_due_tool_runs(
    store: &dyn Store,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    for_due_tool_runs(Effect::Count, store, app_id, retention, now).await
}

/// What is done with runs of tools that are due.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Count,
    Remove,
}

async fn for_due_tool_runs(
    effect: Effect,
    store: &dyn Store,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let Some(until) = retention.tool_run_cutoff(now) else { return Ok(0) };
    let (mut count, mut after) = (0, None);
    loop {
        let at = after.as_ref();
        let step = match effect {
            Effect::Count => store.count_due_tool_runs(app_id, until, RUNS, at).await?,
            Effect::Remove => store.remove_tool_runs(app_id, until, RUNS, at).await?,
        };
        count += step.count;
        after = step.next;
        if after.is_none() {
            return Ok(count);
        }
    }
}

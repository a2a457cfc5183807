//! Removes what retention says, app by app.

use chrono::{DateTime, Utc};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use records::{Actor, AppId, ChatSession, Due, Retention, Scope};

use crate::{Store, StoreError};

/// How many chats are listed with one query.
const PAGE: usize = 100;

/// How many chats are purged at once. Each is several writes one after the other, which wait for the disk.
const AT_ONCE: usize = 4;

/// How many runs of tools are removed, or counted, with one call.
const RUNS: usize = 500;

/// A chat that was purged, or would be.
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
/// purged is skipped, and ends the list of its reason.
pub async fn purge_due(
    store: &dyn Store,
    actor: &Actor,
    app_id: &AppId,
    retention: &Retention,
    now: DateTime<Utc>,
    purged: &mut (dyn FnMut(DueChat) + Send),
) -> Result<u64, StoreError> {
    let scope = Scope::service(app_id.clone());
    let mut count = 0;
    for due in Due::ALL {
        let Some(before) = retention.cutoff(due, now) else { continue };
        loop {
            let chats = store.list_due(app_id, due, before, PAGE).await?;
            let purge = |chat: ChatSession| {
                let scope = &scope;
                async move {
                    let is_due = Some((due, before));
                    let is_purged = store.purge_chat(actor, scope, &chat.chat_id, is_due).await?;
                    Ok::<_, StoreError>((chat, is_purged))
                }
            };
            let mut purging = stream::iter(chats).map(purge).buffered(AT_ONCE);
            let mut is_progress = false;
            while let Some((chat, is_purged)) = purging.try_next().await? {
                if is_purged {
                    is_progress = true;
                    count += 1;
                    purged(DueChat { chat, due });
                }
            }
            if !is_progress {
                break;
            }
        }
    }
    Ok(count)
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

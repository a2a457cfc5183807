use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, NewToolRun, Scope, ToolRun, ToolSums};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::{Call, RetentionAction};
use crate::rules::tool_run_batch::{DigestedRun, ToolRunBatch};
use crate::store::{
    Began, DueToolRuns, RecordedCursor, RecordedToolRun, ToolRunCursor, ToolRunFilter, ToolRunPage,
    ToolRuns, ToolStats, ToolUsage, cut,
};

#[async_trait]
impl ToolRuns for MemoryStore {
    async fn record_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        runs: Vec<NewToolRun>,
    ) -> Result<Vec<RecordedToolRun>, StoreError> {
        self.observe(Call::RecordToolRuns, || {
            let batch = ToolRunBatch::check(runs, self.clock.now(), &*self.ids)?;
            self.with_chat(scope, chat_id, |chat| {
                let (fresh, recorded) = batch.plan(chat_id, &chat.tool_runs)?;
                let fresh: Vec<DigestedRun> = fresh.into_iter().cloned().collect();
                chat.tool_runs.extend(fresh);
                Ok(recorded)
            })
        })
        .await
    }

    async fn list_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ToolRunFilter,
        limit: usize,
        after: Option<&ToolRunCursor>,
    ) -> Result<ToolRunPage, StoreError> {
        self.observe(Call::ListToolRuns, || {
            self.with_chat(scope, chat_id, |chat| {
                let compare = |one: &_, other: &_| filter.direction.compare(one, other);
                let runs = chat.tool_runs.iter().map(|kept| &kept.run);
                let runs = runs.filter(|run| filter.admits(run));
                let runs = runs.map(|run| (ToolRunCursor::at(run), run));
                let is_after = |at: &_| after.is_none_or(|after| compare(at, after).is_gt());
                let mut runs: Vec<_> = runs.filter(|(at, _)| is_after(at)).collect();
                runs.sort_by(|(one, _), (other, _)| compare(one, other));
                let mut page = ToolRunPage::default();
                for (_, run) in runs {
                    if !page.add(run.clone(), limit) {
                        break;
                    }
                }
                Ok(page)
            })
        })
        .await
    }

    async fn chat_tool_stats(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        began: &Began,
    ) -> Result<ToolStats, StoreError> {
        self.observe(Call::ChatToolStats, || {
            self.with_chat(scope, chat_id, |chat| Ok(sums(&chat.tool_runs, began)))
        })
        .await
    }

    async fn app_tool_stats(&self, app_id: &AppId, began: &Began) -> Result<ToolStats, StoreError> {
        self.observe(Call::AppToolStats, || {
            let chats = self.chats();
            let chats = chats.values().filter(|chat| chat.session.app_id == *app_id);
            Ok(sums(chats.flat_map(|chat| &chat.tool_runs), began))
        })
        .await
    }

    async fn remove_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError> {
        self.observe(Call::RemoveToolRuns, || {
            let mut chats = self.chats();
            let (due, next) = due_runs(&chats, app_id, recorded_until, limit, after);
            let count = u64::try_from(due.len()).unwrap_or(u64::MAX);
            self.metrics.retention.did(RetentionAction::RemoveToolRun, count);
            for RecordedCursor { chat_id, run_id, .. } in due {
                if let Some(chat) = chats.get_mut(&chat_id) {
                    chat.tool_runs.retain(|kept| kept.run.run_id != run_id);
                }
            }
            Ok(DueToolRuns { count, next })
        })
        .await
    }

    async fn count_due_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError> {
        self.observe(Call::CountDueToolRuns, || {
            let (due, next) = due_runs(&self.chats(), app_id, recorded_until, limit, after);
            Ok(DueToolRuns { count: u64::try_from(due.len()).unwrap_or(u64::MAX), next })
        })
        .await
    }
}

/// Looks at up to `limit` runs. Returns those of chats that are not under hold, and the position of the next ones.
fn due_runs(
    chats: &HashMap<ChatId, Chat>,
    app_id: &AppId,
    recorded_until: DateTime<Utc>,
    limit: usize,
    after: Option<&RecordedCursor>,
) -> (Vec<RecordedCursor>, Option<RecordedCursor>) {
    let of_app = chats.values().filter(|chat| chat.session.app_id == *app_id);
    let recorded = of_app.flat_map(|chat| {
        let chat_id = &chat.session.chat_id;
        chat.tool_runs.iter().map(move |DigestedRun { run, .. }| RecordedCursor {
            recorded_at: run.recorded_at,
            chat_id: chat_id.clone(),
            run_id: run.run_id.clone(),
        })
    });
    let is_due = |at: &RecordedCursor| {
        at.recorded_at <= recorded_until && after.is_none_or(|after| at > after)
    };
    let mut due: Vec<_> = recorded.filter(is_due).collect();
    due.sort();
    let next = cut(&mut due, limit).cloned();
    let is_held = |run: &RecordedCursor| {
        chats.get(&run.chat_id).is_some_and(|chat| chat.session.hold.is_some())
    };
    due.retain(|run| !is_held(run));
    (due, next)
}

fn sums<'a>(runs: impl IntoIterator<Item = &'a DigestedRun>, began: &Began) -> ToolStats {
    let runs = runs.into_iter().map(|kept| &kept.run).filter(|run| began.includes(run));
    let mut tools: BTreeMap<&str, ToolUsage> = BTreeMap::new();
    for run in runs {
        let usage = tools.entry(&run.tool_name).or_insert_with(|| unused(run));
        usage.sums.add(run);
        usage.last_started_at = usage.last_started_at.max(run.started_at);
    }
    let mut tools: Vec<_> = tools.into_values().collect();
    tools.sort_by(|one, other| one.order().cmp(&other.order()));
    let mut stats = ToolStats::default();
    for usage in tools {
        stats.add(usage);
    }
    stats
}

fn unused(run: &ToolRun) -> ToolUsage {
    let (tool_name, last_started_at) = (run.tool_name.clone(), run.started_at);
    ToolUsage { tool_name, last_started_at, sums: ToolSums::default() }
}

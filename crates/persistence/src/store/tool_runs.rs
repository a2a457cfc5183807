use std::cmp::Reverse;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, NewToolRun, Scope, ToolRun, ToolRunId, ToolSums};

use super::{Direction, Outcome};
use crate::StoreError;

/// Records the runs of the tools of a chat.
#[async_trait]
pub trait ToolRuns: Send + Sync {
    /// Records runs, all or none.
    ///
    /// A repeated `run_id` returns the recorded run; with another body, or another time at which it began, it is
    /// [`ToolRunConflict`](StoreError::ToolRunConflict). An ended chat accepts runs, and so does a worker that has lost its
    /// lease, because the tool has run.
    async fn record_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        runs: Vec<NewToolRun>,
    ) -> Result<Vec<RecordedToolRun>, StoreError>;

    /// Lists the runs of a chat by the time at which they began and then by id.
    ///
    /// A page ends before `limit` if its runs are large.
    async fn list_tool_runs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ToolRunFilter,
        limit: usize,
        after: Option<&ToolRunCursor>,
    ) -> Result<ToolRunPage, StoreError>;

    /// Sums up the runs of a chat, by tool.
    async fn chat_tool_stats(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        began: &Began,
    ) -> Result<ToolStats, StoreError>;

    /// Sums up the runs of all chats of an app, by tool.
    async fn app_tool_stats(&self, app_id: &AppId, began: &Began) -> Result<ToolStats, StoreError>;

    /// Removes runs of an app that were recorded up to a time, in the order in which they were recorded.
    ///
    /// It looks at up to `limit` of them after a position. Those of chats under hold stay.
    async fn remove_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError>;

    /// Counts the runs that [`remove_tool_runs`](Self::remove_tool_runs) would remove.
    async fn count_due_tool_runs(
        &self,
        app_id: &AppId,
        recorded_until: DateTime<Utc>,
        limit: usize,
        after: Option<&RecordedCursor>,
    ) -> Result<DueToolRuns, StoreError>;
}

/// The result of recording one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedToolRun {
    /// The run as stored.
    pub run: ToolRun,
    /// Whether this request recorded the run.
    pub outcome: Outcome,
}

/// The time within which runs began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Began {
    /// The earliest time.
    pub from: Option<DateTime<Utc>>,
    /// The time that is just too late.
    pub before: Option<DateTime<Utc>>,
}

impl Began {
    /// Returns whether a run began within it.
    pub(crate) fn includes(&self, run: &ToolRun) -> bool {
        self.from.is_none_or(|from| from <= run.started_at)
            && self.before.is_none_or(|before| run.started_at < before)
    }
}

/// Which runs to list, and in which direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRunFilter {
    /// Only runs of this tool.
    pub tool_name: Option<String>,
    /// Only runs that succeeded, or only those that failed.
    pub is_success: Option<bool>,
    /// When the runs began.
    pub began: Began,
    /// Whether the oldest or the newest come first.
    pub direction: Direction,
}

impl Default for ToolRunFilter {
    /// All runs, newest first.
    fn default() -> Self {
        let (tool_name, is_success, began) = Default::default();
        Self { tool_name, is_success, began, direction: Direction::Descending }
    }
}

impl ToolRunFilter {
    /// Returns whether a run is in the list.
    pub(crate) fn admits(&self, run: &ToolRun) -> bool {
        self.tool_name.as_ref().is_none_or(|name| *name == run.tool_name)
            && self.is_success.is_none_or(|is_success| is_success == run.is_success)
            && self.began.includes(run)
    }
}

/// A position in a list of runs: right after this run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolRunCursor {
    /// When the run began.
    pub started_at: DateTime<Utc>,
    /// The id of the run.
    pub run_id: ToolRunId,
}

impl ToolRunCursor {
    pub(crate) fn at(run: &ToolRun) -> Self {
        Self { started_at: run.started_at, run_id: run.run_id.clone() }
    }
}

/// A page of runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRunPage {
    /// The runs.
    pub runs: Vec<ToolRun>,
    /// The position of the next page, if there is a next page.
    pub next: Option<ToolRunCursor>,
    bytes: usize,
}

impl ToolRunPage {
    /// The bytes after which a page ends. It always has a run.
    pub const BYTES: usize = 4 << 20;

    /// Adds the next run of the list, or ends the page before it. Returns whether the page goes on.
    pub(crate) fn add(&mut self, run: ToolRun, limit: usize) -> bool {
        let bytes = self.bytes + run.bytes();
        let is_full = self.runs.len() >= limit || bytes > Self::BYTES;
        if is_full && let Some(last) = self.runs.last() {
            self.next = Some(ToolRunCursor::at(last));
            return false;
        }
        self.bytes = bytes;
        self.runs.push(run);
        true
    }
}

/// The sums of runs, by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolStats {
    /// All runs.
    pub total: ToolSums,
    /// The tools with the most runs, those first.
    pub tools: Vec<ToolUsage>,
    /// How many tools were left out of the list.
    pub others: u64,
}

/// The sums of the runs of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUsage {
    /// The name of the tool.
    pub tool_name: String,
    /// The sums.
    pub sums: ToolSums,
    /// When the last of the runs began.
    pub last_started_at: DateTime<Utc>,
}

impl ToolUsage {
    /// Compares as the list does: by the number of runs, then by name.
    pub(crate) fn order(&self) -> (Reverse<u64>, &str) {
        (Reverse(self.sums.runs), &self.tool_name)
    }
}

impl ToolStats {
    /// The most tools in the list.
    pub const MAX_TOOLS: usize = 1_000;

    /// Adds a tool; the tools come in the order of the list.
    pub(crate) fn add(&mut self, usage: ToolUsage) {
        self.total.merge(&usage.sums);
        if self.tools.len() < Self::MAX_TOOLS {
            self.tools.push(usage);
        } else {
            self.others += 1;
        }
    }
}

/// Runs that were recorded long ago, of those that one call has looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueToolRuns {
    /// How many there are, or were removed.
    pub count: u64,
    /// The last run that the call has looked at, if there may be more.
    pub next: Option<RecordedCursor>,
}

/// A position among the runs of an app in the order in which they were recorded: right after this run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordedCursor {
    /// When the run was recorded.
    pub recorded_at: DateTime<Utc>,
    /// The chat of the run.
    pub chat_id: ChatId,
    /// The id of the run.
    pub run_id: ToolRunId,
}

use std::ops::Range;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, ChatStatus, Model, Rollup, Usage, WorkflowName};

use super::Cursor;
use crate::StoreError;

/// Says what the chats and calls of workflows add up to.
///
/// All of it is kept up in the transactions that change chats and record calls: reading it costs the
/// same however many there are. For operators: nothing here depends on who may see which chat, and
/// a workflow or an app that nobody has used counts nothing.
#[async_trait]
pub trait Stats: Send + Sync {
    /// Returns what a workflow has done, and its agents and models, dearest first.
    async fn workflow_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError>;

    /// Lists what the chats of a workflow took, newest first by creation and then by id.
    ///
    /// `limit` must be at least 1.
    async fn list_chat_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<ChatStatsPage, StoreError>;

    /// Returns what every workflow of an app has done, by name.
    async fn app_stats(&self, app_id: &AppId) -> Result<Vec<WorkflowSummary>, StoreError>;

    /// Returns what an app's workflows, or one of them, have done in each of the hours that begin
    /// within the range; hours in which nothing happened are left out. In order of name and hour.
    async fn hourly_stats(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError>;

    /// Lists the apps after one whose workflows have done anything, in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_apps_with_stats(
        &self,
        limit: usize,
        after: Option<&AppId>,
    ) -> Result<CountedApps, StoreError>;
}

/// What a workflow has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowStats {
    /// All of it.
    pub total: Rollup,
    /// The part of each agent, or of those calls that named none.
    pub agents: Vec<(Option<String>, Rollup)>,
    /// The part of each model.
    pub models: Vec<(Model, Rollup)>,
    /// When anything of it last changed.
    pub last_updated_at: Option<DateTime<Utc>>,
}

/// What one of an app's workflows has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowSummary {
    /// The workflow.
    pub workflow_name: WorkflowName,
    /// All of it.
    pub total: Rollup,
    /// When anything of it last changed.
    pub last_updated_at: Option<DateTime<Utc>>,
}

/// What a workflow has done in an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourlyStats {
    /// The workflow.
    pub workflow_name: WorkflowName,
    /// When the hour began.
    pub hour: DateTime<Utc>,
    /// What was done in it.
    pub rollup: Rollup,
}

/// What a chat took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatStats {
    /// The chat.
    pub chat_id: ChatId,
    /// When it was created.
    pub started_at: DateTime<Utc>,
    /// Where it stands.
    pub status: ChatStatus,
    /// How long it took, in milliseconds, if it has ended.
    pub duration_ms: Option<u64>,
    /// What its calls took.
    pub usage: Usage,
}

/// A page of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatStatsPage {
    /// The chats.
    pub chats: Vec<ChatStats>,
    /// Where the next page begins, when there is one.
    pub next: Option<Cursor>,
}

impl ChatStatsPage {
    /// Makes a page of the first `limit` of the chats given.
    pub(crate) fn cut(mut chats: Vec<ChatStats>, limit: usize) -> Self {
        let last = super::cut(&mut chats, limit);
        let cursor = |chat: &ChatStats| Cursor {
            created_at: chat.started_at,
            chat_id: chat.chat_id.clone(),
        };
        Self { next: last.map(cursor), chats }
    }
}

/// A page of apps whose workflows have done anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedApps {
    /// The apps.
    pub apps: Vec<AppId>,
    /// After which one the next page begins, when there is one.
    pub next: Option<AppId>,
}

impl CountedApps {
    /// Makes a page of the first `limit` of the apps given.
    pub(crate) fn cut(mut apps: Vec<AppId>, limit: usize) -> Self {
        Self { next: super::cut(&mut apps, limit).cloned(), apps }
    }
}

/// Orders agents or models by what they cost, then by their tokens, then by name.
pub(crate) fn dearest_first<T: Ord>(parts: &mut [(T, Rollup)]) {
    parts.sort_by(|(a, first), (b, second)| {
        let dear = |rollup: &Rollup| {
            let usage = rollup.usage();
            (usage.cost_micros, usage.tokens.total)
        };
        dear(second).cmp(&dear(first)).then_with(|| a.cmp(b))
    });
}

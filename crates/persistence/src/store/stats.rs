use std::ops::Range;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, ChatStatus, Model, Rollup, Subject, Usage, UserId, WorkflowName};

use super::Cursor;
use crate::StoreError;

/// Returns the statistics of workflows: the sums over their chats and calls.
///
/// The transactions that change chats and record calls update the sums, so the cost of a read does
/// not depend on the number of chats. These calls are for operators and ignore the visibility of
/// chats. A workflow or an app that was never used has empty stats.
#[async_trait]
pub trait Stats: Send + Sync {
    /// Returns the stats of a workflow, and those of its agents and models, the most expensive first.
    async fn workflow_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError>;

    /// Lists the usage of each chat of a workflow, newest first by creation and then by id.
    ///
    /// `limit` must be at least 1.
    async fn list_chat_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<ChatStatsPage, StoreError>;

    /// Returns the stats of every workflow of an app, ordered by name.
    async fn app_stats(&self, app_id: &AppId) -> Result<Vec<WorkflowSummary>, StoreError>;

    /// Returns the stats of an app's workflows, or of one of them, for each hour that begins within
    /// the range. Hours without any change are left out. Ordered by name and hour.
    async fn hourly_stats(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError>;

    /// Lists the users of an app by the usage of the chats that they own, the greatest first and then by id.
    ///
    /// A chat counts for its owner also after it was purged. Users without calls are left out. The cost grows with the number
    /// of users that the filter counts. If usage changes between two pages, a user may be in both or in none.
    ///
    /// `limit` must be at least 1. While an upgrade from a release without it is not finished, this and the other calls about
    /// users are [`UpgradePending`](StoreError::UpgradePending).
    async fn list_user_stats(
        &self,
        app_id: &AppId,
        filter: &UsageFilter,
        limit: usize,
        after: Option<&UserStatsCursor>,
    ) -> Result<UserStatsPage, StoreError>;

    /// Returns the usage of the chats that a user owns, by workflow, ordered by name.
    async fn user_stats(&self, app_id: &AppId, user_id: &UserId) -> Result<UserStats, StoreError>;

    /// Returns the usage of the chats that a user owns for each hour that begins within the range, by workflow. Hours
    /// without calls are left out. Ordered by name and hour.
    async fn hourly_user_stats(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError>;

    /// Returns the usage of an app's calls by agent, or by model, the greatest first and at most `limit` of them.
    ///
    /// `limit` must be at least 1. The cost grows with the number of hours, agents and models that the filter counts.
    async fn usage_by(
        &self,
        app_id: &AppId,
        by: UsageBy,
        filter: &UsageFilter,
        limit: usize,
    ) -> Result<UsageShares, StoreError>;

    /// Returns the usage of some users, agents or models of an app for each hour that begins within the range, in all
    /// workflows together. Hours without calls are left out. Ordered by subject and hour.
    ///
    /// The cost grows with the number of hours, and of all subjects of the same kinds.
    async fn hourly_usage(
        &self,
        app_id: &AppId,
        subjects: &[Subject],
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyUsage>, StoreError>;

    /// Lists the apps after `after` that have stats, in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_apps_with_stats(
        &self,
        limit: usize,
        after: Option<&AppId>,
    ) -> Result<CountedApps, StoreError>;
}

/// The stats of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowStats {
    /// The total.
    pub total: Rollup,
    /// The stats of each agent; `None` stands for the calls without an agent.
    pub agents: Vec<(Option<String>, Rollup)>,
    /// The stats of each model.
    pub models: Vec<(Model, Rollup)>,
    /// When any of these stats last changed.
    pub last_updated_at: Option<DateTime<Utc>>,
}

/// The total stats of one workflow of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowSummary {
    /// The workflow.
    pub workflow_name: WorkflowName,
    /// The total.
    pub total: Rollup,
    /// When the stats last changed.
    pub last_updated_at: Option<DateTime<Utc>>,
}

/// The stats of a workflow for one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourlyStats {
    /// The workflow.
    pub workflow_name: WorkflowName,
    /// The beginning of the hour.
    pub hour: DateTime<Utc>,
    /// The stats of the hour.
    pub rollup: Rollup,
}

/// The usage of a user, an agent or a model in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HourlyUsage {
    /// The user, the agent or the model.
    pub subject: Subject,
    /// The beginning of the hour.
    pub hour: DateTime<Utc>,
    /// The summed usage of the calls of the hour.
    pub usage: Usage,
}

/// The usage of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatStats {
    /// The chat.
    pub chat_id: ChatId,
    /// When it was created.
    pub started_at: DateTime<Utc>,
    /// The status of the chat; `None` if it was removed before it had ended.
    pub status: Option<ChatStatus>,
    /// The duration in milliseconds, if the chat has ended.
    pub duration_ms: Option<u64>,
    /// The summed usage of its calls.
    pub usage: Usage,
}

/// A page of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatStatsPage {
    /// The chats.
    pub chats: Vec<ChatStats>,
    /// The position of the next page, if there is a next page.
    pub next: Option<Cursor>,
}

impl ChatStatsPage {
    /// Makes a page of the first `limit` chats.
    pub(crate) fn cut(mut chats: Vec<ChatStats>, limit: usize) -> Self {
        let last = super::cut(&mut chats, limit);
        let cursor = |chat: &ChatStats| Cursor {
            created_at: chat.started_at,
            chat_id: chat.chat_id.clone(),
        };
        Self { next: last.map(cursor), chats }
    }
}

/// Which usage is listed, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// Only the calls of the hours that begin within the range; `None` for all calls.
    pub range: Option<Range<DateTime<Utc>>>,
    /// The order.
    pub order: UsageOrder,
}

/// By what calls are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// By the agent that made the call, if it is known.
    Agent,
    /// By the model that answered.
    Model,
}

impl UsageBy {
    /// Returns whether the calls of a subject are a share of their own.
    pub(crate) fn has(self, subject: &Subject) -> bool {
        match self {
            Self::Agent => matches!(subject, Subject::Agent(_)),
            Self::Model => matches!(subject, Subject::Model(_)),
        }
    }
}

/// The usage of the agents, or of the models, of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageShares {
    /// Each agent or model with its usage, the greatest first. The order of equals is not defined.
    pub shares: Vec<(Subject, Usage)>,
    /// Whether there are more.
    pub has_more: bool,
}

impl UsageShares {
    /// Keeps the first `limit` shares of a list that is sorted.
    pub(crate) fn cut(mut shares: Vec<(Subject, Usage)>, limit: usize) -> Self {
        let has_more = super::cut(&mut shares, limit).is_some();
        Self { shares, has_more }
    }
}

/// The number by which usage is listed, the greatest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UsageOrder {
    /// The cost of the calls.
    #[default]
    Cost,
    /// All tokens of the calls.
    Tokens,
    /// The number of calls.
    Calls,
}

impl UsageOrder {
    /// Returns the number of a usage.
    #[must_use]
    pub fn number(self, usage: &Usage) -> u64 {
        match self {
            Self::Cost => usage.cost_micros,
            Self::Tokens => usage.tokens.total,
            Self::Calls => usage.calls,
        }
    }
}

/// The usage of the chats that a user owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserUsage {
    /// The user; after an erasure, the pseudonym.
    pub user_id: UserId,
    /// The summed usage of the calls.
    pub usage: Usage,
}

/// The position after a user of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStatsCursor {
    /// The number of the user by which the list is ordered.
    pub number: u64,
    /// The user.
    pub user_id: UserId,
}

/// A page of users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserStatsPage {
    /// The users.
    pub users: Vec<UserUsage>,
    /// The position of the next page, if there is a next page.
    pub next: Option<UserStatsCursor>,
}

impl UserStatsPage {
    /// Makes a page of the first `limit` users.
    pub(crate) fn cut(mut users: Vec<UserUsage>, limit: usize, order: UsageOrder) -> Self {
        let last = super::cut(&mut users, limit);
        let cursor = |last: &UserUsage| UserStatsCursor {
            number: order.number(&last.usage),
            user_id: last.user_id.clone(),
        };
        Self { next: last.map(cursor), users }
    }
}

/// The usage of the chats that a user owns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserStats {
    /// The summed usage of all calls.
    pub total: Usage,
    /// The usage in each workflow with calls.
    pub workflows: Vec<(WorkflowName, Usage)>,
}

impl UserStats {
    /// Adds up the rollups of each workflow.
    pub(crate) fn of(workflows: impl IntoIterator<Item = (WorkflowName, Rollup)>) -> Self {
        let mut total = Rollup::default();
        let mut used = Vec::new();
        for (workflow_name, rollup) in workflows {
            total.merge(&rollup, 1);
            let usage = rollup.usage();
            if usage != Usage::default() {
                used.push((workflow_name, usage));
            }
        }
        Self { total: total.usage(), workflows: used }
    }
}

/// A page of apps that have stats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedApps {
    /// The apps.
    pub apps: Vec<AppId>,
    /// The app after which the next page begins, if there is a next page.
    pub next: Option<AppId>,
}

impl CountedApps {
    /// Makes a page of the first `limit` apps.
    pub(crate) fn cut(mut apps: Vec<AppId>, limit: usize) -> Self {
        Self { next: super::cut(&mut apps, limit).cloned(), apps }
    }
}

/// Orders agents or models by cost, then by tokens, both descending, then by name.
pub(crate) fn most_expensive_first<T: Ord>(parts: &mut [(T, Rollup)]) {
    parts.sort_by(|(a, first), (b, second)| {
        let dear = |rollup: &Rollup| {
            let usage = rollup.usage();
            (usage.cost_micros, usage.tokens.total)
        };
        dear(second).cmp(&dear(first)).then_with(|| a.cmp(b))
    });
}

//! Computes the stats from all records at each read. Stores that maintain rollups must return the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatSession, Rollup, RollupKey, Subject, Tally, Usage, UserId, WorkflowName};

use super::{Chat, MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{
    ChatStats, ChatStatsPage, CountedApps, Cursor, HourlyStats, HourlyUsage, Stats, UsageBy,
    UsageFilter, UsageShares, UserStats, UserStatsCursor, UserStatsPage, UserUsage, WorkflowStats,
    WorkflowSummary, most_expensive_first,
};

#[async_trait]
impl Stats for MemoryStore {
    async fn workflow_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError> {
        self.observe(Call::WorkflowStats, || {
            let workflow = (app_id.clone(), workflow_name.clone());
            let last_updated_at = held(&self.counted_at).get(&workflow).copied();
            let mut stats = WorkflowStats { last_updated_at, ..WorkflowStats::default() };
            let rollups = self.rollups(app_id).remove(workflow_name).unwrap_or_default();
            for (key, rollup) in rollups.into_iter().filter(|(key, _)| key.hour.is_none()) {
                match key.subject {
                    Subject::Workflow => stats.total = rollup,
                    Subject::Agent(agent) => stats.agents.push((agent, rollup)),
                    Subject::Model(model) => stats.models.push((model, rollup)),
                    Subject::Chat(_) | Subject::User(_) => {}
                }
            }
            most_expensive_first(&mut stats.agents);
            most_expensive_first(&mut stats.models);
            Ok(stats)
        })
        .await
    }

    async fn list_chat_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<ChatStatsPage, StoreError> {
        self.observe(Call::ListChatStats, || {
            let after = after.map(|cursor| (cursor.created_at, cursor.chat_id.clone()));
            let key = |chat: &ChatSession| (chat.created_at, chat.chat_id.clone());
            let chats = self.chats();
            let of_workflow = |chat: &&Chat| {
                chat.session.app_id == *app_id
                    && chat.session.workflow_name == *workflow_name
                    && after.as_ref().is_none_or(|after| key(&chat.session) < *after)
            };
            let mut chats: Vec<&Chat> = chats.values().filter(of_workflow).collect();
            chats.sort_by_key(|chat| Reverse(key(&chat.session)));
            let stats = |chat: &Chat| ChatStats {
                chat_id: chat.session.chat_id.clone(),
                started_at: chat.session.created_at,
                status: Some(chat.session.status).filter(|_| !chat.session.is_uncounted),
                duration_ms: chat.session.status.is_ended().then(|| chat.session.duration_ms()),
                usage: chat.usage(),
            };
            Ok(ChatStatsPage::cut(chats.into_iter().map(stats).collect(), limit))
        })
        .await
    }

    async fn app_stats(&self, app_id: &AppId) -> Result<Vec<WorkflowSummary>, StoreError> {
        self.observe(Call::AppStats, || {
            let total = RollupKey { subject: Subject::Workflow, hour: None };
            let rollups = self.rollups(app_id).into_iter();
            let counted_at = held(&self.counted_at);
            let summary = |(workflow_name, mut rollups): (WorkflowName, BTreeMap<_, _>)| {
                let workflow = (app_id.clone(), workflow_name.clone());
                let last_updated_at = counted_at.get(&workflow).copied();
                let total = rollups.remove(&total)?;
                Some(WorkflowSummary { workflow_name, total, last_updated_at })
            };
            Ok(rollups.filter_map(summary).collect())
        })
        .await
    }

    async fn hourly_stats(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        self.observe(Call::HourlyStats, || {
            Ok(self.hours_of(app_id, workflow_name, &Subject::Workflow, &range))
        })
        .await
    }

    async fn list_user_stats(
        &self,
        app_id: &AppId,
        filter: &UsageFilter,
        limit: usize,
        after: Option<&UserStatsCursor>,
    ) -> Result<UserStatsPage, StoreError> {
        self.observe(Call::ListUserStats, || {
            let order = &filter.order;
            let mut sums: BTreeMap<UserId, Rollup> = BTreeMap::new();
            for (key, rollup) in self.rollups(app_id).into_values().flatten() {
                if let Subject::User(user_id) = key.subject
                    && counts(filter, key.hour)
                {
                    sums.entry(user_id).or_default().merge(&rollup, 1);
                }
            }
            let position =
                |user: &UserUsage| (Reverse(order.number(&user.usage)), user.user_id.clone());
            let after = after.map(|after| (Reverse(after.number), after.user_id.clone()));
            let users = sums.into_iter().map(|(user_id, rollup)| {
                let usage = rollup.usage();
                UserUsage { user_id, usage }
            });
            let mut users: Vec<_> =
                users.filter(|user| after.as_ref().is_none_or(|it| position(user) > *it)).collect();
            users.sort_by_key(position);
            Ok(UserStatsPage::cut(users, limit, *order))
        })
        .await
    }

    async fn usage_by(
        &self,
        app_id: &AppId,
        by: UsageBy,
        filter: &UsageFilter,
        limit: usize,
    ) -> Result<UsageShares, StoreError> {
        self.observe(Call::UsageBy, || {
            let mut sums: BTreeMap<Subject, Rollup> = BTreeMap::new();
            for (key, rollup) in self.rollups(app_id).into_values().flatten() {
                if by.has(&key.subject) && counts(filter, key.hour) {
                    sums.entry(key.subject).or_default().merge(&rollup, 1);
                }
            }
            let shares = sums.into_iter().map(|(subject, rollup)| (subject, rollup.usage()));
            let mut shares: Vec<_> = shares.filter(|(_, usage)| usage.calls > 0).collect();
            shares.sort_by_key(|(_, usage)| Reverse(filter.order.number(usage)));
            Ok(UsageShares::cut(shares, limit))
        })
        .await
    }

    async fn user_stats(&self, app_id: &AppId, user_id: &UserId) -> Result<UserStats, StoreError> {
        self.observe(Call::UserStats, || {
            let key = RollupKey { subject: Subject::User(user_id.clone()), hour: None };
            let workflows = self.rollups(app_id).into_iter();
            let of_user = workflows.filter_map(|(name, mut rollups)| {
                rollups.remove(&key).map(|rollup| (name, rollup))
            });
            Ok(UserStats::of(of_user))
        })
        .await
    }

    async fn hourly_user_stats(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        self.observe(Call::HourlyUserStats, || {
            Ok(self.hours_of(app_id, None, &Subject::User(user_id.clone()), &range))
        })
        .await
    }

    async fn hourly_usage(
        &self,
        app_id: &AppId,
        subjects: &[Subject],
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyUsage>, StoreError> {
        self.observe(Call::HourlyUsage, || {
            let mut sums: BTreeMap<(Subject, DateTime<Utc>), Rollup> = BTreeMap::new();
            for subject in BTreeSet::from_iter(subjects) {
                for HourlyStats { hour, rollup, .. } in self.hours_of(app_id, None, subject, &range)
                {
                    sums.entry((subject.clone(), hour)).or_default().merge(&rollup, 1);
                }
            }
            let usage = |((subject, hour), rollup): (_, Rollup)| {
                let usage = rollup.usage();
                HourlyUsage { subject, hour, usage }
            };
            Ok(sums.into_iter().map(usage).filter(|it| it.usage.calls > 0).collect())
        })
        .await
    }

    async fn list_apps_with_stats(
        &self,
        limit: usize,
        after: Option<&AppId>,
    ) -> Result<CountedApps, StoreError> {
        self.observe(Call::ListAppsWithStats, || {
            let chats = self.chats();
            let apps = chats.values().map(|chat| &chat.session.app_id);
            let apps: BTreeSet<_> =
                apps.filter(|app| after.is_none_or(|after| *app > after)).collect();
            Ok(CountedApps::cut(apps.into_iter().cloned().collect(), limit))
        })
        .await
    }
}

impl MemoryStore {
    /// Records that the stats of a workflow have changed.
    pub(super) fn count(&self, chat: &ChatSession, now: DateTime<Utc>) {
        let workflow = (chat.app_id.clone(), chat.workflow_name.clone());
        held(&self.counted_at).insert(workflow, now);
    }

    /// Returns the rollups of a subject in each hour of a range, of one workflow or of all.
    fn hours_of(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        subject: &Subject,
        range: &Range<DateTime<Utc>>,
    ) -> Vec<HourlyStats> {
        let mut hours = Vec::new();
        for (name, rollups) in self.rollups(app_id) {
            if workflow_name.is_some_and(|wanted| *wanted != name) {
                continue;
            }
            for (key, rollup) in rollups {
                if let Some(hour) = key.hour
                    && key.subject == *subject
                    && range.contains(&hour)
                {
                    hours.push(HourlyStats { workflow_name: name.clone(), hour, rollup });
                }
            }
        }
        hours
    }

    fn rollups(&self, app_id: &AppId) -> BTreeMap<WorkflowName, BTreeMap<RollupKey, Rollup>> {
        let mut tallies: BTreeMap<WorkflowName, Tally> = BTreeMap::new();
        let chats = self.chats();
        for chat in chats.values().filter(|chat| chat.session.app_id == *app_id) {
            let tally = tallies.entry(chat.session.workflow_name.clone()).or_default();
            tally.chat(&chat.session, 1);
            chat.status_changes.iter().for_each(|change| tally.status_change(change));
            for kept in &chat.calls {
                tally.call(&kept.call, 1);
                if let Some(user_id) = &chat.counted_user {
                    tally.user_call(user_id, &kept.call, 1);
                }
            }
            tally.usage(&Usage::default(), &chat.usage());
        }
        tallies.into_iter().map(|(name, tally)| (name, tally.finish())).collect()
    }
}

/// Returns whether a filter counts the rollups of an hour, or those of all hours together.
fn counts(filter: &UsageFilter, hour: Option<DateTime<Utc>>) -> bool {
    match (&filter.range, hour) {
        (None, hour) => hour.is_none(),
        (Some(range), hour) => hour.is_some_and(|hour| range.contains(&hour)),
    }
}

impl Chat {
    /// Returns the summed usage of its calls.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        self.calls.iter().for_each(|kept| usage.add(&kept.call));
        usage
    }
}

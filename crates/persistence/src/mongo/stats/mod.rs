//! The rollups of workflows: the sums over their chats and calls, updated with every change.

mod count;
mod difference;
mod owners;
mod proof;
mod stripes;
mod users;

pub(crate) use count::Counted;
pub use difference::StatsDifference;
pub(crate) use proof::MAX_STEP;
pub use proof::Workflow;
pub(crate) use stripes::{Stripe, Stripes};
use users::hours_filter;

use std::collections::BTreeMap;
use std::ops::Range;

use async_trait::async_trait;
use bson::{Bson, DateTime as BsonTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use mongodb::Collection;
use records::{AppId, Rollup, Subject, UserId, WorkflowName};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{AGENT, CHAT, MODEL, StoredRollup, WORKFLOW, chat_stats};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::{limit_and_one, older_than};
use crate::store::{
    ChatStatsPage, CountedApps, Cursor, HourlyStats, HourlyUsage, Stats, UsageBy, UsageFilter,
    UsageShares, UserStats, UserStatsCursor, UserStatsPage, WorkflowStats, WorkflowSummary,
    most_expensive_first,
};

#[async_trait]
impl Stats for MongoStore {
    async fn workflow_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError> {
        self.observe(Call::WorkflowStats, None, async {
            let query = doc! {
                "_id.app_id": app_id.as_str(),
                "_id.kind": { "$in": [WORKFLOW, AGENT, MODEL] },
                "_id.workflow_name": workflow_name.as_str(),
                "_id.hour": Bson::Null,
            };
            let mut stats = WorkflowStats::default();
            let (mut agents, mut models) = (BTreeMap::new(), BTreeMap::new());
            for raw in &self.rollups(query).await? {
                let stored = StoredRollup::read(raw)?;
                stats.last_updated_at = stats.last_updated_at.max(stored.last_updated_at);
                let rollup = match &stored.key.subject {
                    Subject::Workflow => &mut stats.total,
                    Subject::Agent(agent) => agents.entry(agent.clone()).or_default(),
                    Subject::Model(model) => models.entry(model.clone()).or_default(),
                    Subject::Chat(_) | Subject::User(_) => continue,
                };
                stored.add_to(rollup)?;
            }
            // All calls of an agent or model may have been deleted.
            stats.agents = agents.into_iter().filter(|(_, rollup)| !rollup.is_zero()).collect();
            stats.models = models.into_iter().filter(|(_, rollup)| !rollup.is_zero()).collect();
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
        self.observe(Call::ListChatStats, None, async {
            let mut query = doc! {
                "_id.app_id": app_id.as_str(),
                "_id.workflow_name": workflow_name.as_str(),
                "_id.kind": CHAT,
                "started_at": { "$gte": BsonTime::MIN },
            };
            if let Some(Cursor { created_at, chat_id }) = after {
                let older = older_than("started_at", *created_at, "_id.name", chat_id.as_str());
                query.insert("$and", older.to_vec());
            }
            let list = || async {
                let find = self.inner.workflow_stats.find(query.clone());
                let find = find.sort(doc! { "started_at": -1, "_id.name": -1 });
                let found: Vec<_> = find.limit(limit_and_one(limit)).await?.try_collect().await?;
                Ok(found)
            };
            let found: Vec<RawDocumentBuf> = self.read(list).await?;
            let chats = found.iter().map(chat_stats).collect::<Result<_, _>>()?;
            Ok(ChatStatsPage::cut(chats, limit))
        })
        .await
    }

    async fn app_stats(&self, app_id: &AppId) -> Result<Vec<WorkflowSummary>, StoreError> {
        self.observe(Call::AppStats, None, async {
            let query = doc! {
                "_id.app_id": app_id.as_str(),
                "_id.kind": WORKFLOW,
                "_id.hour": Bson::Null,
            };
            let mut workflows: BTreeMap<WorkflowName, (Rollup, Option<DateTime<Utc>>)> =
                BTreeMap::new();
            for raw in &self.rollups(query).await? {
                let stored = StoredRollup::read(raw)?;
                let workflow = workflows.entry(stored.workflow_name.clone());
                let (total, last_updated_at) = workflow.or_default();
                stored.add_to(total)?;
                *last_updated_at = stored.last_updated_at.max(*last_updated_at);
            }
            let summary = |(workflow_name, (total, last_updated_at))| WorkflowSummary {
                workflow_name,
                total,
                last_updated_at,
            };
            Ok(workflows.into_iter().map(summary).collect())
        })
        .await
    }

    async fn hourly_stats(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        self.observe(Call::HourlyStats, None, async {
            let mut query = doc! {
                "_id.app_id": app_id.as_str(),
                "_id.kind": WORKFLOW,
                "_id.hour": hours_filter(&range),
            };
            if let Some(workflow_name) = workflow_name {
                query.insert("_id.workflow_name", workflow_name.as_str());
            }
            sum_hours(&self.rollups(query).await?)
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
        let read = self.read(|| self.users_by_usage(app_id, filter, limit, after));
        self.observe(Call::ListUserStats, None, read).await
    }

    async fn usage_by(
        &self,
        app_id: &AppId,
        by: UsageBy,
        filter: &UsageFilter,
        limit: usize,
    ) -> Result<UsageShares, StoreError> {
        let read = self.read(|| self.shares_of_usage(app_id, by, filter, limit));
        self.observe(Call::UsageBy, None, read).await
    }

    async fn user_stats(&self, app_id: &AppId, user_id: &UserId) -> Result<UserStats, StoreError> {
        let read = self.read(|| self.usage_of_user(app_id, user_id));
        self.observe(Call::UserStats, None, read).await
    }

    async fn hourly_user_stats(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        let read = self.read(|| self.hours_of_user(app_id, user_id, &range));
        self.observe(Call::HourlyUserStats, None, read).await
    }

    async fn hourly_usage(
        &self,
        app_id: &AppId,
        subjects: &[Subject],
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyUsage>, StoreError> {
        let read = self.read(|| self.hours_of_subjects(app_id, subjects, &range));
        self.observe(Call::HourlyUsage, None, read).await
    }

    async fn list_apps_with_stats(
        &self,
        limit: usize,
        after: Option<&AppId>,
    ) -> Result<CountedApps, StoreError> {
        self.observe(Call::ListAppsWithStats, None, async {
            let after = after.map_or("", AppId::as_str);
            let list = || async {
                let later = doc! { "_id.app_id": { "$gt": after } };
                let apps = names_in(&self.inner.workflow_stats, "_id.app_id", later).await?;
                let apps = apps.into_iter().filter_map(|app| AppId::parse(app).ok());
                let mut apps: Vec<_> = apps.collect();
                apps.sort();
                Ok(CountedApps::cut(apps, limit))
            };
            self.read(list).await
        })
        .await
    }
}

/// Returns the different texts that a field has in the documents that a query finds.
///
/// The command `distinct` is not part of the stable API of the server, and answers at most 16 MiB.
async fn names_in(
    collection: &Collection<RawDocumentBuf>,
    field: &str,
    query: Document,
) -> Result<Vec<String>, Failure> {
    let stages = [doc! { "$match": query }, doc! { "$group": { "_id": format!("${field}") } }];
    let groups: Vec<Document> = collection.aggregate(stages).await?.try_collect().await?;
    let name = |group: &Document| group.get_str("_id").ok().map(str::to_owned);
    Ok(groups.iter().filter_map(name).collect())
}

impl MongoStore {
    async fn rollups(&self, query: Document) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let read = || async {
            let find = self.inner.workflow_stats.find(query.clone());
            Ok::<_, Failure>(find.await?.try_collect().await?)
        };
        self.read(read).await
    }
}

/// Adds up the documents of each hour of each workflow. Hours without any change are left out.
fn sum_hours(found: &[RawDocumentBuf]) -> Result<Vec<HourlyStats>, StoreError> {
    let mut hours: BTreeMap<(WorkflowName, DateTime<Utc>), Rollup> = BTreeMap::new();
    for raw in found {
        let stored = StoredRollup::read(raw)?;
        if let Some(hour) = stored.key.hour {
            let rollup = hours.entry((stored.workflow_name.clone(), hour)).or_default();
            stored.add_to(rollup)?;
        }
    }
    let hourly = |((workflow_name, hour), rollup)| HourlyStats { workflow_name, hour, rollup };
    Ok(hours.into_iter().map(hourly).filter(|hourly| !hourly.rollup.is_zero()).collect())
}

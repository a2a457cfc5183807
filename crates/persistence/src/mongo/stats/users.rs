//! Reads the usage of the chats that users own.

use std::collections::BTreeMap;
use std::ops::Range;

use bson::{Bson, DateTime as BsonTime, Document, RawDocument, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Aggregate, Find};
use records::{AppId, Rollup, Tokens, Usage, UserId, WorkflowName};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::collections::stats_index;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{COUNTED_USER, StoredRollup, USER, counter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{
    HourlyStats, UserOrder, UserStats, UserStatsCursor, UserStatsFilter, UserStatsPage, UserUsage,
};

/// The sums of calls, by their names.
const SUMS: [&str; 6] = [
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cost_micros_usd",
    "duration_ms",
];

impl MongoStore {
    /// Adds up the rollups of each user, and sorts the sums, in the database: no index has the sums of several documents.
    pub(super) async fn users_by_usage(
        &self,
        app_id: &AppId,
        filter: &UserStatsFilter,
        limit: usize,
        after: Option<&UserStatsCursor>,
    ) -> Result<UserStatsPage, Failure> {
        self.require(Shape::CompleteUserUsage).await?;
        let pipeline = pipeline(app_id, filter, limit, after);
        let found = hinted(stats_index("ws_app_kind_hour"), |hint| async {
            let sums = self.inner.workflow_stats.aggregate(pipeline.clone());
            let sums = sums.optional(hint, Aggregate::hint).with_type::<RawDocumentBuf>();
            Ok(sums.await?.try_collect::<Vec<_>>().await?)
        });
        let users = found.await?.iter().map(|raw| user_usage(raw)).collect::<Result<_, _>>()?;
        Ok(UserStatsPage::cut(users, limit, filter.order))
    }

    pub(super) async fn usage_of_user(
        &self,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<UserStats, Failure> {
        let mut workflows: BTreeMap<WorkflowName, Rollup> = BTreeMap::new();
        for raw in &self.user_rollups(app_id, user_id, Bson::Null).await? {
            let stored = StoredRollup::read(raw)?;
            stored.add_to(workflows.entry(stored.workflow_name.clone()).or_default())?;
        }
        Ok(UserStats::of(workflows))
    }

    pub(super) async fn hours_of_user(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        range: &Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, Failure> {
        let found = self.user_rollups(app_id, user_id, hours_filter(range).into()).await?;
        Ok(super::sum_hours(&found)?)
    }

    async fn user_rollups(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        hour: Bson,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        self.require(Shape::CompleteUserUsage).await?;
        let filter = doc! {
            "_id.app_id": app_id.as_str(),
            COUNTED_USER: user_id.as_str(),
            "_id.kind": USER,
            "_id.hour": hour,
        };
        hinted(stats_index("ws_app_user_kind_hour"), |hint| async {
            let find = self.inner.workflow_stats.find(filter.clone()).optional(hint, Find::hint);
            Ok(find.await?.try_collect().await?)
        })
        .await
    }
}

/// Returns the filter for the hours that begin within a range.
pub(super) fn hours_filter(range: &Range<DateTime<Utc>>) -> Document {
    let [from, to] = [range.start, range.end].map(BsonTime::from_chrono);
    doc! { "$gte": from, "$lt": to }
}

fn pipeline(
    app_id: &AppId,
    filter: &UserStatsFilter,
    limit: usize,
    after: Option<&UserStatsCursor>,
) -> [Document; 5] {
    let UserStatsFilter { range, order } = filter;
    let hour: Bson = range.as_ref().map_or(Bson::Null, |range| hours_filter(range).into());
    let by = match order {
        UserOrder::Cost => "cost_micros_usd",
        UserOrder::Tokens => "total_tokens",
        UserOrder::Calls => "calls",
    };
    let mut sums = doc! { "_id": "$_id.name", "schema_version": { "$max": "$schema_version" } };
    for name in SUMS {
        sums.insert(name, doc! { "$sum": format!("${name}") });
    }
    // All calls of a user may have been deleted.
    let mut left = doc! { "calls": { "$gt": 0 } };
    if let Some(UserStatsCursor { number, user_id }) = after {
        let number = counter(*number);
        let later = doc! { by: number, "_id": { "$gt": user_id.as_str() } };
        left.insert("$or", [doc! { by: { "$lt": number } }, later].to_vec());
    }
    [
        doc! { "$match": { "_id.app_id": app_id.as_str(), "_id.kind": USER, "_id.hour": hour } },
        doc! { "$group": sums },
        doc! { "$match": left },
        doc! { "$sort": { by: -1, "_id": 1 } },
        doc! { "$limit": limit_and_one(limit) },
    ]
}

/// Reads a sum of the pipeline.
fn user_usage(raw: &RawDocument) -> Result<UserUsage, StoreError> {
    let fields = Fields::open(WORKFLOW_STATS, "(the usage of a user)", raw)?;
    let usage = Usage {
        calls: fields.count("calls")?,
        tokens: Tokens {
            prompt: fields.count("prompt_tokens")?,
            completion: fields.count("completion_tokens")?,
            total: fields.count("total_tokens")?,
        },
        cost_micros: fields.count("cost_micros_usd")?,
        duration_ms: fields.count("duration_ms")?,
    };
    Ok(UserUsage { user_id: fields.parsed("_id")?, usage })
}

//! Reads the usage of the chats that users own, and the shares of agents and models.

use std::collections::BTreeMap;
use std::ops::Range;

use bson::{Bson, DateTime as BsonTime, Document, RawDocument, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Aggregate, Find};
use records::{AppId, Rollup, Subject, Tokens, Usage, UserId, WorkflowName};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::collections::stats_index;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    AGENT, COUNTED_USER, MODEL, StoredRollup, USER, counter, subject_key, subject_record,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{
    HourlyStats, HourlyUsage, UsageBy, UsageFilter, UsageOrder, UsageShares, UserStats,
    UserStatsCursor, UserStatsPage, UserUsage,
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
        filter: &UsageFilter,
        limit: usize,
        after: Option<&UserStatsCursor>,
    ) -> Result<UserStatsPage, Failure> {
        self.require(Shape::CompleteUserUsage).await?;
        let later = after.map(|UserStatsCursor { number, user_id }| {
            let (by, number) = (sum_of(filter.order), counter(*number));
            let later = doc! { by: number, "_id": { "$gt": user_id.as_str() } };
            [doc! { by: { "$lt": number } }, later].to_vec()
        });
        let found = self.sums(app_id, USER, filter, limit, later).await?;
        let users = found.iter().map(|raw| user_usage(raw)).collect::<Result<_, _>>()?;
        Ok(UserStatsPage::cut(users, limit, filter.order))
    }

    /// Adds up the rollups of each agent or of each model.
    pub(super) async fn shares_of_usage(
        &self,
        app_id: &AppId,
        by: UsageBy,
        filter: &UsageFilter,
        limit: usize,
    ) -> Result<UsageShares, Failure> {
        let kind = match by {
            UsageBy::Agent => AGENT,
            UsageBy::Model => MODEL,
        };
        let found = self.sums(app_id, kind, filter, limit, None).await?;
        let share = |raw: &RawDocumentBuf| {
            let fields = open_sum(raw)?;
            let subject = subject_record(kind, &fields, fields.field("_id")?)?;
            Ok::<_, StoreError>((subject, summed_usage(&fields)?))
        };
        let shares = found.iter().map(share).collect::<Result<_, _>>()?;
        Ok(UsageShares::cut(shares, limit))
    }

    /// Returns the sums of the rollups of one kind by name, sorted, and at most one more than the limit. `later`: one of
    /// these conditions must hold.
    async fn sums(
        &self,
        app_id: &AppId,
        kind: &str,
        filter: &UsageFilter,
        limit: usize,
        later: Option<Vec<Document>>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        self.aggregate_rollups(pipeline(app_id, kind, filter, limit, later)).await
    }

    /// Runs a pipeline over the rollups of some kind and hours of an app.
    async fn aggregate_rollups(
        &self,
        pipeline: Vec<Document>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        hinted(stats_index("ws_app_kind_hour"), |hint| async {
            let sums = self.inner.workflow_stats.aggregate(pipeline.clone());
            let sums = sums.optional(hint, Aggregate::hint).with_type::<RawDocumentBuf>();
            Ok(sums.await?.try_collect().await?)
        })
        .await
    }

    /// Adds up the rollups of each hour of some users, agents or models.
    pub(super) async fn hours_of_subjects(
        &self,
        app_id: &AppId,
        subjects: &[Subject],
        range: &Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyUsage>, Failure> {
        let mut kinds = BTreeMap::<&str, Vec<Bson>>::new();
        for subject in subjects {
            let (kind, name) = subject_key(subject);
            kinds.entry(kind).or_default().push(name);
        }
        if kinds.contains_key(USER) {
            self.require(Shape::CompleteUserUsage).await?;
        }
        let mut hours = Vec::new();
        for (kind, names) in kinds {
            let of_kind = doc! {
                "_id.app_id": app_id.as_str(),
                "_id.kind": kind,
                "_id.hour": hours_filter(range),
                "_id.name": { "$in": names },
            };
            let key = doc! { "name": "$_id.name", "hour": "$_id.hour" };
            let stages = vec![doc! { "$match": of_kind }, grouped(key)];
            let found = self.aggregate_rollups(stages).await?;
            for raw in &found {
                let fields = open_sum(raw)?;
                let id = fields.inside(fields.document("_id")?);
                let subject = subject_record(kind, &id, id.field("name")?)?;
                let hour = id.time("hour")?;
                hours.push(HourlyUsage { subject, hour, usage: summed_usage(&fields)? });
            }
        }
        // All calls of an hour may have been deleted.
        hours.retain(|it| it.usage.calls > 0);
        hours.sort_by(|one, other| (&one.subject, one.hour).cmp(&(&other.subject, other.hour)));
        Ok(hours)
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

/// Returns the name of the sum by which usage is sorted.
fn sum_of(order: UsageOrder) -> &'static str {
    match order {
        UsageOrder::Cost => "cost_micros_usd",
        UsageOrder::Tokens => "total_tokens",
        UsageOrder::Calls => "calls",
    }
}

fn pipeline(
    app_id: &AppId,
    kind: &str,
    filter: &UsageFilter,
    limit: usize,
    later: Option<Vec<Document>>,
) -> Vec<Document> {
    let UsageFilter { range, order } = filter;
    let hour: Bson = range.as_ref().map_or(Bson::Null, |range| hours_filter(range).into());
    // All calls of a name may have been deleted.
    let mut left = doc! { "calls": { "$gt": 0 } };
    if let Some(later) = later {
        left.insert("$or", later);
    }
    vec![
        doc! { "$match": { "_id.app_id": app_id.as_str(), "_id.kind": kind, "_id.hour": hour } },
        grouped("$_id.name"),
        doc! { "$match": left },
        doc! { "$sort": { sum_of(*order): -1, "_id": 1 } },
        doc! { "$limit": limit_and_one(limit) },
    ]
}

/// Returns the stage that adds up the rollups with the same key.
fn grouped(key: impl Into<Bson>) -> Document {
    let mut sums = doc! { "_id": key.into(), "schema_version": { "$max": "$schema_version" } };
    for name in SUMS {
        sums.insert(name, doc! { "$sum": format!("${name}") });
    }
    doc! { "$group": sums }
}

fn open_sum(raw: &RawDocument) -> Result<Fields<'_>, StoreError> {
    Fields::open(WORKFLOW_STATS, "(a sum)", raw)
}

fn user_usage(raw: &RawDocument) -> Result<UserUsage, StoreError> {
    let fields = open_sum(raw)?;
    Ok(UserUsage { user_id: fields.parsed("_id")?, usage: summed_usage(&fields)? })
}

/// Reads a sum of the pipeline.
fn summed_usage(fields: &Fields<'_>) -> Result<Usage, StoreError> {
    Ok(Usage {
        calls: fields.count("calls")?,
        tokens: Tokens {
            prompt: fields.count("prompt_tokens")?,
            completion: fields.count("completion_tokens")?,
            total: fields.count("total_tokens")?,
        },
        cost_micros: fields.count("cost_micros_usd")?,
        duration_ms: fields.count("duration_ms")?,
    })
}

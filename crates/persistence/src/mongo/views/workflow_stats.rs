//! The statistics of each workflow as one document.

use bson::{Bson, Document, doc};
use records::{ChatStatus, Counter, Measure};

use super::View;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::documents::{AGENT, CHAT, WORKFLOW};

/// The number of chats in a document, the newest: as many as the API returns with a workflow.
const LISTED_CHATS: i32 = 100;

pub(super) fn view() -> View {
    View { name: "mozaiks.workflow_stats", source: WORKFLOW_STATS, pipeline: pipeline() }
}

fn pipeline() -> Vec<Document> {
    vec![
        doc! { "$match": { "_id.kind": WORKFLOW, "_id.hour": Bson::Null } },
        doc! { "$group": totals() },
        doc! { "$set": { "app_id": "$_id.app_id", "workflow_name": "$_id.workflow_name" } },
        doc! { "$lookup": agents() },
        doc! { "$lookup": chats() },
        doc! { "$project": {
            "_id": { "$concat": ["mon_", "$app_id", "_", "$workflow_name"] },
            "app_id": 1,
            "workflow_name": 1,
            "last_updated_at": 1,
            "overall_avg": averages(),
            "chat_sessions": { "$arrayToObject": "$chats" },
            "agents": { "$arrayToObject": "$agents" },
        } },
    ]
}

fn field(counter: Counter) -> String {
    format!("${}", counter.name())
}

fn sum(counter: Counter) -> Document {
    doc! { "$sum": field(counter) }
}

fn or_zero(counter: Counter) -> Document {
    doc! { "$ifNull": [field(counter), 0] }
}

fn dollars(micros: impl Into<Bson>) -> Document {
    doc! { "$divide": [micros.into(), 1_000_000] }
}

/// The sums over the documents of a workflow.
fn totals() -> Document {
    let buckets = format!("$histograms.{}", Measure::ChatDuration.name());
    let buckets = doc! { "$objectToArray": { "$ifNull": [buckets, {}] } };
    let counts = doc! { "$map": { "input": buckets, "as": "bucket", "in": "$$bucket.v" } };
    doc! {
        "_id": { "app_id": "$_id.app_id", "workflow_name": "$_id.workflow_name" },
        "last_updated_at": { "$max": "$last_updated_at" },
        "started": sum(Counter::Starts),
        "ended": { "$sum": { "$sum": counts } },
        "duration_ms": sum(Counter::ChatDurationMs),
        "prompt": sum(Counter::PromptTokens),
        "completion": sum(Counter::CompletionTokens),
        "total": sum(Counter::TotalTokens),
        "cost": sum(Counter::CostMicros),
    }
}

/// The averages of durations over the chats that have ended, and of all else over all chats.
fn averages() -> Document {
    let over = |sum: &str, count: &str| {
        let is_none = doc! { "$lte": [count, 0] };
        doc! { "$cond": [is_none, 0, { "$divide": [sum, count] }] }
    };
    let whole = |sum: &str| doc! { "$toLong": { "$floor": over(sum, "$started") } };
    doc! {
        "avg_duration_sec": { "$divide": [over("$duration_ms", "$ended"), 1_000] },
        "avg_prompt_tokens": whole("$prompt"),
        "avg_completion_tokens": whole("$completion"),
        "avg_total_tokens": whole("$total"),
        "avg_cost_total_usd": dollars(over("$cost", "$started")),
    }
}

/// Begins the look-up of the rollups of one kind of a workflow for all time.
fn rollups(kind: &str) -> Document {
    let of_workflow = doc! { "$and": [
        { "$eq": ["$_id.app_id", "$$app"] },
        { "$eq": ["$_id.workflow_name", "$$workflow"] },
        { "$eq": ["$_id.kind", kind] },
    ] };
    doc! { "$match": { "$expr": of_workflow, "_id.hour": Bson::Null } }
}

fn look_up(pipeline: Vec<Document>, name: &str) -> Document {
    doc! {
        "from": WORKFLOW_STATS,
        "let": { "app": "$app_id", "workflow": "$workflow_name" },
        "pipeline": pipeline,
        "as": name,
    }
}

/// The usage of each agent that has a name, as pairs of name and usage.
fn agents() -> Document {
    let pipeline = vec![
        rollups(AGENT),
        doc! { "$match": { "_id.name": { "$ne": Bson::Null } } },
        doc! { "$group": {
            "_id": "$_id.name",
            "calls": sum(Counter::Calls),
            "prompt": sum(Counter::PromptTokens),
            "completion": sum(Counter::CompletionTokens),
            "cost": sum(Counter::CostMicros),
        } },
        // All calls of an agent may have been deleted.
        doc! { "$match": { "calls": { "$gt": 0 } } },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$project": { "_id": 0, "k": "$_id", "v": {
            "total_prompt_tokens": "$prompt",
            "total_completion_tokens": "$completion",
            "total_cost_usd": dollars("$cost"),
        } } },
    ];
    look_up(pipeline, "agents")
}

/// The newest chats, as pairs of id and usage.
fn chats() -> Document {
    let open = ChatStatus::ALL.into_iter().filter(|status| !status.is_ended());
    let open: Vec<_> =
        open.map(|status| doc! { "$gt": [field(Counter::for_status(status)), 0] }).collect();
    let until_now = doc! { "$max": [0, { "$subtract": ["$$NOW", "$started_at"] }] };
    let duration_ms =
        doc! { "$cond": [{ "$or": open }, until_now, or_zero(Counter::ChatDurationMs)] };
    let pipeline = vec![
        rollups(CHAT),
        doc! { "$sort": { "started_at": -1, "_id.name": -1 } },
        doc! { "$limit": LISTED_CHATS },
        doc! { "$project": { "_id": 0, "k": "$_id.name", "v": {
            "duration_sec": { "$divide": [duration_ms, 1_000] },
            "prompt_tokens": or_zero(Counter::PromptTokens),
            "completion_tokens": or_zero(Counter::CompletionTokens),
            "total_tokens": or_zero(Counter::TotalTokens),
            "cost_total_usd": dollars(or_zero(Counter::CostMicros)),
        } } },
    ];
    look_up(pipeline, "chats")
}

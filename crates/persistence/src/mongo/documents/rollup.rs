use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, DurationRound, TimeDelta, Utc};
use records::{AppId, ChatId, ProviderCall, Tokens, Usage, WorkflowName};

use super::super::failure::Failure;
use super::super::fields::Fields;
use super::{SCHEMA_VERSION, counter, encode};
use crate::StoreError;

/// What a rollup counts: the calls of one workflow that something is common to.
///
/// Names stand in values alone, never in field names or paths, and each in a field of its own: no two
/// rollups can be taken for each other, whatever the names are.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct RollupKey {
    kind: &'static str,
    /// What they have in common, besides the workflow.
    name: Bson,
    /// The hour they were made in; `None`: whenever.
    hour: Option<Time<Utc>>,
    /// Which of several documents that count the same: so that not all calls of a busy workflow
    /// wait for one.
    stripe: u32,
}

/// How many documents count the same.
pub(in super::super) const STRIPES: u32 = 16;

impl RollupKey {
    /// Returns the rollup of a chat's calls.
    pub(in super::super) fn chat(chat_id: &ChatId) -> Self {
        Self { kind: "chat", name: chat_id.as_str().into(), hour: None, stripe: 0 }
    }

    /// Returns all rollups that a call of a chat counts for.
    pub(in super::super) fn of(chat_id: &ChatId, call: &ProviderCall, stripe: u32) -> Vec<Self> {
        let model = doc! {
            "provider": call.used.provider.as_deref(),
            "model": call.used.model.as_deref(),
        };
        let named = [
            ("workflow", Bson::Null),
            ("agent", call.agent.as_deref().into()),
            ("model", model.into()),
        ];
        let hour = call.called_at.duration_trunc(TimeDelta::hours(1)).ok();
        let mut keys = vec![Self::chat(chat_id)];
        for (kind, name) in named {
            keys.push(Self { kind, name: name.clone(), hour: None, stripe });
            keys.push(Self { kind, name, hour, stripe });
        }
        keys
    }

    /// Returns the id of the rollup's document.
    pub(in super::super) fn id(&self, app_id: &AppId, workflow_name: &WorkflowName) -> Document {
        doc! {
            "app_id": app_id.as_str(),
            "workflow_name": workflow_name.as_str(),
            "kind": self.kind,
            "name": self.name.clone(),
            "hour": self.hour.map(DateTime::from_chrono),
            "stripe": i64::from(self.stripe),
        }
    }
}

/// Returns the statement that adds to a rollup.
pub(in super::super) fn rollup_statement(
    id: Document,
    usage: &Usage,
) -> Result<RawDocumentBuf, Failure> {
    encode(&doc! {
        "q": { "_id": id },
        "u": {
            "$inc": {
                "calls": counter(usage.calls),
                "prompt_tokens": counter(usage.tokens.prompt),
                "completion_tokens": counter(usage.tokens.completion),
                "total_tokens": counter(usage.tokens.total),
                "cost_micros_usd": counter(usage.cost_micros),
                "duration_ms": counter(usage.duration_ms),
            },
            "$setOnInsert": { "schema_version": SCHEMA_VERSION },
        },
        "upsert": true,
    })
}

/// Reads what a rollup counted.
pub(in super::super) fn rollup_usage(fields: &Fields<'_>) -> Result<Usage, StoreError> {
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

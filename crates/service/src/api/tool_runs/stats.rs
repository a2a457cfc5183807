use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, Utc};
use operation::operation;
use persistence::{Began, Store};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::{Time, ToolStatsFields};

/// When the runs began.
#[derive(Debug, IntoParams)]
pub(crate) struct BeganQuery {
    /// Only runs that began at this time or later.
    #[param(value_type = Option<Time>)]
    from: Option<DateTime<Utc>>,
    /// Only runs that began before this time.
    #[param(value_type = Option<Time>)]
    before: Option<DateTime<Utc>>,
}

impl FromParams for BeganQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let [from, before] = params.take_span("from", "before")?;
        Ok(Self { from, before })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl From<BeganQuery> for Began {
    fn from(BeganQuery { from, before }: BeganQuery) -> Self {
        Self { from, before }
    }
}

/// The sums of the runs of the tools of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatToolStatsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[serde(flatten)]
    stats: ToolStatsFields,
}

/// Sums up the runs of the tools of a chat, as far as they are still kept.
#[operation(answers = "The sums")]
pub(crate) async fn get_chat_tool_stats(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<BeganQuery>,
) -> Result<Json<ChatToolStatsResponse>, Problem> {
    let stats = store.chat_tool_stats(&scope, &chat_id, &query.into()).await?;
    Ok(Json(ChatToolStatsResponse { chat_id: chat_id.into(), stats: stats.into() }))
}

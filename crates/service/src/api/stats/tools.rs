use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::tool_runs::stats::BeganQuery;
use crate::extract::{AppStatsScope, Json, Query};
use crate::problem::Problem;
use crate::wire::ToolStatsFields;

/// The sums of the runs of the tools of an app.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppToolStatsResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[serde(flatten)]
    stats: ToolStatsFields,
}

/// Sums up the runs of the tools of all chats of an app, as far as they are still kept.
#[operation(answers = "The sums")]
pub(crate) async fn get_app_tool_stats(
    State(store): State<Arc<dyn Store>>,
    AppStatsScope(app_id): AppStatsScope,
    Query(query): Query<BeganQuery>,
) -> Result<Json<AppToolStatsResponse>, Problem> {
    let stats = store.app_tool_stats(&app_id, &query.into()).await?;
    Ok(Json(AppToolStatsResponse { app_id: app_id.into(), stats: stats.into() }))
}

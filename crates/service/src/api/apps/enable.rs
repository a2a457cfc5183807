use axum::extract::State;
use records::AppStatus;

use super::AppResponse;
use super::change::set_status;
use crate::extract::{Json, OperatedApp, OptionalJson, Query};
use crate::openapi::AppPath;
use crate::problem::{ChangeAppProblems, Problem};
use crate::state::AppState;
use crate::wire::EmptyRequest;

/// Enables a disabled app.
///
/// Other service processes apply the change within `apps.cache_ms`. Idempotent.
#[utoipa::path(
    post, path = "/api/apps/{app_id}/enable", tag = "apps", operation_id = "enable_app",
    params(AppPath), request_body = Option<EmptyRequest>,
    security(("bearer_token" = ["administer"])),
    responses((status = 200, description = "The app, enabled", body = AppResponse), ChangeAppProblems),
)]
pub(crate) async fn enable_app(
    State(state): State<AppState>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<AppResponse>, Problem> {
    set_status(&state, &actor, &app_id, AppStatus::Enabled).await
}

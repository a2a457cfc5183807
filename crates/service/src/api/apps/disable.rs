use axum::extract::State;
use records::AppStatus;

use super::AppResponse;
use super::change::set_status;
use crate::extract::{Json, OperatedApp, OptionalJson, Query};
use crate::openapi::AppPath;
use crate::problem::{ChangeAppProblems, Problem};
use crate::state::AppState;
use crate::wire::EmptyRequest;

/// Disables an app: every request to it is refused; its data is kept.
///
/// Other service processes apply the change within `apps.cache_ms`. Idempotent.
#[utoipa::path(
    post, path = "/api/apps/{app_id}/disable", tag = "apps", operation_id = "disable_app",
    params(AppPath), request_body = Option<EmptyRequest>,
    security(("bearer_token" = ["administer"])),
    responses((status = 200, description = "The app, disabled", body = AppResponse), ChangeAppProblems),
)]
pub(crate) async fn disable_app(
    State(state): State<AppState>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<AppResponse>, Problem> {
    set_status(&state, &actor, &app_id, AppStatus::Disabled).await
}

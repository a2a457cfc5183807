use axum::extract::State;

use super::AppResponse;
use crate::extract::{Json, OperatedApp, OptionalJson, Query};
use crate::openapi::AppPath;
use crate::problem::{Problem, RegisterAppProblems};
use crate::state::AppState;
use crate::wire::EmptyRequest;

/// Registers an app as enabled.
///
/// Idempotent: an app that is registered already is returned unchanged, even if it is disabled.
#[utoipa::path(
    put, path = "/api/apps/{app_id}", tag = "apps", operation_id = "register_app",
    params(AppPath), request_body = Option<EmptyRequest>,
    security(("bearer_token" = ["administer"])),
    responses((status = 200, description = "The app", body = AppResponse), RegisterAppProblems),
)]
pub(crate) async fn register_app(
    State(state): State<AppState>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<AppResponse>, Problem> {
    let app = state.store.register_app(&actor, &app_id).await?;
    state.registry.forget(&app_id);
    Ok(Json(app.into()))
}

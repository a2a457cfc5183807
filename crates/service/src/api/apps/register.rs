use axum::extract::State;
use operation::operation;

use crate::extract::{Json, OperatedApp, OptionalJson, Query};
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::AppResponse;
use crate::wire::EmptyRequest;

/// Registers an app as enabled.
///
/// Idempotent: an app that is registered already is returned unchanged, even if it is disabled.
#[operation(answers = "The app")]
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

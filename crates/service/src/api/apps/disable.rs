use axum::extract::State;
use operation::operation;
use records::AppStatus;

use super::change::set_status;
use crate::extract::{Json, OperatedApp, OptionalJson, Query};
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::AppResponse;
use crate::wire::EmptyRequest;

/// Disables an app: every request to it is refused; its data is kept.
///
/// Other service processes apply the change within `apps.cache_ms`. Idempotent.
#[operation(answers = "The app, disabled", problems = [APP_NOT_FOUND])]
pub(crate) async fn disable_app(
    State(state): State<AppState>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<AppResponse>, Problem> {
    set_status(&state, &actor, &app_id, AppStatus::Disabled).await
}

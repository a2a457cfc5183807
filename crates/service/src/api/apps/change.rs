use records::{Actor, AppId, AppStatus};

use crate::extract::Json;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::AppResponse;

/// Sets the status of an app, and returns the app.
pub(super) async fn set_status(
    state: &AppState,
    actor: &Actor,
    app_id: &AppId,
    status: AppStatus,
) -> Result<Json<AppResponse>, Problem> {
    let app = state.store.set_app_status(actor, app_id, status).await?;
    state.registry.forget(app_id);
    Ok(Json(app.into()))
}

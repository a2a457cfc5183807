use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::AuditAction;

use crate::extract::{Json, OperatedApp, Query};
use crate::problem::Problem;
use crate::wire::AppResponse;

/// Returns a registered app.
#[operation(answers = "The app", problems = [APP_NOT_FOUND])]
pub(crate) async fn get_app(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
) -> Result<Json<AppResponse>, Problem> {
    let app = store.get_app(&app_id).await?;
    let app = app.ok_or_else(|| StoreError::AppNotFound(app_id.clone()))?;
    store.record_registry_read(&actor, Some(&app_id), AuditAction::GetApp).await?;
    Ok(Json(app.into()))
}

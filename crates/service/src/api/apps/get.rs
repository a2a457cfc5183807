use std::sync::Arc;

use axum::extract::State;
use persistence::{Store, StoreError};
use records::AuditAction;

use super::AppResponse;
use crate::extract::{Json, OperatedApp, Query};
use crate::openapi::AppPath;
use crate::problem::{AppNotFoundProblems, Problem};

/// Returns a registered app.
#[utoipa::path(
    get, path = "/api/apps/{app_id}", tag = "apps", operation_id = "get_app", params(AppPath),
    security(("bearer_token" = ["administer"])),
    responses((status = 200, description = "The app", body = AppResponse), AppNotFoundProblems),
)]
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

use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::{AppId, AuditAction};

use super::AppResponse;
use crate::api::pages::{Page, PageQuery};
use crate::extract::{Json, Operator, Query};
use crate::problem::{OperatorProblems, Problem};

/// Lists the registered apps, ordered by id.
#[utoipa::path(
    get, path = "/api/apps", tag = "apps", operation_id = "list_apps", params(PageQuery<AppId>),
    security(("bearer_token" = ["administer"])),
    responses(
        (status = 200, description = "A page of apps", body = Page<AppResponse>),
        OperatorProblems,
    ),
)]
pub(crate) async fn list_apps(
    State(store): State<Arc<dyn Store>>,
    Operator(identity): Operator,
    Query(query): Query<PageQuery<AppId>>,
) -> Result<Json<Page<AppResponse>>, Problem> {
    let mut page = store.list_apps(query.limit, query.cursor.as_ref()).await?;
    page.apps.retain(|app| identity.may_use_app(&app.app_id));
    store.record_registry_read(&identity.actor(), None, AuditAction::ListApps).await?;
    Ok(Json(Page::new(page.apps, page.next.as_ref())))
}

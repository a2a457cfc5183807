use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{AppId, AuditAction};

use crate::api::pages::{Page, PageQuery};
use crate::extract::{Operator, Query};
use crate::problem::Problem;
use crate::wire::AppResponse;

/// Lists the registered apps, ordered by id.
#[operation(answers = "A page of apps")]
pub(crate) async fn list_apps(
    State(store): State<Arc<dyn Store>>,
    Operator(identity): Operator,
    Query(query): Query<PageQuery<AppId>>,
) -> Result<Page<AppResponse>, Problem> {
    let mut page = store.list_apps(query.limit, query.cursor.as_ref()).await?;
    page.apps.retain(|app| identity.may_use_app(&app.app_id));
    store.record_registry_read(&identity.actor(), None, AuditAction::ListApps).await?;
    Ok(Page::new(page.apps, page.next.as_ref()))
}

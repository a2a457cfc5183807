use std::sync::Arc;

use axum::extract::State;
use persistence::{AppPage, Store};
use records::{AppId, AuditAction};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::AppResponse;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Operator, Params, Query};
use crate::problem::{OperatorProblems, Problem};

/// The page of apps to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListAppsQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    pub(crate) limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    pub(crate) cursor: Option<AppId>,
}

impl FromParams for ListAppsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { limit: params.take_limit(limits)?, cursor: params.take("cursor")? })
    }
}

/// A page of apps.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListAppsResponse {
    apps: Vec<AppResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl From<AppPage> for ListAppsResponse {
    fn from(page: AppPage) -> Self {
        Self {
            apps: page.apps.into_iter().map(Into::into).collect(),
            next_cursor: page.next.map(Into::into),
        }
    }
}

/// Lists the registered apps, ordered by id.
#[utoipa::path(
    get, path = "/api/apps", tag = "apps", operation_id = "list_apps", params(ListAppsQuery),
    security(("bearer_token" = ["administer"])),
    responses(
        (status = 200, description = "A page of apps", body = ListAppsResponse),
        OperatorProblems,
    ),
)]
pub(crate) async fn list_apps(
    State(store): State<Arc<dyn Store>>,
    Operator(identity): Operator,
    Query(query): Query<ListAppsQuery>,
) -> Result<Json<ListAppsResponse>, Problem> {
    let mut page = store.list_apps(query.limit, query.cursor.as_ref()).await?;
    page.apps.retain(|app| identity.may_use_app(&app.app_id));
    store.record_registry_read(&identity.actor(), None, AuditAction::ListApps).await?;
    Ok(Json(page.into()))
}

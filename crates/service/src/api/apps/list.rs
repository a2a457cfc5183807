use std::sync::Arc;

use axum::extract::State;
use persistence::{AppPage, Store};
use records::AppId;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::AppResponse;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Operator, Params, Query};
use crate::problem::{OperatorProblems, Problem};

/// Which apps to list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListAppsQuery {
    /// At most this many, 20 unless said, up to 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    pub(crate) limit: usize,
    /// The `next_cursor` of the page before.
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
    /// Where the next page begins; null when this is the last one.
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

/// Lists the registered apps in the order of their ids.
#[utoipa::path(
    get, path = "/api/apps", tag = "apps", operation_id = "list_apps", params(ListAppsQuery),
    responses(
        (status = 200, description = "A page of apps", body = ListAppsResponse),
        OperatorProblems,
    ),
)]
pub(crate) async fn list_apps(
    State(store): State<Arc<dyn Store>>,
    _operator: Operator,
    Query(query): Query<ListAppsQuery>,
) -> Result<Json<ListAppsResponse>, Problem> {
    let page = store.list_apps(query.limit, query.cursor.as_ref()).await?;
    Ok(Json(page.into()))
}

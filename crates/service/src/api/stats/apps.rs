use std::sync::Arc;

use axum::extract::State;
use futures::future::try_join_all;
use operation::operation;
use persistence::{Store, StoreError};
use records::{AppId, Rollup};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::PageQuery;
use crate::extract::{AllStatsScope, Json, Query};
use crate::problem::Problem;
use crate::wire::Summary;

/// A page of apps with statistics.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListAppStatsResponse {
    /// The apps of the page that the token names; a page may be empty without being the last.
    apps: Vec<AppSummary>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// The statistics of all workflows of an app together.
#[derive(Debug, Serialize, ToSchema)]
struct AppSummary {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[serde(flatten)]
    summary: Summary,
}

/// Lists the apps with the statistics of their workflows, ordered by id.
#[operation(answers = "A page of apps")]
pub(crate) async fn list_app_stats(
    State(store): State<Arc<dyn Store>>,
    AllStatsScope(identity): AllStatsScope,
    Query(query): Query<PageQuery<AppId>>,
) -> Result<Json<ListAppStatsResponse>, Problem> {
    let page = store.list_apps_with_stats(query.limit, query.cursor.as_ref()).await?;
    let summary = async |app_id: AppId| {
        let mut total = Rollup::default();
        for workflow in store.app_stats(&app_id).await? {
            total.merge(&workflow.total, 1);
        }
        Ok::<_, StoreError>(AppSummary { app_id: app_id.into(), summary: Summary::from(&total) })
    };
    let apps = page.apps.into_iter().filter(|app_id| identity.may_use_app(app_id));
    let apps = try_join_all(apps.map(summary)).await?;
    Ok(Json(ListAppStatsResponse { apps, next_cursor: page.next.map(Into::into) }))
}

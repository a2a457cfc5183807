use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::Json;
use crate::problem::HealthProblems;

/// The liveness of the process.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveResponse {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Returns 200 while the process runs, even if the store is unreachable.
#[utoipa::path(
    get, path = "/api/health/live", tag = "health", operation_id = "live", security(()),
    responses((status = 200, description = "The process runs", body = LiveResponse), HealthProblems),
)]
pub(crate) async fn live() -> Json<LiveResponse> {
    Json(LiveResponse { status: "ok" })
}

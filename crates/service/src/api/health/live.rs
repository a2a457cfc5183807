use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::Json;

/// The service runs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveResponse {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Answers as long as the service runs, with or without a store.
#[utoipa::path(
    get, path = "/api/health/live", tag = "health", operation_id = "live", security(()),
    responses((status = 200, description = "The service runs", body = LiveResponse)),
)]
pub(crate) async fn live() -> Json<LiveResponse> {
    Json(LiveResponse { status: "ok" })
}

use operation::operation;
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::Json;

/// The liveness of the process.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LiveResponse {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Returns 200 while the process runs, even if the store is unreachable.
#[operation(answers = "The process runs")]
pub(crate) async fn live() -> Json<LiveResponse> {
    Json(LiveResponse { status: "ok" })
}

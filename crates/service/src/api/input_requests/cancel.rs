use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use crate::api::chat_sessions::ReasonRequest;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, PathInputRequestId, Query};
use crate::openapi::{ChatPath, FencingHeader, InputRequestPath};
use crate::problem::{CancelInputProblems, Problem};
use crate::wire::InputRequestResponse;

/// Cancels an input request. The chat runs again unless other input requests are pending.
///
/// Idempotent: cancelling it again changes nothing.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/input-requests/{request_id}/cancel",
    tag = "input requests", operation_id = "cancel_input_request", params(ChatPath, InputRequestPath, FencingHeader),
    request_body = Option<ReasonRequest>,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The request, cancelled", body = InputRequestResponse),
        CancelInputProblems,
    ),
)]
pub(crate) async fn cancel_input_request(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    PathInputRequestId(request_id): PathInputRequestId,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<ReasonRequest>,
) -> Result<Json<InputRequestResponse>, Problem> {
    let reason = request.reason.as_deref();
    let cancelled = store.cancel_input_request(&scope, &chat_id, &request_id, reason).await?;
    Ok(Json(cancelled.into()))
}

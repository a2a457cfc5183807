use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::InputRequestId;

use crate::api::chat_sessions::ReasonRequest;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::wire::InputRequestResponse;

/// Cancels an input request. The chat runs again unless other input requests are pending.
///
/// Idempotent: cancelling it again changes nothing.
#[operation(answers = "The request, cancelled", problems = [INPUT_NOT_FOUND, INPUT_CLOSED])]
pub(crate) async fn cancel_input_request(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Path(request_id): Path<InputRequestId>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<ReasonRequest>,
) -> Result<Json<InputRequestResponse>, Problem> {
    let reason = request.reason.as_deref();
    let cancelled = store.cancel_input_request(&scope, &chat_id, &request_id, reason).await?;
    Ok(Json(cancelled.into()))
}

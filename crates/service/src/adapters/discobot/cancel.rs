use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{Store, StoreError};
use records::TurnOutcome;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::answer_streams::stop_streams;
use super::completion::{LastCompletion, turn_without_messages};
use super::question::cancel_pending;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json};
use crate::operation::Prepared;
use crate::problem::Problem;

/// The completion that was cancelled.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CancelledCompletion)]
pub(crate) struct CancelledResponse {
    success: bool,
    #[schema(example = "msg-1")]
    completion_id: String,
    #[schema(example = "cancelled")]
    status: &'static str,
}

/// Cancels the completion that is running, and the questions that wait for an answer.
///
/// The agent learns of it with its next chunks if it streams the answer, and otherwise when it finishes the completion, which is
/// refused. If none is running it is 409, `no_active_completion`.
#[operation(answers = "The completion is cancelled", problems = [CHAT_ENDED])]
pub(crate) async fn cancel_completion(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
) -> Result<Prepared<Json<CancelledResponse>>, Problem> {
    let running = match LastCompletion::find(&*store, &scope, &chat_id).await {
        Err(StoreError::ChatNotFound(_)) => None,
        last => last?.running(),
    };
    let Some(running) = running else { return Ok(no_active_completion()) };
    // First, so that a repeat of a request that broke off here finds the completion.
    stop_streams(&*store, &scope, &chat_id, Some(&running.id)).await?;
    let turn = turn_without_messages(running.id.clone(), TurnOutcome::Interrupted, None)?;
    match store.append_turn(&scope, &chat_id, turn).await {
        // It was finished meanwhile.
        Err(StoreError::TurnConflict { .. }) => return Ok(no_active_completion()),
        cancelled => cancelled?,
    };
    cancel_pending(&*store, &scope, &chat_id).await?;
    let completion_id = running.id.into();
    Ok(Prepared::new(Json(CancelledResponse { success: true, completion_id, status: "cancelled" })))
}

fn no_active_completion() -> Prepared<Json<CancelledResponse>> {
    Prepared::new((StatusCode::CONFLICT, Json(json!({"error": "no_active_completion"}))))
}

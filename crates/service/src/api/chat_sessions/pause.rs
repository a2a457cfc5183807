use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::ChatStatus;

use super::transition::{InterruptionRequest, Transition, transition};
use crate::admission::RequestMemory;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// Pauses a running chat.
///
/// Idempotent: pausing it again changes nothing.
#[operation(answers = "The chat session, paused", problems = [ILLEGAL_TRANSITION])]
pub(crate) async fn pause_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    memory: RequestMemory,
    OptionalJson(request): OptionalJson<InterruptionRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let InterruptionRequest { reason, context_snapshot: snapshot } = request;
    transition(store, memory, chat, Transition { next: ChatStatus::Paused, reason, snapshot }).await
}

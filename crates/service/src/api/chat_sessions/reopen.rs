use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::ChatStatus;

use super::transition::{Transition, transition};
use crate::admission::RequestMemory;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, OptionalJson, Query};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;
use crate::wire::EmptyRequest;

/// Reopens a chat that has ended or is paused.
///
/// Its status becomes `running`; `completed_at` and `duration_sec` are cleared.
#[operation(answers = "The chat session, running", problems = [ILLEGAL_TRANSITION])]
pub(crate) async fn reopen_chat(
    State(store): State<Arc<dyn Store>>,
    chat: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    memory: RequestMemory,
    OptionalJson(_empty): OptionalJson<EmptyRequest>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let running = Transition { next: ChatStatus::Running, reason: None, snapshot: None };
    transition(store, memory, chat, running).await
}

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::Store;

use super::{AppendResponse, MessagesBody};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;

/// Appends the messages that a workflow starts with, unless the chat has them already.
///
/// A message without an `event_id` is compared by role and content: leading messages that equal the newest
/// ones of the chat are not stored again. The default role is `user`.
#[operation(
    answers = "At least one message is new",
    repeated = "All messages were stored before",
    problems = [SEQUENCE_CONFLICT, CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn persist_initial_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    mut body: MessagesBody,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let shape = body.shape();
    if body.expected_last_sequence(None)?.is_some() {
        let detail = "is not a field here: the messages are compared with those of the chat";
        return Err(Problem::invalid_body("/expected_last_sequence", detail));
    }
    let stated = body.stated();
    let messages = body.into_messages(Some("user"))?;
    let append = store.persist_initial_messages(&scope, &chat_id, messages).await;
    let append = append.map_err(|error| shape.problem(error))?;
    Ok(AppendResponse::from_append(chat_id, append, &stated))
}

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;

use super::request::OneOrSeveral;
use super::{AppendResponse, MessagesBody};
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{AppendProblems, Problem};

/// Appends the messages that a workflow starts with, unless the chat has them already.
///
/// A message without an `event_id` is compared by role and content: leading messages that equal the newest
/// ones of the chat are not stored again. The default role is `user`.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/initial-messages", tag = "messages",
    operation_id = "persist_initial_messages", params(ChatPath, FencingHeader), request_body = OneOrSeveral,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 201, description = "At least one message is new", body = AppendResponse),
        (status = 200, description = "All messages were stored before", body = AppendResponse),
        AppendProblems,
    ),
)]
pub(crate) async fn persist_initial_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    mut body: MessagesBody,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let shape = body.shape();
    if body.expected_last_sequence(None)?.is_some() {
        let detail = "is not a field here: the messages are compared with those of the chat";
        return Err(Problem::invalid_body("/expected_last_sequence", detail));
    }
    let stated = body.stated_sequences();
    let messages = body.into_messages(Some("user"))?;
    let append = store.persist_initial_messages(&scope, &chat_id, messages).await;
    let append = append.map_err(|error| shape.problem(error))?;
    Ok(AppendResponse::from_append(chat_id, append, &stated))
}

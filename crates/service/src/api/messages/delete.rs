use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::Scope;

use super::{Expectation, own_or_any};
use crate::admission::Reserve;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, PathSequence, Query, Tagged};
use crate::openapi::{ChatPath, FencingHeader, IfMatchHeader, MessagePath};
use crate::problem::{DeleteMessageProblems, Problem};
use crate::wire::MessageResponse;

/// Deletes a message: a tombstone without content replaces it, and keeps its sequence.
///
/// Idempotent: deleting it again changes nothing. Users delete what they have written themselves; other messages need the
/// permission `run`.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/messages/{sequence}", tag = "messages",
    operation_id = "delete_message", params(ChatPath, MessagePath, FencingHeader, IfMatchHeader, Expectation),
    security(("bearer_token" = ["say"])),
    responses(
        (status = 200, description = "The tombstone", body = MessageResponse,
            headers(("ETag", description = "The entity tag of the message"))),
        DeleteMessageProblems,
    ),
)]
pub(crate) async fn delete_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say>,
    PathSequence(sequence): PathSequence,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let scope = expectation.of(scope);
    let delete = async |scope: Scope| store.delete_message(&scope, &chat_id, sequence).await;
    let message = own_or_any(&scope, delete).await?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}

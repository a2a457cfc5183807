use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::EventId;

use super::update::{UpdateMessageRequest, update};
use super::{Expectation, sequence_of};
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Path, Query, Tagged};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// Edits the message with an id; its sequence and id do not change.
///
/// Users edit what they have written themselves; other messages need the permission `run`.
#[operation(
    answers = "The edited message",
    problems = [SEQUENCE_CONFLICT, MESSAGE_NOT_FOUND, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn update_message_by_id(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Conditional>,
    Path(event_id): Path<EventId>,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
    Json(request): Json<UpdateMessageRequest>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let sequence = sequence_of(&*store, &scope, &chat_id, &event_id).await?;
    update(&*store, &expectation.of(scope), &chat_id, sequence, request).await
}

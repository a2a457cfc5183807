use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::EventId;

use super::delete::delete;
use super::{Expectation, sequence_of};
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Path, Query, Tagged};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// Deletes the message with an id: a tombstone without content replaces it, and keeps its sequence.
///
/// Idempotent: deleting it again changes nothing. Users delete what they have written themselves; other messages need the
/// permission `run`.
#[operation(answers = "The tombstone", problems = [SEQUENCE_CONFLICT, MESSAGE_NOT_FOUND])]
pub(crate) async fn delete_message_by_id(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Conditional>,
    Path(event_id): Path<EventId>,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let sequence = sequence_of(&*store, &scope, &chat_id, &event_id).await?;
    delete(&*store, &expectation.of(scope), &chat_id, sequence).await
}

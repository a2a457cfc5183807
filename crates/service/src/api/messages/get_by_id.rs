use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::EventId;

use super::no_message;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path, Query, Tagged};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// Returns the message with an id; for a deleted message, its tombstone.
#[operation(answers = "The message", problems = [MESSAGE_NOT_FOUND])]
pub(crate) async fn get_message_by_id(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(event_id): Path<EventId>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let message = store.get_message_by_id(&scope, &chat_id, &event_id).await?;
    let message = message.ok_or_else(|| no_message(&chat_id, &event_id))?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}

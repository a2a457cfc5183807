use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path, Query, Sequence, Tagged};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// Returns one message; for a deleted message, its tombstone.
#[operation(answers = "The message", problems = [MESSAGE_NOT_FOUND])]
pub(crate) async fn get_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(Sequence(sequence)): Path<Sequence>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let message = store.get_message(&scope, &chat_id, sequence).await?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}

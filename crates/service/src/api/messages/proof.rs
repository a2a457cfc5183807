use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path, Query, Sequence};
use crate::problem::Problem;
use crate::wire::MessageProofResponse;

/// Returns whether a message is what was signed, and what proves it.
///
/// A service with a key commits to new messages about once a minute. `verdict` is `signed` if the message is what was committed
/// to; `unsigned` if a service has stored or changed it since; and `broken` if it was changed in the database without a service.
/// docs/operations/data.md describes how the proof is verified without the service.
#[operation(answers = "The verdict, and the proof", problems = [MESSAGE_NOT_FOUND])]
pub(crate) async fn get_message_proof(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(Sequence(sequence)): Path<Sequence>,
    Query(()): Query<()>,
    _: Reserve<24>,
) -> Result<Json<MessageProofResponse>, Problem> {
    Ok(Json(store.prove_message(&scope, &chat_id, sequence).await?.into()))
}

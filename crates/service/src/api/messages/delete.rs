use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{ChatId, Scope};

use super::{Expectation, own_or_any};
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Path, Query, Sequence, Tagged};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// Deletes a message: a tombstone without content replaces it, and keeps its sequence.
///
/// Idempotent: deleting it again changes nothing. Users delete what they have written themselves; other messages need the
/// permission `run`.
#[operation(answers = "The tombstone", problems = [SEQUENCE_CONFLICT, MESSAGE_NOT_FOUND])]
pub(crate) async fn delete_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Conditional>,
    Path(Sequence(sequence)): Path<Sequence>,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    delete(&*store, &expectation.of(scope), &chat_id, sequence).await
}

pub(super) async fn delete(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    sequence: u64,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let delete = async |scope: Scope| store.delete_message(&scope, chat_id, sequence).await;
    let message = own_or_any(scope, delete).await?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}

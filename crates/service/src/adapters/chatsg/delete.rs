use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{Lifecycle, SessionChange};

use super::wire::DoneResponse;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// Deletes a session, until it is undeleted. Idempotent: a session that does not exist is deleted already.
#[operation(answers = "The session is deleted", problems = [UPGRADE_PENDING])]
pub(crate) async fn delete_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<DoneResponse>, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
    match store.change_chat(&scope, &chat_id, change).await {
        Ok(_) | Err(StoreError::ChatNotFound(_)) => Ok(Json(DoneResponse::of(chat_id))),
        Err(error) => Err(error.into()),
    }
}

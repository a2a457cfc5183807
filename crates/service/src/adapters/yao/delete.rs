use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Lifecycle, SessionChange};

use super::wire::ChangedResponse;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// Deletes a session with its messages. It is not found any more, also by another deletion.
#[operation(answers = "The session is deleted", problems = [UPGRADE_PENDING])]
pub(crate) async fn delete_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<ChangedResponse>, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
    store.change_chat(&scope, &chat_id, change).await?;
    Ok(Json(ChangedResponse::deleted(chat_id.into())))
}

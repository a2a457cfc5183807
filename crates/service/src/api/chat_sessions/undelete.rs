use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Lifecycle, SessionChange};

use super::tagged;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// Restores a deleted chat, which is active then. Idempotent: a chat that is not deleted stays as it is.
///
/// A chat that was purged is not found.
#[operation(answers = "The chat session, restored")]
pub(crate) async fn undelete_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(()): Query<()>,
) -> Result<Tagged<Json<ChatSessionResponse>>, Problem> {
    let scope = scope.finding_deleted();
    let chat = store.get_chat(&scope, &chat_id).await?;
    if chat.is_some_and(|chat| chat.lifecycle.exists()) {
        let unchanged = store.change_chat(&scope, &chat_id, SessionChange::default()).await?;
        return Ok(tagged(unchanged));
    }
    let change = SessionChange::to_lifecycle(Lifecycle::Active);
    Ok(tagged(store.change_chat(&scope, &chat_id, change).await?))
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{ChatId, ChatSession, Lifecycle, Scope, SessionChange};

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
    Ok(tagged(restored(&*store, &scope, &chat_id).await?))
}

/// Restores a chat if it is deleted, and returns it.
pub(crate) async fn restored(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<ChatSession, StoreError> {
    let scope = scope.finding_deleted();
    let chat = store.get_chat(&scope, chat_id).await?;
    let change = if chat.is_some_and(|chat| chat.lifecycle.exists()) {
        SessionChange::default()
    } else {
        SessionChange::to_lifecycle(Lifecycle::Active)
    };
    store.change_chat(&scope, chat_id, change).await
}

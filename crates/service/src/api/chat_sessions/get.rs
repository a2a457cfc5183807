use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};

use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// Returns a chat session, without its messages.
#[operation(answers = "The chat session")]
pub(crate) async fn get_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    Ok(Json(chat.into()))
}

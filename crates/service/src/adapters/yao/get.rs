use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};

use super::wire::SessionItem;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// Returns a session.
#[operation(answers = "The session")]
pub(crate) async fn get_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<SessionItem>, Problem> {
    match store.get_chat(&scope, &chat_id).await? {
        Some(chat) => Ok(Json(chat.into())),
        None => Err(StoreError::ChatNotFound(chat_id).into()),
    }
}

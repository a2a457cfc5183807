use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};

use super::session_file::SessionFile;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// Returns the record of a session. A chat without a record is not found.
#[operation(answers = "The record")]
pub(crate) async fn get_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<SessionFile>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let record = chat.as_ref().and_then(SessionFile::of);
    Ok(Json(record.ok_or(StoreError::ChatNotFound(chat_id))?))
}

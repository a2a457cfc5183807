use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::wire::PresenceResponse;

/// Returns who is present in a chat: the persons with an open stream, through any service process.
#[operation(answers = "Who is present")]
pub(crate) async fn get_presence(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<PresenceResponse>, Problem> {
    let presence = store.presence(&scope, &chat_id).await?;
    Ok(Json(PresenceResponse::new(&chat_id, presence)))
}

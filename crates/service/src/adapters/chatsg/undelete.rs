use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use super::status::Activity;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::api::chat_sessions::undelete::restored;
use crate::config::AdaptersConfig;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// Restores a deleted session. Idempotent: a session that is not deleted stays as it is.
///
/// A session that was purged is not found.
#[operation(answers = "The session, restored", problems = [UPGRADE_PENDING])]
pub(crate) async fn undelete_session(
    State(store): State<Arc<dyn Store>>,
    State(adapters): State<Arc<AdaptersConfig>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<SessionResponse>, Problem> {
    let chat = restored(&*store, &scope, &chat_id).await?;
    Ok(Json(SessionResponse::of(chat, Activity::now(&adapters.chatsg))))
}

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

/// Archives a chat. Idempotent.
///
/// A chat may be archived whatever its status: its run goes on. Lists leave it out unless they ask for it. A new message makes
/// it active again.
#[operation(answers = "The chat session, archived")]
pub(crate) async fn archive_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(()): Query<()>,
) -> Result<Tagged<Json<ChatSessionResponse>>, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Archived);
    Ok(tagged(store.change_chat(&scope, &chat_id, change).await?))
}

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

/// Activates a chat. Idempotent.
///
/// A chat that is active stays as it is.
#[operation(answers = "The chat session, active again")]
pub(crate) async fn activate_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(()): Query<()>,
) -> Result<Tagged<Json<ChatSessionResponse>>, Problem> {
    let change = SessionChange::to_lifecycle(Lifecycle::Active);
    Ok(tagged(store.change_chat(&scope, &chat_id, change).await?))
}

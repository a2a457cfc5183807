use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::ChatId;

use crate::extract::{OperatedApp, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Lifts the hold of a chat. Idempotent. A chat that is due by then is purged soon.
#[operation(answers = "The chat is under no hold", problems = [CHAT_NOT_FOUND])]
pub(crate) async fn lift_hold(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Path(chat_id): Path<ChatId>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.set_hold(&actor, &app_id, &chat_id, None).await?;
    Ok(NoContent)
}

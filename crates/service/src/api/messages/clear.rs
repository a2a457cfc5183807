use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use futures::TryStreamExt as _;
use operation::operation;
use persistence::{Store, StoreError};
use records::{EventId, Limits};
use serde::Serialize;
use utoipa::ToSchema;

use super::Expectation;
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;

/// How long one request goes on with further messages.
const TIME: Duration = Duration::from_secs(10);

/// What a request has cleared.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ClearedMessages)]
pub(crate) struct ClearMessagesResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// How many messages are deleted now, those that were deleted before included.
    #[schema(example = 12)]
    deleted: u64,
    /// Whether there are more: repeat the request.
    has_more: bool,
}

/// Deletes all messages that the chat has now: each is replaced by a tombstone, as if it were deleted alone.
///
/// A request works for about ten seconds, and says whether there are more. Messages that are appended meanwhile stay. Idempotent.
#[operation(answers = "What was cleared", problems = [SEQUENCE_CONFLICT])]
pub(crate) async fn clear_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(expectation): Query<Expectation>,
    _: Reserve<16>,
) -> Result<Json<ClearMessagesResponse>, Problem> {
    let (scope, ends) = (expectation.of(scope), Instant::now() + TIME);
    let (mut deleted, mut has_more, mut batch) = (0, false, Vec::new());
    let delete = async |batch: Vec<EventId>| {
        let deletion = store.delete_messages(&scope, &chat_id, &batch).await?;
        Ok::<_, StoreError>(deletion.deleted.len() as u64)
    };
    // The history is that of the moment at which it is begun.
    let mut messages = store.history(&scope, &chat_id);
    while let Some(message) = messages.try_next().await? {
        if message.deleted_at.is_some() {
            deleted += 1;
            continue;
        }
        if batch.len() == Limits::DELETED_MESSAGES {
            deleted += delete(std::mem::take(&mut batch)).await?;
            if Instant::now() > ends {
                has_more = true;
                break;
            }
        }
        batch.push(message.event_id);
    }
    if !has_more {
        // Without a message there is still a lease to check, and what the chat must be.
        deleted += delete(batch).await?;
    }
    Ok(Json(ClearMessagesResponse { chat_id: chat_id.to_string(), deleted, has_more }))
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{MessageRange, Store, StoreError};
use records::{ChatId, EventId, Limits, Permission, Scope};
use serde::Serialize;
use utoipa::ToSchema;

use super::answer_streams::stop_streams;
use super::question::cancel_pending;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// That it was done.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Done)]
pub(crate) struct DoneResponse {
    pub(super) success: bool,
}

/// Deletes the messages of a session, and cancels what is running in it. The session stays. Idempotent.
#[operation(answers = "The session has no messages")]
pub(crate) async fn clear_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
) -> Result<Json<DoneResponse>, Problem> {
    match clear(&*store, &scope, &chat_id).await {
        Ok(()) | Err(StoreError::ChatNotFound(_)) => Ok(Json(DoneResponse { success: true })),
        Err(error) => Err(error.into()),
    }
}

/// Ends the answers that are being produced in a chat, deletes its messages and cancels its questions.
///
/// A completion that is running ends with that, because it is known by its message.
pub(super) async fn clear(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<(), StoreError> {
    stop_streams(store, scope, chat_id, None).await?;
    let reading = scope.needing(Permission::Read);
    let mut after = None;
    loop {
        let range = MessageRange::Oldest { after, before: None, limit: Limits::DELETED_MESSAGES };
        let page = store.messages(&reading, chat_id, range).await?;
        after = page.messages.last().map(|message| message.sequence);
        let kept = page.messages.into_iter().filter(|message| message.deleted_at.is_none());
        let ids: Vec<EventId> = kept.map(|message| message.event_id).collect();
        if !ids.is_empty() {
            store.delete_messages(scope, chat_id, &ids).await?;
        }
        if !page.has_more {
            break;
        }
    }
    cancel_pending(store, scope, chat_id).await
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{DeletedMessage, Store};
use records::json::ListLimit;
use records::{EventId, Limits, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Expectation, own_or_any};
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed, LimitedLists, ListJson, Query};
use crate::openapi::values;
use crate::problem::Problem;

/// The messages to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MessagesToDelete, example = json!({"event_ids": ["evt_msg_001", "evt_msg_002"]}))]
pub(crate) struct DeleteMessagesRequest {
    /// The ids of at most 100 messages.
    #[schema(value_type = Vec<values::Name>, max_items = 100)]
    event_ids: Vec<EventId>,
}

impl Keyed for DeleteMessagesRequest {}

impl LimitedLists for DeleteMessagesRequest {
    const LISTS: &'static [ListLimit] =
        &[ListLimit { field: "event_ids", items: Limits::DELETED_MESSAGES }];
}

/// What became of each id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedMessages)]
pub(crate) struct DeleteMessagesResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The messages that are deleted now, those that were deleted before included, in the order of the request.
    deleted: Vec<DeletedFields>,
    /// The ids that the chat does not have, in the order of the request.
    #[schema(example = json!(["evt_msg_002"]))]
    unknown: Vec<String>,
}

/// A message that is deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedMessage)]
struct DeletedFields {
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = 1)]
    sequence: u64,
}

impl From<DeletedMessage> for DeletedFields {
    fn from(message: DeletedMessage) -> Self {
        Self { event_id: message.event_id.into(), sequence: message.sequence }
    }
}

/// Deletes several messages by their ids.
///
/// Each is replaced by a tombstone, as if it were deleted alone, the oldest first. If the caller may not delete one of
/// them, none is deleted. If the request fails on its way, the first ones may be deleted: repeat it. Idempotent. Ids that the
/// chat does not have are listed in `unknown`.
#[operation(
    answers = "What became of each id",
    problems = [SEQUENCE_CONFLICT, BATCH_TOO_LARGE],
)]
pub(crate) async fn delete_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
    ListJson(request): ListJson<DeleteMessagesRequest>,
) -> Result<Json<DeleteMessagesResponse>, Problem> {
    let scope = expectation.of(scope);
    let delete =
        async |scope: Scope| store.delete_messages(&scope, &chat_id, &request.event_ids).await;
    let deletion = own_or_any(&scope, delete).await?;
    Ok(Json(DeleteMessagesResponse {
        chat_id: chat_id.into(),
        deleted: deletion.deleted.into_iter().map(Into::into).collect(),
        unknown: deletion.unknown.into_iter().map(Into::into).collect(),
    }))
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::Limits;
use records::json::ListLimit;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::find::WantedMessages;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::messages::own_or_any;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed, LimitedLists, ListJson};
use crate::problem::Problem;

/// The messages to delete; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DeleteChatMessages, example = json!({"message_ids": ["msg_001"]}))]
pub(crate) struct DeleteMessagesRequest {
    /// The ids of at most 100 messages. Ids that no message has are ignored.
    #[schema(max_items = 100)]
    message_ids: Vec<String>,
    /// Only messages of this request.
    request_id: Option<String>,
}

impl Keyed for DeleteMessagesRequest {}

impl LimitedLists for DeleteMessagesRequest {
    const LISTS: &'static [ListLimit] =
        &[ListLimit { field: "message_ids", items: Limits::DELETED_MESSAGES }];
}

/// How many messages were deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedChatMessages)]
pub(crate) struct DeletedMessagesResponse {
    #[schema(example = 1)]
    deleted: usize,
}

/// Deletes messages of a session by their ids, in every request or in one.
///
/// If the caller may not delete one of them, none is deleted. If the request fails on its way, the first ones may be deleted:
/// repeat it.
#[operation(answers = "No message has these ids any more", problems = [BATCH_TOO_LARGE])]
pub(crate) async fn delete_session_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<12>,
    ListJson(request): ListJson<DeleteMessagesRequest>,
) -> Result<Json<DeletedMessagesResponse>, Problem> {
    let DeleteMessagesRequest { message_ids, request_id } = request;
    let wanted = WantedMessages { message_ids: &message_ids, request_id: request_id.as_deref() };
    let found = wanted.find(&*store, &scope, &chat_id).await?;
    let ids: Vec<_> = found.into_iter().map(|message| message.event_id).collect();
    let mut deleted = 0;
    for ids in ids.chunks(Limits::DELETED_MESSAGES) {
        let delete = async |scope| store.delete_messages(&scope, &chat_id, ids).await;
        deleted += own_or_any(&scope, delete).await?.deleted.len();
    }
    Ok(Json(DeletedMessagesResponse { deleted }))
}

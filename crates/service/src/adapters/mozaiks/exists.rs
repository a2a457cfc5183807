use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::WorkflowName;
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path};
use crate::problem::Problem;

/// Whether a chat exists.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatExists)]
pub(crate) struct ChatExistsResponse {
    exists: bool,
}

/// Tells whether a chat of a workflow exists that the caller may read.
#[operation(answers = "Whether the chat exists")]
pub(crate) async fn chat_exists(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(workflow_name): Path<WorkflowName>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<ChatExistsResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let exists = chat.is_some_and(|chat| chat.workflow_name == workflow_name);
    Ok(Json(ChatExistsResponse { exists }))
}

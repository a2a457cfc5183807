use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ChatFilter, Store};
use records::{Caller, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::api::chat_sessions::list::refused;
use crate::extract::needs::Read;
use crate::extract::{AppScope, Json, Path};
use crate::problem::Problem;

/// The most chats in the list.
const LISTED: usize = 20;

/// The newest chats of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowChats)]
pub(crate) struct ListWorkflowChatsResponse {
    /// Their ids, newest first.
    #[schema(example = json!(["chat_abc123"]))]
    chat_ids: Vec<String>,
}

/// Lists the ids of the newest chats of a workflow, at most 20: a person's own, all for a service.
#[operation(answers = "The chats")]
pub(crate) async fn list_workflow_chats(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Path(workflow_name): Path<WorkflowName>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<ListWorkflowChatsResponse>, Problem> {
    let user_id = match &scope.caller {
        Caller::User { user_id, .. } => Some(user_id.clone()),
        Caller::Service | Caller::Support { .. } => None,
    };
    let list = ChatFilter { user_id, workflow_name: Some(workflow_name), ..ChatFilter::default() };
    let page = store.list_chats(&scope, &list, LISTED, None).await.map_err(refused)?;
    let chat_ids = page.chats.into_iter().map(|chat| chat.chat_id.into()).collect();
    Ok(Json(ListWorkflowChatsResponse { chat_ids }))
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::extract::needs::Manage;
use crate::extract::{AssistantScope, Json};
use crate::problem::Problem;

/// The assistant that was deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedAssistant)]
pub(crate) struct DeletedAssistantResponse {
    #[schema(example = "Assistant deleted successfully")]
    message: &'static str,
    assistant_id: String,
}

/// Deletes an assistant. It is not found any more, also by another deletion.
#[operation(answers = "The assistant is deleted")]
pub(crate) async fn delete_yao_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<DeletedAssistantResponse>, Problem> {
    if !store.delete_assistant(&scope, &assistant_id).await? {
        return Err(StoreError::AssistantNotFound(assistant_id).into());
    }
    let message = "Assistant deleted successfully";
    Ok(Json(DeletedAssistantResponse { message, assistant_id: assistant_id.into() }))
}

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::wire::HolderFields;

/// The lease of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeaseState)]
pub(crate) struct StateResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The holder; null if no worker holds the lease. An expired lease is shown until another owner acquires it.
    lease: Option<HolderFields>,
}

/// Returns the holder of the lease of a chat.
#[operation(answers = "The holder of the lease")]
pub(crate) async fn get_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<StateResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    let lease = chat.lease.map(Into::into);
    Ok(Json(StateResponse { chat_id: chat.chat_id.into(), lease }))
}

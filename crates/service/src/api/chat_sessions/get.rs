use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::Permission;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// Which chats are found.
#[derive(Debug, IntoParams)]
pub(crate) struct GetChatQuery {
    /// Whether the chat is found if it is deleted, too; a deleted one needs the permission `manage`.
    #[param(value_type = Option<bool>)]
    deleted: bool,
}

impl FromParams for GetChatQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { deleted: params.take("deleted")?.unwrap_or_default() })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Returns a chat session, without its messages.
#[operation(answers = "The chat session")]
pub(crate) async fn get_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<GetChatQuery>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let mut chat = store.get_chat(&scope, &chat_id).await?;
    if chat.is_none() && query.deleted {
        let managing = scope.needing(Permission::Manage).finding_deleted();
        chat = store.get_chat(&managing, &chat_id).await?;
    }
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    Ok(Json(chat.into()))
}

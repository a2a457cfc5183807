use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::Permission;
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::joining;
use crate::problem::Problem;
use crate::wire::{ChatSessionResponse, values};

/// Which chats are found, and what is said of them.
#[derive(Debug, IntoParams)]
pub(crate) struct GetChatQuery {
    /// Whether the chat is found if it is deleted, too; a deleted one needs the permission `manage`.
    #[param(value_type = Option<bool>)]
    deleted: bool,
    /// Whether the answer has the `permissions` of the caller.
    #[param(value_type = Option<bool>)]
    permissions: bool,
}

impl FromParams for GetChatQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            deleted: params.take("deleted")?.unwrap_or_default(),
            permissions: params.take("permissions")?.unwrap_or_default(),
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A chat session, and what the caller may do in the chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatWithPermissions)]
pub(crate) struct GetChatResponse {
    #[serde(flatten)]
    chat: ChatSessionResponse,
    /// What the caller may do in the chat, as far as its status and lifecycle allow it; only with `permissions=true`.
    #[schema(value_type = Option<Vec<values::ChatPermission>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Vec<&'static str>>,
}

/// Returns a chat session, without its messages.
#[operation(answers = "The chat session")]
pub(crate) async fn get_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<GetChatQuery>,
) -> Result<Json<GetChatResponse>, Problem> {
    let mut chat = store.get_chat(&scope, &chat_id).await?;
    if chat.is_none() && query.deleted {
        let managing = scope.needing(Permission::Manage).finding_deleted();
        chat = store.get_chat(&managing, &chat_id).await?;
    }
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    let permissions = if query.permissions {
        let permissions = joining::permissions(&*store, &scope, &chat).await?;
        Some(permissions.into_iter().map(Permission::as_str).collect())
    } else {
        None
    };
    Ok(Json(GetChatResponse { chat: chat.into(), permissions }))
}

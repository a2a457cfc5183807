use axum::extract::State;
use axum::response::IntoResponse;
use persistence::{Creation, ensure_chat};
use records::Permission;

use super::ChatSessionResponse;
use super::create::{CreateChatRequest, created};
use crate::extract::needs::Create;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{CreateProblems, Problem};
use crate::state::AppState;
use crate::wire::Created;

/// Returns the chat session under an id, and creates it if it does not exist.
///
/// An existing chat of the same workflow that the caller may read is returned unchanged, whatever else the body says. A
/// chat of another workflow is `chat-exists`.
#[utoipa::path(
    put, path = "/api/chats/{app_id}/{chat_id}", tag = "chat sessions", operation_id = "ensure_chat",
    params(ChatPath), request_body = CreateChatRequest,
    security(("bearer_token" = ["create"])),
    responses(
        (status = 201, description = "The new chat session, running",
            body = Created<ChatSessionResponse>, headers(("Location", description = "The path of the chat session"))),
        (status = 200, description = "The chat session that exists",
            body = Created<ChatSessionResponse>, headers(("Location", description = "The path of the chat session"))),
        CreateProblems,
    ),
)]
pub(crate) async fn ensure(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Create>,
    Query(()): Query<()>,
    Json(request): Json<CreateChatRequest>,
) -> Result<impl IntoResponse, Problem> {
    let settings = state.registry.check(&scope.app_id).await?;
    let new = request.under(chat_id)?.on_behalf_of(&scope.caller, settings.default_visibility)?;
    let reading = scope.needing(Permission::Read);
    // A chat that exists counts for no quota.
    if let Some(chat_id) = &new.chat_id
        && let Some(chat) = state.store.get_chat(&reading, chat_id).await?
        && chat.workflow_name == new.workflow_name
    {
        return Ok(created(Creation::Repeated(chat)));
    }
    state.rates.check_new_chat(&scope)?;
    Ok(created(ensure_chat(&*state.store, &scope, new).await?))
}

use axum::extract::State;
use operation::operation;
use persistence::Creation;
use records::Permission;

use super::create::{CreateChatRequest, Located, created};
use crate::extract::needs::Create;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::state::AppState;

/// Returns the chat session under an id, and creates it if it does not exist.
///
/// An existing chat of the same workflow that the caller may read is returned unchanged, whatever else the body says. A
/// chat of another workflow is `chat-exists`.
#[operation(
    answers = "The new chat session, running",
    repeated = "The chat session that exists",
    problems = [FORBIDDEN_OWNER, CHAT_EXISTS, METADATA_TOO_LARGE],
)]
pub(crate) async fn ensure_chat(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Create>,
    Query(()): Query<()>,
    Json(request): Json<CreateChatRequest>,
) -> Result<Located, Problem> {
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
    state.check_new_chat(&scope, new.chat_id.as_ref())?;
    Ok(created(persistence::ensure_chat(&*state.store, &scope, new).await?))
}

use axum::extract::State;
use operation::operation;
use persistence::StoreError;
use records::{ChatId, ChatSession, Permission, Scope};

use super::session;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::{ChatDownload, Json};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// Returns a session with its messages and its provider calls, oldest first.
///
/// The response is written while the chat is read, so a session may have any length.
#[operation(answers = "The session")]
pub(crate) async fn get_session(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Json<SessionResponse>>, Problem> {
    let chat = session_of(&state, &scope, &chat_id).await?;
    session::answer(&state, chat, scope, limits, request_id).await
}

/// Returns the chat of a session.
pub(super) async fn session_of(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<ChatSession, StoreError> {
    let found = state.store.get_chat(&scope.needing(Permission::Read), chat_id).await?;
    found.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))
}

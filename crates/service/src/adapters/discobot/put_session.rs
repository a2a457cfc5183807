use axum::extract::State;
use operation::operation;
use persistence::StoreError;
use records::{JsonObject, Permission};
use serde::Deserialize;
use utoipa::ToSchema;

use super::session_file::{SessionFile, SessionFileChange};
use crate::adapters::ForeignQuery;
use crate::adapters::new_session::NewSession;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Keyed};
use crate::problem::Problem;
use crate::state::AppState;

/// The record of a session. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PutSession, example = json!({
    "sessionId": "session-abc123", "cwd": "/workspace", "createdAt": "2024-01-15T10:30:00Z"
}))]
pub(crate) struct PutSessionRequest {
    /// The id of the session of the agent, not empty.
    session_id: String,
    /// The working directory of the agent.
    cwd: Option<String>,
    /// When the session was created; the time of the chat if it is missing.
    created_at: Option<String>,
}

impl Keyed for PutSessionRequest {}

/// Stores the record of a session in the metadata of its chat, which is created if it does not exist.
#[operation(answers = "The record", problems = [CHAT_EXISTS, METADATA_TOO_LARGE])]
pub(crate) async fn put_session(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<PutSessionRequest>,
) -> Result<Json<SessionFile>, Problem> {
    if request.session_id.is_empty() {
        return Err(Problem::invalid_body("/sessionId", "must not be empty"));
    }
    let PutSessionRequest { session_id, cwd, created_at } = request;
    let change = SessionFileChange { session_id: Some(session_id), cwd, created_at };
    let reading = scope.needing(Permission::Read);
    let chat = if state.store.get_chat(&reading, &chat_id).await?.is_some() {
        change.store(&*state.store, &scope, &chat_id).await?
    } else {
        let mut metadata = JsonObject::new();
        change.apply(&mut metadata);
        let new = NewSession {
            chat_id: Some(chat_id.clone()),
            metadata,
            workflow_name: state.adapters.discobot.workflow_name.clone(),
            ..NewSession::default()
        };
        let chat = new.ensure(&state, &scope).await?;
        // Another request may have created it meanwhile, with another record or none.
        if change.is_stored(&chat) {
            chat
        } else {
            change.store(&*state.store, &scope, &chat_id).await?
        }
    };
    Ok(Json(SessionFile::of(&chat).ok_or(StoreError::ChatNotFound(chat_id))?))
}

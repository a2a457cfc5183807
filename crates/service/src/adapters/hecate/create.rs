use axum::extract::State;
use operation::operation;
use persistence::{Creation, create_chat_once};
use records::{Caller, ChatId, NewChatSession};
use serde::Deserialize;
use utoipa::ToSchema;

use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::adapters::workflow_name::workflow_name;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Json, Keyed, OptionalJson};
use crate::problem::Problem;
use crate::state::AppState;

/// A session to create.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CreateChatSession, example = json!({"title": "A todo app"}))]
pub(crate) struct CreateSessionRequest {
    /// At most 512 characters; `New chat` if it is missing or blank.
    title: Option<String>,
    /// The key of the request.
    #[serde(skip)]
    chat_id: Option<ChatId>,
}

impl Keyed for CreateSessionRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("id", &mut self.chat_id)
    }
}

/// Creates a session.
#[operation(answers = "The new session, without messages")]
pub(crate) async fn create_session(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    ForeignQuery(()): ForeignQuery<()>,
    OptionalJson(request): OptionalJson<CreateSessionRequest>,
) -> Result<Json<SessionResponse>, Problem> {
    let settings = state.registry.check(&scope.app_id).await?;
    let workflow_name = workflow_name(state.adapters.hecate.workflow_name.as_ref(), "chat")?;
    let title = request.title.unwrap_or_default();
    let title = if title.trim().is_empty() { "New chat" } else { title.trim() };
    let (user_id, team_id) = match &scope.caller {
        Caller::User { user_id, team_id, .. } => (Some(user_id.clone()), team_id.clone()),
        Caller::Service | Caller::Support { .. } => (None, None),
    };
    let new = NewChatSession {
        chat_id: request.chat_id,
        title: Some(title.to_owned()),
        user_id,
        team_id,
        visibility: settings.default_visibility,
        ..NewChatSession::of(workflow_name)
    };
    state.check_new_chat(&scope, new.chat_id.as_ref())?;
    match create_chat_once(&*state.store, &scope, new).await? {
        Creation::New(chat) | Creation::Repeated(chat) => Ok(Json(SessionResponse::empty(chat))),
    }
}

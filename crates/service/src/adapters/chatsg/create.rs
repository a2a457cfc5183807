use axum::extract::State;
use operation::operation;
use persistence::StoreError;
use records::{Caller, ChatId, ChatSession, JsonObject, NewChatSession, Permission, Scope, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::status::Activity;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::adapters::workflow_name::workflow_name;
use crate::api::chat_sessions::create::own;
use crate::extract::Json;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Keyed, OptionalJson};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// A session to create; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CreateSession, example = json!({"title": "Chat about AI", "userId": "user123"}))]
pub(crate) struct CreateSessionRequest {
    /// At most 512 characters; `New Chat` if it is missing or blank.
    title: Option<String>,
    /// The owner. A person may name only themselves.
    #[serde(rename = "userId")]
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// At most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// Minted if it is missing.
    #[serde(rename = "sessionId")]
    #[schema(value_type = Option<values::ChatId>)]
    session_id: Option<ChatId>,
}

impl Keyed for CreateSessionRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("sessionId", &mut self.session_id)
    }
}

/// Creates a session, or returns the one that has the id, as it is.
#[operation(answers = "The session", problems = [CHAT_EXISTS, METADATA_TOO_LARGE, FORBIDDEN_OWNER])]
pub(crate) async fn create_session(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    ForeignQuery(()): ForeignQuery<()>,
    OptionalJson(request): OptionalJson<CreateSessionRequest>,
) -> Result<Json<SessionResponse>, Problem> {
    let title = request.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let new = NewSession {
        chat_id: request.session_id,
        user_id: request.user_id,
        title: title.unwrap_or("New Chat").to_owned(),
        metadata: request.metadata.unwrap_or_default(),
    };
    let chat = new.ensure(&state, &scope).await?;
    Ok(Json(SessionResponse::of(chat, Activity::now(&state.adapters.chatsg))))
}

/// A session to create unless it exists.
pub(super) struct NewSession {
    pub(super) chat_id: Option<ChatId>,
    pub(super) user_id: Option<UserId>,
    pub(super) title: String,
    pub(super) metadata: JsonObject,
}

impl NewSession {
    /// Creates the session, or returns the one that has its id.
    pub(super) async fn ensure(
        self,
        state: &AppState,
        scope: &Scope,
    ) -> Result<ChatSession, Problem> {
        let scope = scope.needing(Permission::Create);
        let reading = scope.needing(Permission::Read);
        // A session that exists counts for no quota.
        if let Some(chat_id) = &self.chat_id
            && let Some(chat) = state.store.get_chat(&reading, chat_id).await?
        {
            return Ok(chat);
        }
        let new = self.into_new(state, &scope).await?;
        state.rates.check_new_chat(&scope)?;
        match state.store.create_chat(&scope, new).await {
            Err(StoreError::ChatExists(chat_id)) => {
                let found = state.store.get_chat(&reading, &chat_id).await?;
                Ok(found.ok_or(StoreError::ChatExists(chat_id))?)
            }
            created => Ok(created?),
        }
    }

    async fn into_new(self, state: &AppState, scope: &Scope) -> Result<NewChatSession, Problem> {
        let settings = state.registry.check(&scope.app_id).await?;
        let (user_id, team_id) = match &scope.caller {
            Caller::Service | Caller::Support { .. } => (self.user_id, None),
            Caller::User { user_id, team_id, .. } => {
                (own("/userId", self.user_id.as_ref(), Some(user_id))?, team_id.clone())
            }
        };
        let workflow_name = workflow_name(state.adapters.chatsg.workflow_name.as_ref(), "chat")?;
        Ok(NewChatSession {
            chat_id: self.chat_id,
            user_id,
            team_id,
            visibility: settings.default_visibility,
            title: Some(self.title),
            metadata: self.metadata,
            ..NewChatSession::of(workflow_name)
        })
    }
}

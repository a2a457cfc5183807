use axum::extract::State;
use operation::operation;
use records::{ChatId, JsonObject, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::status::Activity;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::adapters::new_session::NewSession;
use crate::extract::Json;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Keyed, OptionalJson};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;
use crate::unset_values::unless_empty;

/// A session to create; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = CreateSession, example = json!({"title": "Chat about AI", "userId": "user123"}))]
pub(crate) struct CreateSessionRequest {
    /// At most 512 characters; `New Chat` if it is missing or blank.
    title: Option<String>,
    /// The owner. A person may name only themselves.
    #[serde(rename = "userId", default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// At most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// Minted if it is missing.
    #[serde(rename = "sessionId", default, deserialize_with = "unless_empty")]
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
        title: Some(title.unwrap_or("New Chat").to_owned()),
        metadata: request.metadata.unwrap_or_default(),
        workflow_name: state.adapters.chatsg.workflow_name.clone(),
    };
    let chat = new.ensure(&state, &scope).await?;
    Ok(Json(SessionResponse::of(chat, Activity::now(&state.adapters.chatsg))))
}

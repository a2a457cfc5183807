use axum::extract::State;
use operation::operation;
use persistence::{Creation, create_chat_once};
use records::{AssistantId, Caller, ChatId, JsonObject, NewChatSession, Visibility, WorkflowName};
use serde::Deserialize;
use utoipa::ToSchema;

use super::wire::SessionItem;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Create;
use crate::extract::{AppScope, Json, Keyed};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// A session to create; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateChatSession, example = json!({"assistant_id": "weather_assistant", "title": "Rain?"}))]
pub(crate) struct CreateSessionRequest {
    /// Minted if it is missing. A repeat with the same fields returns the session.
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// The assistant, whose id is the name of the workflow, too.
    #[schema(value_type = values::Name)]
    assistant_id: AssistantId,
    /// At most 512 characters.
    title: Option<String>,
    /// Whether every user of the app finds the session.
    #[serde(default)]
    public: bool,
    /// `private` (default) or `team`.
    share: Option<String>,
    #[serde(default)]
    sort: i32,
    /// At most 16 KiB.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    metadata: JsonObject,
}

impl Keyed for CreateSessionRequest {}

impl CreateSessionRequest {
    fn into_new(self, caller: &Caller) -> Result<NewChatSession, Problem> {
        let workflow_name = WorkflowName::parse(self.assistant_id.as_str())
            .map_err(|error| Problem::invalid_body("/assistant_id", error.to_string()))?;
        let visibility = match self.share.as_deref() {
            _ if self.public => Visibility::App,
            None | Some("private") => Visibility::Private,
            Some("team") => Visibility::Team,
            Some(_) => return Err(Problem::invalid_body("/share", "must be private or team")),
        };
        let (user_id, team_id) = match caller {
            Caller::User { user_id, team_id, .. } => (Some(user_id.clone()), team_id.clone()),
            Caller::Service | Caller::Support { .. } => (None, None),
        };
        Ok(NewChatSession {
            chat_id: self.chat_id,
            user_id,
            team_id,
            visibility,
            title: self.title,
            metadata: self.metadata,
            assistant_id: Some(self.assistant_id),
            sort: self.sort,
            ..NewChatSession::of(workflow_name)
        })
    }
}

/// Creates a session of the caller.
#[operation(answers = "The session", problems = [CHAT_EXISTS, METADATA_TOO_LARGE])]
pub(crate) async fn create_session(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<CreateSessionRequest>,
) -> Result<Json<SessionItem>, Problem> {
    state.registry.check(&scope.app_id).await?;
    let new = request.into_new(&scope.caller)?;
    state.rates.check_new_chat(&scope)?;
    match create_chat_once(&*state.store, &scope, new).await? {
        Creation::New(chat) | Creation::Repeated(chat) => Ok(Json(chat.into())),
    }
}

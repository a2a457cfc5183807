use axum::extract::State;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use operation::operation;
use persistence::{Creation, Outcome, create_chat_once};
use records::{
    AssistantId, Caller, ChatId, JsonObject, NewChatSession, TeamId, UserId, Visibility,
    WorkflowName,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::created::Created;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Json, Keyed, Query};
use crate::openapi::values;
use crate::operation::{Description, Output};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::wire::ChatSessionResponse;

/// A chat session to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "workflow_name": "Generator",
    "user_id": "user_alice_456",
    "title": "A todo app"
}))]
pub(crate) struct CreateChatRequest {
    /// Minted if missing.
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    #[schema(value_type = values::Name)]
    workflow_name: WorkflowName,
    /// A user may name only themselves; the default is the caller.
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// A user may name only their own team; the default is the caller's team.
    #[schema(value_type = Option<values::Name>)]
    team_id: Option<TeamId>,
    /// Who may find and read the chat, besides its owner and its members: `private` (no other user), `team` (its team), `link`
    /// (every user of the app who knows the id) or `app` (every user of the app, who also finds it in the list). The
    /// default is a setting of the app or the service, by default `private`.
    #[schema(value_type = Option<values::Visibility>)]
    visibility: Option<Visibility>,
    /// Derived from app and chat if missing.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u32)]
    cache_seed: Option<u32>,
    /// At most 512 characters.
    #[schema(max_length = 512)]
    title: Option<String>,
    /// At most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// The assistant that the chat talks to.
    #[schema(value_type = Option<values::Name>)]
    assistant_id: Option<AssistantId>,
    /// The place of the chat in lists that are sorted by it; 0 if missing.
    sort: Option<i32>,
    /// The instructions for the model, which callers put before the messages; at most 16 KiB.
    #[schema(max_length = 16_384)]
    system_prompt: Option<String>,
}

impl Keyed for CreateChatRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("chat_id", &mut self.chat_id)
    }
}

/// Creates a chat session.
///
/// Idempotent under a `chat_id`: a repeat with the same body returns the chat session and changes nothing.
#[operation(
    answers = "The new chat session, running",
    repeated = "A repeat with the same body: the chat session that exists",
    problems = [FORBIDDEN_OWNER, CHAT_EXISTS, METADATA_TOO_LARGE],
)]
pub(crate) async fn create_chat(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    Query(()): Query<()>,
    Json(request): Json<CreateChatRequest>,
) -> Result<Located, Problem> {
    let settings = state.registry.check(&scope.app_id).await?;
    let new = request.on_behalf_of(&scope.caller, settings.default_visibility)?;
    state.check_new_chat(&scope, new.chat_id.as_ref())?;
    Ok(created(create_chat_once(&*state.store, &scope, new).await?))
}

/// A chat session that was created, with its path in the header `Location`.
#[derive(Debug)]
pub(crate) struct Located {
    location: String,
    chat: Created<ChatSessionResponse>,
}

impl IntoResponse for Located {
    fn into_response(self) -> Response {
        ([(LOCATION, self.location)], self.chat).into_response()
    }
}

impl Output for Located {
    fn describe(description: &mut Description) {
        Created::<ChatSessionResponse>::describe(description);
        description.response_header("Location", "The path of the chat session");
    }
}

/// Answers a creation.
pub(super) fn created(creation: Creation) -> Located {
    let (chat, outcome) = match creation {
        Creation::New(chat) => (chat, Outcome::Stored),
        Creation::Repeated(chat) => (chat, Outcome::Duplicate),
    };
    let location = format!("/api/chats/{}/{}", chat.app_id, chat.chat_id);
    Located { location, chat: Created::new(chat, outcome) }
}

impl CreateChatRequest {
    /// Takes the id from the path.
    pub(super) fn under(self, chat_id: ChatId) -> Result<Self, Problem> {
        if self.chat_id.as_ref().is_some_and(|given| *given != chat_id) {
            return Err(Problem::invalid_body("/chat_id", "must be that of the path, or omitted"));
        }
        Ok(Self { chat_id: Some(chat_id), ..self })
    }

    /// Fills in the owner: the caller, or the user that a service names.
    pub(super) fn on_behalf_of(
        self,
        caller: &Caller,
        default_visibility: Visibility,
    ) -> Result<NewChatSession, Problem> {
        let (user_id, team_id) = match caller {
            // Support creates no chats.
            Caller::Service | Caller::Support { .. } => (self.user_id, self.team_id),
            Caller::User { user_id, team_id, .. } => (
                own("/user_id", self.user_id.as_ref(), Some(user_id))?,
                own("/team_id", self.team_id.as_ref(), team_id.as_ref())?,
            ),
        };
        let visibility = self.visibility.unwrap_or(default_visibility);
        if visibility == Visibility::Team && team_id.is_none() {
            let detail = "must not be team without a team_id";
            return Err(Problem::invalid_body("/visibility", detail));
        }
        Ok(NewChatSession {
            chat_id: self.chat_id,
            user_id,
            team_id,
            visibility,
            cache_seed: self.cache_seed,
            title: self.title,
            metadata: self.metadata.unwrap_or_default(),
            assistant_id: self.assistant_id,
            sort: self.sort.unwrap_or_default(),
            system_prompt: self.system_prompt,
            ..NewChatSession::of(self.workflow_name)
        })
    }
}

/// Returns the caller's own id, and refuses any other id that a user gives.
pub(crate) fn own<T: PartialEq + Clone>(
    field: &'static str,
    given: Option<&T>,
    own: Option<&T>,
) -> Result<Option<T>, Problem> {
    if given.is_none() || given == own {
        return Ok(own.cloned());
    }
    let detail = "a user can create and share chats only for themselves and their own team";
    let problem = Problem::new(ProblemKind::FORBIDDEN_OWNER, detail);
    Err(problem.at(field, "must be that of the caller, or omitted"))
}

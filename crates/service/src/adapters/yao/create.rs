use axum::extract::State;
use operation::operation;
use persistence::{Creation, create_chat_once};
use records::{
    AssistantId, Caller, ChatId, JsonObject, Lifecycle, NewChatSession, Permission, Reach,
    Relations, SessionChange, Visibility, WorkflowName,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::wire::{PRIVATE, SHARE, SessionItem, TEAM, lifecycle_of};
use crate::adapters::ForeignQuery;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Json, Keyed};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::unset_values::{null_as_default, unless_empty};

/// A session to create; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateChatSession, example = json!({"assistant_id": "weather_assistant", "title": "Rain?"}))]
pub(crate) struct CreateSessionRequest {
    /// Minted if it is missing. A repeat with the same fields returns the session.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// The assistant, whose id is the name of the workflow, too.
    #[schema(value_type = values::Name)]
    assistant_id: AssistantId,
    /// At most 512 characters.
    title: Option<String>,
    /// Whether every user of the app finds the session.
    #[serde(default, deserialize_with = "null_as_default")]
    public: bool,
    /// `private` (default) or `team`. It is kept beside `public`.
    #[serde(default, deserialize_with = "unless_empty")]
    share: Option<String>,
    /// `active` (default) or `archived`. To create an archived session needs the permission `manage`.
    #[serde(default, deserialize_with = "unless_empty")]
    status: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    sort: i32,
    /// At most 16 KiB.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Option<Object>)]
    metadata: JsonObject,
}

impl Keyed for CreateSessionRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("chat_id", &mut self.chat_id)
    }
}

impl CreateSessionRequest {
    fn into_new(mut self, caller: &Caller) -> Result<NewChatSession, Problem> {
        let workflow_name = WorkflowName::parse(self.assistant_id.as_str())
            .map_err(|error| Problem::invalid_body("/assistant_id", error.to_string()))?;
        let is_of_team = match self.share.as_deref() {
            None | Some(PRIVATE) => false,
            Some(TEAM) => true,
            Some(_) => return Err(Problem::invalid_body("/share", "must be private or team")),
        };
        self.metadata.shift_remove(SHARE);
        let visibility = match (self.public, is_of_team) {
            (true, true) => {
                self.metadata.insert(SHARE.to_owned(), TEAM.into());
                Visibility::App
            }
            (true, false) => Visibility::App,
            (false, true) => Visibility::Team,
            (false, false) => Visibility::Private,
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
#[operation(answers = "The session", problems = [CHAT_EXISTS, METADATA_TOO_LARGE, UPGRADE_PENDING])]
pub(crate) async fn create_session(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<CreateSessionRequest>,
) -> Result<Json<SessionItem>, Problem> {
    state.registry.check(&scope.app_id).await?;
    let is_archived = lifecycle_of(request.status.as_deref())? == Some(Lifecycle::Archived);
    if is_archived {
        check_may_archive(&scope.caller)?;
    }
    let new = request.into_new(&scope.caller)?;
    state.check_new_chat(&scope, new.chat_id.as_ref())?;
    let store = &*state.store;
    let (Creation::New(chat) | Creation::Repeated(chat)) =
        create_chat_once(store, &scope, new).await?;
    // A repeat completes a creation that ended in between. What was changed since then stays.
    let is_untouched = chat.session_version == 0 && chat.last_message_at.is_none();
    if !is_archived || !is_untouched {
        return Ok(Json(chat.into()));
    }
    let change = SessionChange::to_lifecycle(Lifecycle::Archived);
    let scope = scope.needing(Permission::Manage);
    Ok(Json(store.change_chat(&scope, &chat.chat_id, change).await?.into()))
}

/// Refuses a caller that may archive no session of their own, before one is created.
fn check_may_archive(caller: &Caller) -> Result<(), Problem> {
    let needed = Permission::Manage;
    match caller.reach(needed) {
        Reach::None | Reach::Related(Relations { owner: false, .. }) => {
            let detail = format!("an archived session needs the permission {needed}");
            Err(Problem::new(ProblemKind::FORBIDDEN_PERMISSION, detail))
        }
        Reach::Every | Reach::Related(_) => Ok(()),
    }
}

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use operation::operation;
use persistence::{ChatFilter, StoreError};
use records::json::{Digest, Hasher};
use records::{
    Caller, ChatId, ChatSession, Clock as _, JsonObject, NewChatSession, Permission, Scope,
    SystemClock, TeamId, UserId, Visibility, WorkflowName,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::session::IN_PROGRESS;
use super::start_claim::agreed_id;
use crate::adapters::ForeignQuery;
use crate::api::chat_sessions::create::own;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Json, Keyed, Path};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// The field of the metadata with the id that the client gave its request.
const CLIENT_REQUEST_ID: &str = "client_request_id";

/// How many recent chats are looked at.
const EXAMINED: usize = 20;

/// How long the repeat of a request that insists on a new chat gets the chat of the first one.
const REPEATED_WITHIN: TimeDelta = TimeDelta::days(1);

/// A workflow to start; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = StartChat, example = json!({"user_id": "user_alice_456", "client_request_id": "req_1"}))]
pub(crate) struct StartChatRequest {
    /// The owner. A person may name only themselves; a service must name a user.
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// The tokens that the wallet of the user must hold.
    required_min_tokens: Option<i64>,
    /// An id of the request. Of several recent chats the one with this id is reused.
    client_request_id: Option<String>,
    /// `true`, `1` or `yes`: a recent chat is not reused.
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    force_new: Value,
}

impl Keyed for StartChatRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("client_request_id", &mut self.client_request_id)
    }
}

/// A chat that was started, or reused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StartedChat)]
pub(crate) struct StartChatResponse {
    success: bool,
    #[schema(example = "chat_abc123")]
    chat_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    app_id: String,
    user_id: String,
    #[schema(example = "/ws/Generator/acme_corp/chat_abc123/user_alice_456")]
    websocket_url: String,
    message: &'static str,
    /// Whether the chat existed before.
    reused: bool,
    #[schema(example = 2_847_561_923_u32)]
    cache_seed: u32,
    /// The tokens that the wallet of the user holds, if the request has asked for some.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_balance: Option<i64>,
}

/// Starts a workflow: creates a chat that every user of the app may join, or returns a recent one.
///
/// A chat of the same user and workflow that was created a moment ago (`adapters.mozaiks.start_reuse_sec`) and has not ended is
/// reused, so that a double click starts one workflow.
#[operation(
    answers = "The chat",
    problems = [INSUFFICIENT_TOKENS, FORBIDDEN_OWNER, CHAT_EXISTS, METADATA_TOO_LARGE],
)]
pub(crate) async fn start_chat(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    Path(workflow_name): Path<WorkflowName>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<StartChatRequest>,
) -> Result<Json<StartChatResponse>, Problem> {
    let (user_id, team_id) = request.owner(&scope.caller)?;
    let start = Start {
        is_new: matches!(&request.force_new, Value::Bool(true))
            || request.force_new.as_str().is_some_and(is_true)
            || request.force_new == 1,
        client_request_id: request.client_request_id,
        now: SystemClock.now(),
        reuse_sec: state.adapters.mozaiks.start_reuse_sec,
        scope,
        workflow_name,
        user_id,
        team_id,
    };
    let remaining_balance = match request.required_min_tokens {
        Some(needed) => Some(start.check_balance(&state, needed).await?),
        None => None,
    };
    let Started { chat, reused } = start.run(&state).await?;
    let (app_id, user_id) = (start.scope.app_id.as_str(), start.user_id.as_str());
    let (chat_id, workflow_name) = (chat.chat_id.as_str(), chat.workflow_name.as_str());
    Ok(Json(StartChatResponse {
        success: true,
        chat_id: chat_id.to_owned(),
        workflow_name: workflow_name.to_owned(),
        app_id: app_id.to_owned(),
        user_id: user_id.to_owned(),
        websocket_url: format!("/ws/{workflow_name}/{app_id}/{chat_id}/{user_id}"),
        message: if reused {
            "Existing recent chat reused."
        } else {
            "Chat session initialized; connect to websocket to start."
        },
        reused,
        cache_seed: chat.cache_seed,
        remaining_balance,
    }))
}

fn is_true(text: &str) -> bool {
    ["1", "true", "yes", "on"].contains(&text.to_lowercase().as_str())
}

impl StartChatRequest {
    fn owner(&self, caller: &Caller) -> Result<(UserId, Option<TeamId>), Problem> {
        let required = || Problem::invalid_body("/user_id", "is required");
        let (user_id, team_id) = match caller {
            Caller::Service | Caller::Support { .. } => (self.user_id.clone(), None),
            Caller::User { user_id, team_id, .. } => {
                (own("/user_id", self.user_id.as_ref(), Some(user_id))?, team_id.clone())
            }
        };
        Ok((user_id.ok_or_else(required)?, team_id))
    }
}

/// A workflow to start for a user.
struct Start {
    scope: Scope,
    workflow_name: WorkflowName,
    user_id: UserId,
    team_id: Option<TeamId>,
    client_request_id: Option<String>,
    /// Whether no recent chat is reused.
    is_new: bool,
    now: DateTime<Utc>,
    reuse_sec: u32,
}

struct Started {
    chat: ChatSession,
    reused: bool,
}

impl Start {
    async fn check_balance(&self, state: &AppState, needed: i64) -> Result<i64, Problem> {
        let scope = self.scope.needing(Permission::Read);
        let wallet = state.store.get_wallet(&scope, &self.user_id).await?;
        let balance = wallet.map_or(0, |wallet| wallet.balance);
        if balance >= needed {
            return Ok(balance);
        }
        let detail = format!("the wallet holds {balance} tokens, and {needed} are required");
        Err(Problem::new(ProblemKind::INSUFFICIENT_TOKENS, detail))
    }

    async fn run(&self, state: &AppState) -> Result<Started, Problem> {
        if !self.is_new
            && let Some(chat) = self.recent(state).await?
        {
            return Ok(Started { chat, reused: true });
        }
        state.check_new_chat(&self.scope, None)?;
        let chat_id = match self.digest() {
            Some(start) => {
                agreed_id(&*state.store, &self.scope.app_id, start, self.claimed_for()).await?
            }
            None => None,
        };
        match state.store.create_chat(&self.scope, self.new_chat(chat_id)).await {
            Ok(chat) => Ok(Started { chat, reused: false }),
            Err(StoreError::ChatExists(chat_id)) => self.after_another(state, &chat_id).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the chat that another start has just created, or creates one with another id if that has ended.
    async fn after_another(&self, state: &AppState, chat_id: &ChatId) -> Result<Started, Problem> {
        let reading = self.scope.needing(Permission::Read);
        let found = state.store.get_chat(&reading, chat_id).await?;
        if let Some(chat) = found.filter(|chat| self.is_same(chat)) {
            return Ok(Started { chat, reused: true });
        }
        let chat = state.store.create_chat(&self.scope, self.new_chat(None)).await?;
        Ok(Started { chat, reused: false })
    }

    fn is_same(&self, chat: &ChatSession) -> bool {
        chat.user_id.as_ref() == Some(&self.user_id)
            && chat.workflow_name == self.workflow_name
            && !chat.status.is_ended()
    }

    /// Finds a chat that was created a moment ago: the one of the same request, or else the newest.
    async fn recent(&self, state: &AppState) -> Result<Option<ChatSession>, Problem> {
        let window = TimeDelta::seconds(self.reuse_sec.into());
        let filter = ChatFilter {
            user_id: Some(self.user_id.clone()),
            workflow_name: Some(self.workflow_name.clone()),
            statuses: IN_PROGRESS.to_vec(),
            created_from: Some(self.now.checked_sub_signed(window).unwrap_or(self.now)),
            ..ChatFilter::default()
        };
        let reading = self.scope.needing(Permission::Read);
        let mut chats = state.store.list_chats(&reading, &filter, EXAMINED, None).await?.chats;
        let wanted = self.client_request_id.as_deref();
        let given = |chat: &ChatSession| {
            let id = chat.metadata.get(CLIENT_REQUEST_ID).and_then(Value::as_str);
            wanted.is_some() && id == wanted
        };
        let place = chats.iter().position(given).unwrap_or(0);
        Ok((place < chats.len()).then(|| chats.swap_remove(place)))
    }

    /// Returns the digest that parallel starts of one workflow by one user have in common, so that one of them creates the chat.
    ///
    /// Each start that insists on a new chat has none, unless it is the repeat of a request with an id.
    fn digest(&self) -> Option<Digest> {
        let mut hasher = Hasher::default();
        let mut field = |name: &str, text: &str| hasher.field(name, &Value::from(text));
        field("app", self.scope.app_id.as_str());
        field("user", self.user_id.as_str());
        field("workflow", self.workflow_name.as_str());
        if self.is_new {
            field("request", self.client_request_id.as_deref()?);
        } else {
            let window = self.now.timestamp() / i64::from(self.reuse_sec.max(1));
            hasher.field("window", &Value::from(window));
        }
        Some(hasher.finish())
    }

    /// Returns how long starts with the same digest have the same chat: a repeat of a request may come late.
    fn claimed_for(&self) -> TimeDelta {
        if self.is_new {
            REPEATED_WITHIN
        } else {
            TimeDelta::seconds(self.reuse_sec.max(60).into())
        }
    }

    fn new_chat(&self, chat_id: Option<ChatId>) -> NewChatSession {
        let request_id = self.client_request_id.clone();
        let metadata = request_id.map(|id| (CLIENT_REQUEST_ID.to_owned(), Value::from(id)));
        NewChatSession {
            chat_id,
            user_id: Some(self.user_id.clone()),
            team_id: self.team_id.clone(),
            // Its users join each other's chats by their ids.
            visibility: Visibility::Link,
            metadata: JsonObject::from_iter(metadata),
            ..NewChatSession::of(self.workflow_name.clone())
        }
    }
}

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::StoreError;
use records::json::ListLimit;
use records::{ChatId, EventId, Item, Location, MessageBody, NewMessage, Scope, TurnId};
use resume::dialect::TranscriptPosition;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::completion::LastCompletion;
use super::message;
use crate::adapters::ForeignQuery;
use crate::adapters::new_session::{NewSession, title_of};
use crate::admission::Reserve;
use crate::api::messages::append_within;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, ListJson};
use crate::operation::{Description, Output, Prepared};
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;
use crate::unset_values::null_as_default;

/// How often a message is stored anew because others were stored meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// What a person says. Other fields, such as the model, are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = StartCompletion, example = json!({"messages": [
    {"id": "msg-1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
]}))]
pub(crate) struct StartRequest {
    /// `UIMessage`s of the AI SDK, of which the last one of the user is stored. Its id makes the request safe to repeat.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>, max_items = 50_000)]
    messages: Vec<Value>,
    #[serde(skip)]
    key: Option<EventId>,
}

impl Keyed for StartRequest {
    /// The key is the id of a message that has none.
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("id", &mut self.key)
    }
}

impl LimitedLists for StartRequest {
    // Clients send the whole conversation.
    const LISTS: &'static [ListLimit] = &[ListLimit { field: "messages", items: 50_000 }];
}

/// The completion that was started.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StartedCompletion)]
pub(crate) struct StartedResponse {
    /// The id of the message.
    #[schema(example = "msg-1")]
    completion_id: String,
    #[schema(example = "started")]
    status: &'static str,
}

/// That a completion was started, with 202.
pub(crate) enum Started {}

impl Output for Started {
    fn describe(description: &mut Description) {
        description.answers_json::<StartedResponse>(StatusCode::ACCEPTED);
    }
}

/// Stores the last message of the user, and begins a completion.
///
/// The session is created if it does not exist. No agent runs here: one reads the message and finishes the completion. While
/// a completion is running, another message is refused with 409, `completion_in_progress` and the id of the completion. The
/// same message again starts nothing again.
#[operation(
    answers = "The completion is started",
    problems = [CHAT_NOT_FOUND, CHAT_EXISTS, CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn start_completion(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
    request_id: RequestId,
    ListJson(request): ListJson<StartRequest>,
) -> Result<Prepared<Started>, Problem> {
    let minted = || EventId::parse(format!("msg_{}", request_id.as_str())).ok();
    let (said, text) = request.into_said(minted()).await?;
    let new = NewSession {
        chat_id: Some(chat_id.clone()),
        title: Some(title_of(&text)).filter(|title| !title.is_empty()),
        workflow_name: state.adapters.discobot.workflow_name.clone(),
        ..NewSession::default()
    };
    new.ensure(&state, &scope).await?;
    let completion_id = said.id.to_string();
    match say(&state, &scope, &chat_id, said).await? {
        None => {
            let started = StartedResponse { completion_id, status: "started" };
            Ok(Prepared::new((StatusCode::ACCEPTED, Json(started))))
        }
        Some(running) => {
            let conflict =
                json!({"error": "completion_in_progress", "completionId": running.as_str()});
            Ok(Prepared::new((StatusCode::CONFLICT, Json(conflict))))
        }
    }
}

/// A message that begins a completion.
struct Said {
    id: EventId,
    messages: Vec<NewMessage>,
    /// Where the request has it.
    position: TranscriptPosition,
}

impl StartRequest {
    /// Returns the last message of the user, and its text.
    async fn into_said(self, minted: Option<EventId>) -> Result<(Said, String), Problem> {
        let mut numbered = self.messages.into_iter().enumerate().rev();
        let of_user = numbered.find(|(_, message)| message["role"] == "user");
        let (index, of_user) =
            of_user.ok_or_else(|| Problem::invalid_body("", "No user message found"))?;
        check_id(&of_user, index)?;
        let position = TranscriptPosition::Message(index);
        let read = message::read(vec![of_user]).await;
        let read = read.map_err(|problem| located(problem, position))?;
        let mut messages = read.messages;
        let given = messages.first().and_then(|first| first.event_id.clone());
        let id = given.or(self.key).or(minted);
        let id = id.ok_or_else(|| Problem::invalid_body("/messages", "lack an id"))?;
        if let Some(first) = messages.first_mut() {
            first.event_id = Some(id.clone());
            let request_id = id.as_str().into();
            first.body.extra.insert(MessageBody::REQUEST_ID.to_owned(), request_id);
        }
        let text = messages.first().map(|first| text_of(&first.body)).unwrap_or_default();
        Ok((Said { id, messages, position }, text))
    }
}

/// Refuses an id that no message can have: under another one the client would not find its completion. Without an id, or with an
/// empty one, it is minted.
fn check_id(message: &Value, index: usize) -> Result<(), Problem> {
    let refused = match &message["id"] {
        Value::Null => None,
        Value::String(id) if id.is_empty() => None,
        Value::String(id) => EventId::parse(id.as_str()).err().map(|error| error.to_string()),
        _ => Some("must be a text".to_owned()),
    };
    let at = Location::from("/id").below(Item::Message(index));
    refused.map_or(Ok(()), |detail| Err(Problem::invalid_body(at, detail)))
}

/// Places the errors of the only message that was read where the request has it.
fn located(error: impl Into<Problem>, position: TranscriptPosition) -> Problem {
    Problem::located(error, |at| message::place(at, &[position]))
}

fn text_of(body: &MessageBody) -> String {
    body.content.as_str().unwrap_or_default().to_owned()
}

/// Stores a message, unless a completion is running, whose id is then returned.
///
/// The message is stored only if nothing was stored since the session was looked at, so that of several requests at once one
/// begins a completion.
async fn say(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    said: Said,
) -> Result<Option<TurnId>, Problem> {
    let store = &*state.store;
    let mut attempts = 0;
    loop {
        let last = LastCompletion::find(store, scope, chat_id).await?;
        let unchanged = Scope { expected_last_sequence: Some(last.last_sequence), ..scope.clone() };
        let running = last.running().map(|completion| completion.id);
        if let Some(running) = running.filter(|running| running.as_str() != said.id.as_str()) {
            return Ok(Some(running));
        }
        attempts += 1;
        match append_within(state, &unchanged, chat_id, said.messages.clone()).await {
            Err(StoreError::SequenceConflict { .. }) if attempts < MAX_ATTEMPTS => {}
            appended => {
                let appended = appended.map_err(|error| located(error, said.position));
                return appended.map(|_| None);
            }
        }
    }
}

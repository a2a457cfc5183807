use axum::extract::State;
use operation::operation;
use persistence::StoreError;
use records::json::ListLimit;
use records::{ChatId, Invalid, Item, Limits, Location, NewMessage, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::message::SentMessage;
use crate::adapters::ForeignQuery;
use crate::api::messages::{append_nothing, append_within};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, ListJson};
use crate::problem::{Problem, without_kind};
use crate::state::AppState;

/// Messages to save.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewSessionMessages, example = json!({"messages": [
    {"id": "m1", "type": "user", "content": "Hello"},
    {"id": "m2", "type": "assistant", "content": "Hi there!", "metadata": {"agent": "AnalyticalAgent"}}
]}))]
pub(crate) struct SaveMessagesRequest {
    /// At most 1,000 messages: `content`, and if they have them `type` (`user` by default), `timestamp`, `metadata` and
    /// `id`. A message with an `id` that is a text is stored once, however often it is sent.
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    messages: Vec<Value>,
    #[serde(skip)]
    key: Option<IdempotencyKey>,
}

impl Keyed for SaveMessagesRequest {
    /// Each message without an id gets the key of the request, a slash and its index.
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        self.key = Some(key.clone());
        Ok(())
    }
}

impl LimitedLists for SaveMessagesRequest {
    const LISTS: &'static [ListLimit] =
        &[ListLimit { field: "messages", items: Limits::BATCH_MESSAGES }];
}

/// What was saved.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavedSessionMessages)]
pub(crate) struct SaveMessagesResponse {
    /// Whether every message is saved.
    success: bool,
    #[serde(rename = "sessionId")]
    session_id: String,
    /// The number of messages that are saved now, those that were saved before included.
    #[serde(rename = "savedMessages")]
    saved_messages: usize,
    /// The number of messages in the request.
    #[serde(rename = "totalMessages")]
    total_messages: usize,
    /// The messages that are not saved. Missing if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<MessageError>,
}

/// Why a message is not saved.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionMessageError)]
pub(super) struct MessageError {
    /// The position of the message in the request, from 0.
    index: usize,
    #[schema(example = "/content is missing")]
    error: String,
}

/// Saves messages of a session, in order.
///
/// Each message that cannot be saved is named, and the others are saved. Messages of agents need the permission `run`.
#[operation(answers = "What was saved", problems = [CHAT_ENDED])]
pub(crate) async fn save_messages(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    ListJson(request): ListJson<SaveMessagesRequest>,
) -> Result<Json<SaveMessagesResponse>, Problem> {
    let total_messages = request.messages.len();
    let (mut messages, mut errors) = (Vec::new(), Vec::new());
    for (index, item) in request.messages.into_iter().enumerate() {
        let sent = SentMessage::read(item, &chat_id);
        match sent.and_then(|message| message.into_new(&scope.caller)) {
            Ok(mut message) => {
                if let (Some(key), None) = (&request.key, &message.event_id) {
                    key.nth("messages", index).fill("id", &mut message.event_id)?;
                }
                messages.push((index, message));
            }
            Err(invalid) => errors.push(MessageError { index, error: told(&invalid) }),
        }
    }
    let read = messages.len();
    let refused = save(&state, &scope, &chat_id, messages).await?;
    let saved_messages = read - refused.len();
    errors.extend(refused);
    errors.sort_by_key(|error| error.index);
    Ok(Json(SaveMessagesResponse {
        success: errors.is_empty(),
        session_id: chat_id.into(),
        saved_messages,
        total_messages,
        errors,
    }))
}

/// Saves messages at once, without those that keep the others from being saved.
async fn save(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    mut messages: Vec<(usize, NewMessage)>,
) -> Result<Vec<MessageError>, StoreError> {
    if messages.is_empty() {
        // The session must exist nevertheless.
        append_nothing(state, scope, chat_id).await?;
        return Ok(Vec::new());
    }
    let mut refused = Vec::new();
    while !messages.is_empty() {
        let batch = messages.iter().map(|(_, message)| message.clone()).collect();
        let Err(error) = append_within(state, scope, chat_id, batch).await else { break };
        let place = place_of(&error).filter(|place| *place < messages.len());
        let (Some(place), Some(told)) = (place, of_message(&error)) else { return Err(error) };
        let (index, _) = messages.remove(place);
        refused.push(MessageError { index, error: told });
    }
    Ok(refused)
}

/// Returns the position of the message that an error is about.
fn place_of(error: &StoreError) -> Option<usize> {
    match error {
        StoreError::Invalid(Invalid {
            location: Location { item: Some(Item::Message(index)), .. },
            ..
        })
        | StoreError::EventConflict { index, .. } => Some(*index),
        _ => None,
    }
}

/// Returns what is wrong with a message, if the error is one about a message.
fn of_message(error: &StoreError) -> Option<String> {
    match error {
        StoreError::Invalid(invalid) => {
            // The response names the message.
            let location = Location { item: None, ..invalid.location.clone() };
            Some(told(&Invalid { location, ..invalid.clone() }))
        }
        StoreError::EventConflict { event_id, .. } => {
            Some(format!("/id: another message has the id {event_id}"))
        }
        _ => None,
    }
}

fn told(invalid: &Invalid) -> String {
    let Invalid { location, detail, .. } = invalid;
    format!("{location} {}", without_kind(detail)).trim_start().to_owned()
}

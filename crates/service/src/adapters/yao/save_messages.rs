use axum::extract::State;
use operation::operation;
use persistence::Outcome;
use records::json::ListLimit;
use resume::dialect::Yao;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::find::shown_id;
use super::wire::place_of_message;
use crate::adapters::ForeignQuery;
use crate::api::messages::{MESSAGES, append_all, read_valid};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, ListJson};
use crate::problem::Problem;
use crate::state::AppState;
use crate::unset_values::null_as_default;

/// The messages to save; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SaveChatMessages, example = json!({"messages": [{
    "message_id": "msg_001", "request_id": "req_abc", "role": "user", "type": "user_input",
    "props": {"content": "Will it rain?", "role": "user"}
}]}))]
pub(crate) struct SaveMessagesRequest {
    /// At most 1,000 messages, each with `role`, `type` and `props`.
    #[serde(deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
}

impl Keyed for SaveMessagesRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        let messages = self.messages.iter_mut().map(Value::as_object_mut);
        key.fill_missing("messages", "message_id", messages);
        Ok(())
    }
}

impl LimitedLists for SaveMessagesRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

/// What became of the messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavedChatMessages)]
pub(crate) struct SavedMessagesResponse {
    /// How many of them are new.
    #[schema(example = 1)]
    saved: usize,
    /// The messages that are stored, in order. Events are not.
    messages: Vec<SavedMessage>,
}

/// A stored message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavedChatMessage)]
struct SavedMessage {
    #[schema(example = "msg_001")]
    message_id: String,
    /// Its number in the chat, from 1.
    #[schema(example = 1)]
    sequence: u64,
    /// Whether it was stored before.
    duplicate: bool,
}

/// Saves messages at the end of a session, all of them or none.
///
/// A message with a `message_id` is stored once for each `request_id`. If one message is invalid, none is stored.
#[operation(
    answers = "The messages are stored",
    problems = [CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn save_messages(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    ListJson(request): ListJson<SaveMessagesRequest>,
) -> Result<Json<SavedMessagesResponse>, Problem> {
    let parsed = read_valid(&Yao, request.messages).await?;
    let ids: Vec<_> = parsed.messages.iter().map(|message| shown_id(&message.body, None)).collect();
    let append = append_all(&state, &scope, &chat_id, parsed, place_of_message).await?;
    let stored = append.messages.into_iter().zip(ids);
    let messages: Vec<_> = stored
        .map(|(stored, id)| SavedMessage {
            message_id: if id.is_empty() { stored.event_id.into() } else { id },
            sequence: stored.sequence + 1,
            duplicate: stored.outcome == Outcome::Duplicate,
        })
        .collect();
    let saved = messages.iter().filter(|message| !message.duplicate).count();
    Ok(Json(SavedMessagesResponse { saved, messages }))
}

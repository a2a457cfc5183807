use records::{ChatSession, ForkOrigin, JsonObject, LastTurn};
use serde::Serialize;
use utoipa::ToSchema;

use super::values;
use super::{HolderFields, Time};

/// A chat session, without its messages, artifact and context snapshot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSession)]
pub(crate) struct ChatSessionResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    /// The user that owns the chat.
    #[schema(example = "user_alice_456")]
    user_id: Option<String>,
    /// The team that the chat is shared with.
    team_id: Option<String>,
    /// Who may read the chat: `app`, `team` or `private`.
    #[schema(value_type = values::Visibility)]
    visibility: &'static str,
    /// The seed for model caches; the same for the lifetime of the chat.
    #[schema(value_type = u64, maximum = 4_294_967_295_u32, example = 2_900_028_032_u32)]
    cache_seed: u32,
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(value_type = values::ChatStatus)]
    status: &'static str,
    /// Why the chat was paused or failed.
    status_reason: Option<String>,
    title: Option<String>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
    last_updated_at: Time,
    completed_at: Option<Time>,
    /// Seconds from creation to the end; 0 until the chat has ended.
    #[schema(example = 0.0)]
    duration_sec: f64,
    /// The number of messages ever appended, which is the sequence of the next one.
    #[schema(example = 15)]
    last_sequence: u64,
    /// The ids of the pending input requests, oldest first.
    pending_inputs: Vec<String>,
    /// The holder of the lease; null if no worker holds it.
    lease: Option<HolderFields>,
    /// When the last message was appended.
    last_message_at: Option<Time>,
    /// The name in the message that was appended last, or its role if it has no name; null if an earlier release
    /// appended it.
    last_speaker: Option<String>,
    /// The model connector of the last turn or message that names one.
    last_connector: Option<String>,
    /// The mode of the last turn or message that names one.
    last_mode: Option<String>,
    /// The last turn.
    last_turn: Option<LastTurnFields>,
    /// The source of a fork; null for other chats.
    forked_from: Option<ForkOriginFields>,
    /// The assistant that the chat talks to.
    assistant_id: Option<String>,
    /// The place of the chat in lists that are sorted by it.
    #[schema(example = 0)]
    sort: i32,
    /// The instructions for the model, which callers put before the messages.
    system_prompt: Option<String>,
    /// `active`, `archived` or `deleted`.
    #[schema(value_type = values::Lifecycle)]
    lifecycle: &'static str,
    /// When the chat was archived or deleted; null if it is active.
    lifecycle_at: Option<Time>,
    /// Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
    #[schema(example = 0)]
    session_version: u64,
    /// The user who made the last such change; null if a service did.
    updated_by: Option<String>,
}

/// A stored turn.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastTurn)]
pub(crate) struct LastTurnFields {
    #[schema(example = "req_abc")]
    request_id: String,
    /// `completed`, `interrupted` or `failed`.
    #[schema(value_type = values::TurnOutcome)]
    outcome: &'static str,
    /// The number of the turn in the chat, from 1.
    #[schema(example = 1)]
    turn: u64,
}

impl From<LastTurn> for LastTurnFields {
    fn from(last: LastTurn) -> Self {
        let LastTurn { request_id, outcome, turn } = last;
        Self { request_id: request_id.into(), outcome: outcome.as_str(), turn }
    }
}

/// The source of a fork.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ForkOrigin)]
pub(crate) struct ForkOriginFields {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The number of messages shared with the source.
    #[schema(example = 12)]
    sequence: u64,
}

impl From<ForkOrigin> for ForkOriginFields {
    fn from(origin: ForkOrigin) -> Self {
        Self { chat_id: origin.chat_id.into(), sequence: origin.sequence }
    }
}

impl From<ChatSession> for ChatSessionResponse {
    fn from(chat: ChatSession) -> Self {
        Self {
            chat_id: chat.chat_id.into(),
            app_id: chat.app_id.into(),
            workflow_name: chat.workflow_name.into(),
            user_id: chat.user_id.map(Into::into),
            team_id: chat.team_id.map(Into::into),
            visibility: chat.visibility.as_str(),
            cache_seed: chat.cache_seed,
            status: chat.status.as_str(),
            status_reason: chat.status_reason,
            title: chat.title,
            metadata: chat.metadata,
            created_at: chat.created_at.into(),
            last_updated_at: chat.last_updated_at.into(),
            completed_at: chat.completed_at.map(Into::into),
            duration_sec: chat.duration_sec,
            last_sequence: chat.last_sequence,
            pending_inputs: chat.pending_inputs.into_iter().map(Into::into).collect(),
            forked_from: chat.forked_from.map(Into::into),
            lease: chat.lease.map(Into::into),
            last_message_at: chat.last_message_at.map(Into::into),
            last_speaker: chat.last_speaker,
            last_connector: chat.last_connector,
            last_mode: chat.last_mode,
            last_turn: chat.last_turn.map(Into::into),
            assistant_id: chat.assistant_id.map(Into::into),
            sort: chat.sort,
            system_prompt: chat.system_prompt,
            lifecycle: chat.lifecycle.as_str(),
            lifecycle_at: chat.lifecycle_at.map(Into::into),
            session_version: chat.session_version,
            updated_by: chat.updated_by.map(Into::into),
        }
    }
}

use records::{ChatSession, ForkOrigin, JsonObject, LastTurn};
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::{HolderFields, Time};

/// A chat session: everything about it but its messages, artifact and context snapshot.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSession)]
pub(crate) struct ChatSessionResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    /// The user it was started for.
    #[schema(example = "user_alice_456")]
    user_id: Option<String>,
    /// The team it is shared with.
    team_id: Option<String>,
    /// Who may see it: `app`, `team` or `private`.
    #[schema(example = "app")]
    visibility: &'static str,
    /// Makes model caches of this chat repeatable.
    #[schema(value_type = u64, maximum = 4_294_967_295_u32, example = 2_900_028_032_u32)]
    cache_seed: u32,
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(example = "running")]
    status: &'static str,
    /// Why it was paused or failed.
    status_reason: Option<String>,
    title: Option<String>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
    last_updated_at: Time,
    completed_at: Option<Time>,
    /// Seconds from creation to the end; 0 while the chat goes on.
    #[schema(example = 0.0)]
    duration_sec: f64,
    /// How many messages were ever appended, and so the sequence the next one gets.
    #[schema(example = 15)]
    last_sequence: u64,
    /// The ids of the input requests it waits on, oldest first.
    pending_inputs: Vec<String>,
    /// Who alone carries it on; null where nobody has that right.
    lease: Option<HolderFields>,
    /// When a message was last appended.
    last_message_at: Option<Time>,
    /// The connector to a model that the last turn which names one has used.
    last_connector: Option<String>,
    /// The mode of the last turn which names one.
    last_mode: Option<String>,
    /// The turn that was written last.
    last_turn: Option<LastTurnFields>,
    /// Where it was forked from, if it is a fork.
    forked_from: Option<ForkOriginFields>,
}

/// A turn that was written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastTurn)]
pub(crate) struct LastTurnFields {
    #[schema(example = "req_abc")]
    request_id: String,
    /// `completed`, `interrupted` or `failed`.
    #[schema(example = "completed")]
    outcome: &'static str,
    /// Which turn of the chat it is, from 1.
    #[schema(example = 1)]
    turn: u64,
}

impl From<LastTurn> for LastTurnFields {
    fn from(last: LastTurn) -> Self {
        let LastTurn { request_id, outcome, turn } = last;
        Self { request_id: request_id.into(), outcome: outcome.as_str(), turn }
    }
}

/// Where a chat was forked from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ForkOrigin)]
pub(crate) struct ForkOriginFields {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// How many of its messages were taken over.
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
            last_connector: chat.last_connector,
            last_mode: chat.last_mode,
            last_turn: chat.last_turn.map(Into::into),
        }
    }
}

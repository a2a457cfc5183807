use records::{ChatSession, JsonObject, Message};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::message::AGENT;
use super::status::Activity;
use crate::wire::Time;

/// A chat session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(super) struct SessionItem {
    #[schema(example = "session_abc123")]
    id: String,
    #[schema(example = "Chat about AI")]
    title: String,
    #[serde(rename = "createdAt")]
    created_at: Time,
    /// `active`, `inactive`, `archived` or `deleted`.
    #[schema(example = "active")]
    status: &'static str,
    /// The number of messages that were ever stored.
    #[serde(rename = "messageCount")]
    message_count: u64,
}

impl SessionItem {
    pub(super) fn new(chat: ChatSession, activity: Activity) -> Self {
        Self {
            status: activity.status_of(&chat).as_str(),
            id: chat.chat_id.into(),
            title: chat.title.unwrap_or_default(),
            created_at: chat.created_at.into(),
            message_count: chat.last_sequence,
        }
    }
}

/// A chat session in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedSession)]
pub(super) struct ListedSession {
    #[serde(flatten)]
    #[schema(inline)]
    session: SessionItem,
    /// When something was last said; the creation if nothing was.
    #[serde(rename = "lastMessageAt")]
    last_message_at: Time,
    /// The agent of the last message; null if a person said it.
    #[serde(rename = "agentType")]
    #[schema(example = "AnalyticalAgent")]
    agent_type: Option<String>,
}

impl ListedSession {
    pub(super) fn new(mut chat: ChatSession, activity: Activity) -> Self {
        // A message without a name is told by its role.
        let agent = chat.last_speaker.take();
        let is_agent = |name: &String| !["user", "assistant", "system"].contains(&&**name);
        Self {
            last_message_at: chat.last_active_at().into(),
            agent_type: agent.filter(is_agent),
            session: SessionItem::new(chat, activity),
        }
    }
}

/// A message of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionMessage)]
pub(super) struct MessageItem {
    /// The position of the message in the session, from 0.
    id: u64,
    /// Mostly a text.
    content: Value,
    /// `user`, `assistant` or `system`; messages of other clients may have other types.
    #[serde(rename = "type")]
    #[schema(example = "assistant")]
    kind: String,
    /// As given with the message; otherwise when it was stored.
    #[schema(example = "2025-06-26T10:00:00Z")]
    timestamp: String,
    /// The agent that wrote the message. Missing if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "AnalyticalAgent")]
    agent: Option<String>,
    /// `user` or `bot`.
    #[schema(example = "bot")]
    sender: &'static str,
    /// As given with the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
}

impl From<Message> for MessageItem {
    fn from(message: Message) -> Self {
        let body = message.body;
        let stored_at = || Time::from(message.created_at).to_string();
        let is_of_user = body.role == "user";
        let in_metadata = || body.metadata.as_ref()?.get(AGENT)?.as_str().map(str::to_owned);
        Self {
            id: message.sequence,
            agent: body.name.filter(|_| !is_of_user).or_else(in_metadata),
            content: body.content,
            kind: body.role,
            timestamp: body.timestamp.unwrap_or_else(stored_at),
            sender: if is_of_user { "user" } else { "bot" },
            metadata: body.metadata,
        }
    }
}

/// What was done to a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionDone)]
pub(super) struct DoneResponse {
    success: bool,
    #[serde(rename = "chatId")]
    #[schema(example = "session_abc123")]
    chat_id: String,
}

impl DoneResponse {
    pub(super) fn of(chat_id: impl Into<String>) -> Self {
        Self { success: true, chat_id: chat_id.into() }
    }
}

/// A session, as it is after the request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionEnvelope)]
pub(super) struct SessionResponse {
    success: bool,
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    session: SessionItem,
}

impl SessionResponse {
    pub(super) fn of(chat: ChatSession, activity: Activity) -> Self {
        let session_id = chat.chat_id.as_str().to_owned();
        Self { success: true, session_id, session: SessionItem::new(chat, activity) }
    }
}

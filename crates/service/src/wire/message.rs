use records::{Author, JsonObject, Message};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Time;

/// A message, with those of the optional fields `tool_calls`, `tool_call_id`, … that it has.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub(crate) struct MessageResponse {
    /// The position in the chat, from 0, without gaps.
    #[schema(example = 1)]
    sequence: u64,
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = "assistant")]
    role: String,
    /// The speaker.
    #[schema(example = "interviewer")]
    name: Option<String>,
    /// Any JSON value, mostly text.
    #[schema(example = "What features should it include?")]
    content: Value,
    /// The caller's own time; the time of storing if none was given.
    #[schema(example = "2025-10-02T10:00:05.000Z")]
    timestamp: String,
    created_at: Time,
    #[serde(flatten)]
    #[schema(value_type = BTreeMap<String, Value>)]
    extra: JsonObject,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// The person who wrote the message, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<AuthorResponse>,
    /// When the message was last edited, if ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_at: Option<Time>,
    /// The person who last edited the message; missing if a service did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "user_alice_456")]
    edited_by: Option<String>,
    /// When the message was deleted, if ever; then only its role and name are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Time>,
    /// The person who deleted the message; missing if a service did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "user_alice_456")]
    deleted_by: Option<String>,
    /// True while the text of this deleted message is still stored, because another chat (a fork, or the source of this one)
    /// shares the message and has not deleted it; otherwise missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(value_type = Option<bool>)]
    text_is_kept: bool,
}

impl From<Message> for MessageResponse {
    fn from(message: Message) -> Self {
        let created_at = Time(message.created_at);
        let body = message.body;
        Self {
            sequence: message.sequence,
            event_id: message.event_id.into(),
            role: body.role,
            name: body.name,
            content: body.content,
            timestamp: body.timestamp.unwrap_or_else(|| created_at.to_string()),
            created_at,
            extra: body.extra,
            metadata: body.metadata,
            author: message.author.map(Into::into),
            edited_at: message.edited_at.map(Into::into),
            edited_by: message.edited_by.map(Into::into),
            deleted_at: message.deleted_at.map(Into::into),
            deleted_by: message.deleted_by.map(Into::into),
            text_is_kept: message.is_text_kept,
        }
    }
}

/// The person who wrote a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Author)]
pub(crate) struct AuthorResponse {
    #[schema(example = "user_alice_456")]
    user_id: String,
    /// The display name at that time, if it was given with the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Alice")]
    display_name: Option<String>,
}

impl From<Author> for AuthorResponse {
    fn from(author: Author) -> Self {
        Self { user_id: author.user_id.into(), display_name: author.display_name.map(Into::into) }
    }
}

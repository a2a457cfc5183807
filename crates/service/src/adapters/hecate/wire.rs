use records::{ChatSession, Message, MessageBody, ProviderCall};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::adapters::given_time;
use crate::adapters::said_fields::SaidFields;
use crate::wire::Time;

/// A chat session with both of its streams, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionEnvelope)]
pub(super) struct SessionResponse {
    #[schema(example = "chat_session")]
    object: &'static str,
    data: SessionItem,
}

/// A chat session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSession)]
pub(super) struct SessionItem {
    #[schema(example = "chat_0198d4b2")]
    id: String,
    title: String,
    /// Missing if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    system_prompt: String,
    /// The owner; empty if the session has none.
    user: String,
    created_at: Time,
    updated_at: Time,
    messages: Vec<MessageItem>,
    provider_calls: Vec<CallItem>,
}

impl SessionResponse {
    /// A session without its streams.
    pub(super) fn empty(chat: ChatSession) -> Self {
        let data = SessionItem {
            id: chat.chat_id.into(),
            title: chat.title.unwrap_or_default(),
            system_prompt: chat.system_prompt.unwrap_or_default(),
            user: chat.user_id.map(String::from).unwrap_or_default(),
            created_at: chat.created_at.into(),
            updated_at: chat.last_updated_at.into(),
            messages: Vec::new(),
            provider_calls: Vec::new(),
        };
        Self { object: "chat_session", data }
    }
}

/// A message. Deleted messages are left out; the sequences of the others stay.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionMessage)]
pub(super) struct MessageItem {
    #[schema(example = "msg_0198d4b2")]
    id: String,
    sequence: u64,
    /// The call that produced the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    produced_by_call_id: Option<Value>,
    #[serde(flatten)]
    #[schema(inline)]
    said: SaidFields,
    /// As given with the message; otherwise when it was stored.
    #[schema(example = "2025-10-02T10:00:05.000Z")]
    created_at: String,
}

impl From<Message> for MessageItem {
    fn from(message: Message) -> Self {
        let mut body = message.body;
        let stored_at = || Time::from(message.created_at).to_string();
        let given = body.timestamp.take().and_then(given_time::in_utc);
        let created_at = given.unwrap_or_else(stored_at);
        let produced_by = body.extra.remove(MessageBody::PRODUCED_BY);
        let produced_by_call_id = produced_by.filter(|id| !id.is_null());
        Self {
            id: message.event_id.into(),
            sequence: message.sequence,
            produced_by_call_id,
            said: SaidFields::of(body.role, body.name, body.content, body.extra),
            created_at,
        }
    }
}

/// A call of a provider.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionProviderCall)]
pub(super) struct CallItem {
    #[schema(example = "call_0198d4b2")]
    id: String,
    request_id: String,
    provider: String,
    model: String,
    /// Missing if it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(example = "cloud")]
    provider_kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    requested_provider: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    requested_model: String,
    cost_micros_usd: u64,
    /// The same amount in US dollars, with six decimals.
    #[schema(example = "0.001234")]
    cost_usd: String,
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    created_at: Time,
}

impl From<ProviderCall> for CallItem {
    fn from(call: ProviderCall) -> Self {
        Self {
            id: call.call_id.into(),
            request_id: call.request_id.unwrap_or_default(),
            provider: call.used.provider.unwrap_or_default(),
            model: call.used.model.unwrap_or_default(),
            provider_kind: call.provider_kind.unwrap_or_default(),
            requested_provider: call.requested.provider.unwrap_or_default(),
            requested_model: call.requested.model.unwrap_or_default(),
            cost_micros_usd: call.cost.micros(),
            cost_usd: call.cost.to_string(),
            prompt_tokens: call.tokens.prompt,
            completion_tokens: call.tokens.completion,
            total_tokens: call.tokens.total,
            created_at: call.called_at.into(),
        }
    }
}

use records::{JsonObject, Message, MessageBody};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is said in a message: the fields that a provider is sent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SaidFields {
    #[schema(example = "assistant")]
    role: String,
    /// Null beside calls without text.
    content: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_blocks: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_error: Option<Value>,
}

impl SaidFields {
    /// Returns what the system prompt of a chat says.
    pub(super) fn prompt(prompt: String) -> Self {
        Self::of("system".to_owned(), None, prompt.into(), JsonObject::new())
    }

    /// Returns what is said in a stored message.
    pub(super) fn of(
        role: String,
        name: Option<String>,
        content: Value,
        mut extra: JsonObject,
    ) -> Self {
        let mut take = |field: &str| extra.remove(field).filter(|value| !is_empty(value));
        let tool_calls = take("tool_calls");
        let content = match content {
            Value::String(text) if text.is_empty() && tool_calls.is_some() => Value::Null,
            content => content,
        };
        Self {
            role,
            content,
            content_blocks: take("content_blocks"),
            name: name.map(Value::from).filter(|name| !is_empty(name)),
            tool_call_id: take("tool_call_id"),
            tool_calls,
            tool_error: take("tool_error"),
        }
    }
}

impl From<Message> for SaidFields {
    fn from(message: Message) -> Self {
        let MessageBody { role, name, content, extra, .. } = message.body;
        Self::of(role, name, content, extra)
    }
}

/// Returns whether a field with this value is left out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

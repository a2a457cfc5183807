use records::{JsonObject, Message, MessageBody};
use serde::Serialize;
use serde_json::{Value, json};
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

    /// Returns what of it a client that knows the form of Chat Completions alone sends again.
    ///
    /// Such a client does not send blocks and marks of errors, may send a text as a list with one part, and the calls of
    /// a streamed answer without their `index`.
    pub(super) fn compared(self) -> Value {
        let Self { role, content, content_blocks, name, tool_call_id, tool_calls, tool_error: _ } =
            self;
        let content = match text_of_parts(&content) {
            Some(text) => text.into(),
            None => content,
        };
        // Without a text and calls, the blocks are all that is said.
        let blocks = content_blocks.filter(|_| is_empty(&content) && tool_calls.is_none());
        let calls = tool_calls.map(without_index);
        json!([role, content, blocks, name, tool_call_id, calls])
    }

    /// Returns whether a message says anything that a provider could be sent.
    pub(super) fn says_anything(body: &MessageBody) -> bool {
        const OTHERWISE: [&str; 2] = ["content_blocks", "tool_calls"];
        let has = |field: &str| body.extra.get(field).is_some_and(|value| !is_empty(value));
        !is_empty(&body.content)
            || OTHERWISE.into_iter().any(has)
            || ["tool", "function"].contains(&body.role.as_str())
    }

    /// Returns what a provider accepts of a stored message that says anything.
    ///
    /// Every caller with `say` chooses content and name, so one message must not keep a provider from
    /// answering all later ones.
    pub(super) fn accepted(message: Message) -> Self {
        let MessageBody { role, name, content, extra, .. } = message.body;
        let mut said = Self::of(role, name, content, extra);
        said.name = said.name.as_ref().and_then(Value::as_str).map(|name| word(name).into());
        said.content = match said.content.take() {
            Value::Null if said.content_blocks.is_none() && said.tool_calls.is_none() => "".into(),
            content @ (Value::Null | Value::String(_)) => content,
            Value::Array(parts) if parts.iter().all(|part| part["type"].is_string()) => {
                parts.into()
            }
            other => other.to_string().into(),
        };
        said
    }
}

/// Returns a name in which each character that a provider refuses is `_`.
fn word(name: &str) -> String {
    let accepted = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    name.chars().take(64).map(|it| if accepted(it) { it } else { '_' }).collect()
}

/// Returns the text of a list of texts; `None` for any other content.
fn text_of_parts(content: &Value) -> Option<String> {
    let parts = content.as_array()?.iter();
    parts.map(|part| part["text"].as_str().filter(|_| part["type"] == "text")).collect()
}

fn without_index(mut calls: Value) -> Value {
    for call in calls.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        call.remove("index");
    }
    calls
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

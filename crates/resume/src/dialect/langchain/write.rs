use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{CanonicalMessage, Role, is_empty_value};
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// The field with which `LangChain` marks developer instructions.
pub(super) const ROLE_MARK: &str = "__openai_role__";

/// Writes each message separately.
#[derive(Debug)]
pub(super) struct MessagesWriter;

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let mut data = Map::new();
        let mut put = |field: &str, value: Value| data.insert(field.to_owned(), value);
        put("content", write_content(&mut message));
        if let Some(name) = message.name.take() {
            put("name", name.into());
        }
        let kind = match message.role {
            Role::System | Role::Developer => "system",
            Role::Assistant => "ai",
            Role::Tool => "tool",
            Role::User | Role::Function => "human",
        };
        if message.role == Role::Tool {
            put("tool_call_id", std::mem::take(&mut message.call_id).into());
            put("status", if message.is_error { "error" } else { "success" }.into());
        }
        let kwargs = write_kwargs(&mut message);
        if !kwargs.is_empty() {
            put("additional_kwargs", kwargs.into());
        }
        if !message.calls.is_empty() {
            put("tool_calls", write_calls(&mut message));
        }
        message.report_repairs(rendered);
        rendered.messages.push(json!({"type": kind, "data": data}));
    }
}

fn write_content(message: &mut CanonicalMessage) -> Value {
    let is_part = |part: &Value| part["type"].is_string();
    match message.content.take() {
        Value::Null => {
            message.repairs.push(Repair::NullContentFilled);
            "".into()
        }
        Value::Array(parts) if parts.iter().all(is_part) => parts.into(),
        text @ Value::String(_) => text,
        other => {
            message.repairs.push(Repair::ContentSerialised);
            other.to_string().into()
        }
    }
}

fn write_kwargs(message: &mut CanonicalMessage) -> Map<String, Value> {
    let mut kwargs = Map::new();
    if message.role == Role::Developer {
        kwargs.insert(ROLE_MARK.to_owned(), "developer".into());
    }
    if let Some(refusal) = message.refusal.take() {
        kwargs.insert("refusal".to_owned(), refusal.into());
    }
    let reasoning = message.reasoning.take();
    if !is_empty_value(&reasoning) {
        kwargs.insert("reasoning_content".to_owned(), reasoning);
    }
    kwargs
}

fn write_calls(message: &mut CanonicalMessage) -> Value {
    let calls = message.calls.iter_mut().map(|call| {
        let arguments = call.take_arguments();
        let (id, name) = (&call.id, &call.target.name);
        json!({"name": name, "args": arguments, "id": id, "type": "tool_call"})
    });
    calls.collect()
}

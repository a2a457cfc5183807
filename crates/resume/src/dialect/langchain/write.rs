use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{Canonical, Role, is_blank};
use crate::dialect::pipeline::Writer;
use crate::rendered::Rendered;

/// Marks an instruction of the developer, as `LangChain` does.
pub(super) const ROLE_MARK: &str = "__openai_role__";

/// Writes each message by itself.
#[derive(Debug)]
pub(super) struct Messages;

impl Writer for Messages {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        let mut data = Map::new();
        let mut put = |field: &str, value: Value| data.insert(field.to_owned(), value);
        put("content", content(&mut message));
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
        let marks = marks(&mut message);
        if !marks.is_empty() {
            put("additional_kwargs", marks.into());
        }
        if !message.calls.is_empty() {
            put("tool_calls", calls(&mut message));
        }
        message.report(rendered);
        rendered.messages.push(json!({"type": kind, "data": data}));
    }
}

fn content(message: &mut Canonical) -> Value {
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

fn marks(message: &mut Canonical) -> Map<String, Value> {
    let mut marks = Map::new();
    if message.role == Role::Developer {
        marks.insert(ROLE_MARK.to_owned(), "developer".into());
    }
    if let Some(refusal) = message.refusal.take() {
        marks.insert("refusal".to_owned(), refusal.into());
    }
    let reasoning = message.reasoning.take();
    if !is_blank(&reasoning) {
        marks.insert("reasoning_content".to_owned(), reasoning);
    }
    marks
}

fn calls(message: &mut Canonical) -> Value {
    let calls = message.calls.iter_mut().map(|call| {
        let arguments = call.take_arguments();
        let (id, name) = (&call.id, &call.target.name);
        json!({"name": name, "args": arguments, "id": id, "type": "tool_call"})
    });
    calls.collect()
}

use serde_json::{Map, Value, json};

use super::{Target, content, own_fields};
use crate::canonical::{CanonicalMessage, Reasoning, Role, is_empty_value};
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// Adds a message and its repairs to the rendering.
pub(super) fn write(target: Target, mut message: CanonicalMessage, rendered: &mut Rendered) {
    own_fields::lower(target, &mut message);
    let reasoning = reasoning_text(&mut message);
    if own_fields::leaves_nothing(&message) {
        if reasoning.is_none() && !own_fields::has_added(&message) {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        // Providers that read reasoning accept it beside an empty text, not beside none.
        message.content = "".into();
        message.repairs.push(Repair::NullContentFilled);
    }
    convert_content(target, &mut message);
    message.report_repairs(rendered);
    rendered.messages.push(message_object(message, reasoning));
}

fn convert_content(target: Target, message: &mut CanonicalMessage) {
    let is_null = message.content.is_null();
    if message.makes_calls() && !is_null && is_empty_value(&message.content) {
        message.content = Value::Null;
        message.repairs.push(Repair::EmptyContentRemoved);
    }
    if !message.makes_calls()
        && is_null
        && let Some(refusal) = message.refusal.take()
    {
        message.content = json!([{"type": "refusal", "refusal": refusal}]);
        message.repairs.push(Repair::RefusalMoved);
    }
    content::convert(target, message);
}

/// Takes the reasoning as one text; encrypted reasoning has none.
fn reasoning_text(message: &mut CanonicalMessage) -> Option<String> {
    let blocks = message.take_reasoning().unwrap_or_else(|| {
        message.repairs.push(Repair::ReasoningRemoved);
        Vec::new()
    });
    let texts = blocks.into_iter().filter_map(|block| match block {
        Reasoning::Text { text, .. } => Some(text).filter(|text| !text.is_empty()),
        Reasoning::Redacted(_) => None,
    });
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn message_object(message: CanonicalMessage, reasoning: Option<String>) -> Value {
    let mut object = Map::with_capacity(4);
    let mut put = |field: &str, value| object.insert(field.to_owned(), value);
    put("role", message.role.as_str().into());
    if message.role == Role::Tool {
        put("tool_call_id", message.call_id.into());
    }
    if let Some(name) = message.name {
        put("name", name.into());
    }
    put("content", message.content);
    if let Some(refusal) = message.refusal {
        put("refusal", refusal.into());
    }
    if let Some(reasoning) = reasoning {
        put("reasoning_content", reasoning.into());
    }
    if !message.calls.is_empty() {
        put("tool_calls", message.calls.into_iter().map(Value::from).collect());
    }
    if let Some(target) = message.function_call {
        put("function_call", target.write_function());
    }
    for (field, value) in message.provider {
        put(&field, value);
    }
    Value::Object(object)
}

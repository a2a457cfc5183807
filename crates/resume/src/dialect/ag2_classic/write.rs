use std::mem;

use serde_json::{Map, Value, json};

use super::profile::{EXECUTOR, Profile};
use crate::Repair;
use crate::canonical::{CanonicalMessage, Role, are_parts, is_empty_value};
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes each message separately; for a pattern, all results of a message become one message.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    profile: Profile,
    has_begun: bool,
    /// The results that are not written yet; always empty for the manager.
    pending_responses: Vec<Value>,
}

impl MessagesWriter {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, has_begun: false, pending_responses: Vec::new() }
    }

    fn write_pending_responses(&mut self, rendered: &mut Rendered) {
        if self.pending_responses.is_empty() {
            return;
        }
        let responses = mem::take(&mut self.pending_responses);
        let texts: Vec<_> = responses.iter().filter_map(|it| it["content"].as_str()).collect();
        rendered.messages.push(json!({
            "role": "tool", "name": EXECUTOR, "content": texts.join("\n"),
            "tool_responses": responses,
        }));
    }

    fn write_speech(&mut self, message: &mut CanonicalMessage) -> Value {
        let mut object = Map::new();
        let mut put = |field: &str, value: Value| object.insert(field.to_owned(), value);
        put("role", message.role.as_str().into());
        if let Some(name) = message.name.take() {
            if self.profile.accepts(&name, !self.has_begun) {
                put("name", name.into());
            } else {
                message.repairs.push(Repair::FieldRemoved { field: "name" });
            }
        }
        put("content", write_content(message));
        if let Some(refusal) = message.refusal.take() {
            put("refusal", refusal.into());
        }
        let reasoning = message.reasoning.take();
        if !is_empty_value(&reasoning) {
            put("reasoning_content", reasoning);
        }
        if !message.calls.is_empty() {
            put("tool_calls", write_calls(message));
        }
        object.into()
    }
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let content = message.take_text();
            let response =
                json!({"tool_call_id": message.call_id, "role": "tool", "content": content});
            message.report_repairs(rendered);
            match self.profile {
                Profile::Pattern => self.pending_responses.push(response),
                Profile::Manager => rendered.messages.push(response),
            }
            return;
        }
        self.write_pending_responses(rendered);
        let object = self.write_speech(&mut message);
        self.has_begun = true;
        message.report_repairs(rendered);
        rendered.messages.push(object);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_pending_responses(rendered);
    }
}

fn write_content(message: &mut CanonicalMessage) -> Value {
    let fits = |part: &Value| match part["type"].as_str() {
        Some("text") => part["text"].is_string(),
        Some("image_url") => part["image_url"]["url"].is_string(),
        _ => false,
    };
    let makes_calls = !message.calls.is_empty();
    match message.content.take() {
        Value::Null => match message.refusal.take_if(|_| !makes_calls) {
            Some(refusal) => {
                message.repairs.push(Repair::RefusalGivenAsText);
                refusal.into()
            }
            None => empty_text(message),
        },
        Value::String(text) if makes_calls && text == "None" => empty_text(message),
        text @ Value::String(_) => text,
        Value::Array(parts) if are_parts(&parts) => message.fit_parts(parts, fits),
        other => {
            message.repairs.push(Repair::ContentSerialised);
            other.to_string().into()
        }
    }
}

/// Returns the empty text in place of null, and reports that.
fn empty_text(message: &mut CanonicalMessage) -> Value {
    message.repairs.push(Repair::NullContentFilled);
    "".into()
}

fn write_calls(message: &mut CanonicalMessage) -> Value {
    let calls = message.calls.iter_mut().map(|call| {
        let arguments = call.take_arguments_text();
        let (id, name) = (&call.id, &call.target.name);
        json!({
            "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
        })
    });
    calls.collect()
}

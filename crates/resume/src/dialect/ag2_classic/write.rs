use std::mem;

use serde_json::{Map, Value, json};

use super::profile::{EXECUTOR, Profile};
use crate::Repair;
use crate::canonical::{Canonical, Role, are_parts, is_blank};
use crate::dialect::pipeline::Writer;
use crate::rendered::Rendered;

/// Writes each message by itself; in a pattern, the results of a message together.
#[derive(Debug)]
pub(super) struct Messages {
    profile: Profile,
    has_begun: bool,
    /// The results of a pattern that are not written yet.
    responses: Vec<Value>,
}

impl Messages {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, has_begun: false, responses: Vec::new() }
    }

    fn write_responses(&mut self, rendered: &mut Rendered) {
        if self.responses.is_empty() {
            return;
        }
        let responses = mem::take(&mut self.responses);
        let texts: Vec<_> = responses.iter().filter_map(|it| it["content"].as_str()).collect();
        rendered.messages.push(json!({
            "role": "tool", "name": EXECUTOR, "content": texts.join("\n"),
            "tool_responses": responses,
        }));
    }

    fn said(&mut self, message: &mut Canonical) -> Value {
        let mut object = Map::new();
        let mut put = |field: &str, value: Value| object.insert(field.to_owned(), value);
        put("role", message.role.as_str().into());
        if let Some(name) = message.name.take() {
            if self.profile.admits(&name, !self.has_begun) {
                put("name", name.into());
            } else {
                message.repairs.push(Repair::FieldRemoved { field: "name" });
            }
        }
        put("content", content(message));
        if let Some(refusal) = message.refusal.take() {
            put("refusal", refusal.into());
        }
        let reasoning = message.reasoning.take();
        if !is_blank(&reasoning) {
            put("reasoning_content", reasoning);
        }
        if !message.calls.is_empty() {
            put("tool_calls", calls(message));
        }
        object.into()
    }
}

impl Writer for Messages {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let content = message.take_text();
            let response =
                json!({"tool_call_id": message.call_id, "role": "tool", "content": content});
            message.report(rendered);
            match self.profile {
                Profile::Pattern => self.responses.push(response),
                Profile::Manager => rendered.messages.push(response),
            }
            return;
        }
        self.write_responses(rendered);
        let object = self.said(&mut message);
        self.has_begun = true;
        message.report(rendered);
        rendered.messages.push(object);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_responses(rendered);
    }
}

fn content(message: &mut Canonical) -> Value {
    let is_part = |part: &Value| match part["type"].as_str() {
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
            None => filled(message),
        },
        Value::String(text) if makes_calls && text == "None" => filled(message),
        text @ Value::String(_) => text,
        Value::Array(parts) if are_parts(&parts) => message.fit_parts(parts, is_part),
        other => {
            message.repairs.push(Repair::ContentSerialised);
            other.to_string().into()
        }
    }
}

fn filled(message: &mut Canonical) -> Value {
    message.repairs.push(Repair::NullContentFilled);
    "".into()
}

fn calls(message: &mut Canonical) -> Value {
    let calls = message.calls.iter_mut().map(|call| {
        let arguments = call.take_arguments_text();
        let (id, name) = (&call.id, &call.target.name);
        json!({
            "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
        })
    });
    calls.collect()
}

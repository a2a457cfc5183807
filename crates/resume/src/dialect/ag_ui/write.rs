use std::mem;

use serde_json::{Value, json};

use super::content::{add_fields, take_content};
use super::own::OwnFields;
use super::reasoning;
use crate::canonical::{Call, CanonicalMessage, Role, take_field};
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes the messages of each stored message separately.
#[derive(Debug)]
pub(super) struct MessagesWriter;

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let mut own = OwnFields::take(&mut message);
        let of_parts = mem::take(&mut own.parts);
        let mut written = match message.role {
            Role::Tool => write_result(&mut message, &own, of_parts),
            Role::Assistant => {
                let thoughts = reasoning::take_messages(&mut message, own.is_piece);
                let only_thinks = !thoughts.is_empty() && own.fields.is_empty();
                rendered.messages.extend(thoughts);
                if (own.is_piece || only_thinks) && message.says_nothing() {
                    message.report_repairs(rendered);
                    return;
                }
                write_answer(&mut message)
            }
            Role::System | Role::Developer => {
                let content = message.take_joined_text().unwrap_or_default();
                json!({"role": message.role.as_str(), "content": content})
            }
            _ => json!({"role": "user", "content": take_content(&mut message, of_parts)}),
        };
        if message.role != Role::Tool {
            written["id"] = mem::take(&mut message.event_id).into();
        }
        if let Some(name) = message.name.take() {
            written["name"] = name.into();
        }
        add_fields(&mut written, own.fields);
        message.report_repairs(rendered);
        rendered.messages.push(written);
    }
}

fn write_answer(message: &mut CanonicalMessage) -> Value {
    let mut written = json!({"role": "assistant"});
    if let Some(content) = message.take_joined_text() {
        written["content"] = content.into();
    }
    if !message.calls.is_empty() {
        written["toolCalls"] = message.calls.iter_mut().map(write_call).collect();
    }
    written
}

fn write_call(call: &mut Call) -> Value {
    let arguments = call.take_arguments_text();
    let mut written = json!({
        "id": call.id, "type": "function",
        "function": {"name": call.target.name, "arguments": arguments},
    });
    if let Value::Object(own) = take_field(&mut call.extra_content, "ag_ui") {
        add_fields(&mut written, own);
    }
    written
}

fn write_result(message: &mut CanonicalMessage, own: &OwnFields, of_parts: Vec<Value>) -> Value {
    let content = take_content(message, of_parts);
    let mut written = json!({"role": "tool", "toolCallId": message.call_id});
    let own_id = own.fields.get("id").filter(|id| id.is_string());
    written["id"] = own_id.cloned().unwrap_or_else(|| format!("result_{}", message.call_id).into());
    if message.is_error {
        let own_error = own.fields.get("error").and_then(Value::as_str);
        let error = own_error.or(content.as_str()).unwrap_or("The call failed.");
        written["error"] = error.into();
    }
    // The error alone was said, and is stored as the content.
    let is_own_error = own.fields.get("error").is_some_and(|error| *error == content);
    let own_content = own.fields.get("content").filter(|_| is_own_error).cloned();
    written["content"] = own_content.unwrap_or(content);
    written
}

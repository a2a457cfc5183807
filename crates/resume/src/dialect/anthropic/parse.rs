use records::NewMessage;
use serde_json::{Map, Value, json};

use super::user_blocks;
use crate::DropReason;
use crate::canonical::anthropic::read_media;
use crate::canonical::{Reasoning, take_field};
use crate::dialect::call_places::CallPlaces;
use crate::dialect::parsed::{
    self, MessageBuilder, Parsed, as_object, keep_unread, take_text, text_part,
};

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    Parsed::from_blocks("anthropic", system, messages, read)
}

/// Reads a message; the results in it become messages before it.
fn read(message: Value) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
    if !["user", "assistant", "system"].contains(&role.as_str()) {
        return Err(DropReason::unsupported_role(&role));
    }
    let blocks = match object.remove("content").unwrap_or_default() {
        Value::String(text) => vec![text_part(text)],
        Value::Array(blocks) => blocks,
        Value::Null if role == "system" && user_blocks::is_config(&object) => Vec::new(),
        _ => return Err(DropReason::NullContent),
    };
    let mut messages = Vec::new();
    let mut builder = MessageBuilder::default();
    let mut places = CallPlaces::default();
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => messages.push(read_result(block)),
            Some("tool_use") => {
                places.add_call();
                builder.calls.push(read_call(&block));
            }
            _ => {
                places.add_other();
                match Reasoning::read(&block) {
                    Some(read) => builder.push_reasoning(read),
                    None => builder.parts.push(read_block(block)),
                }
            }
        }
    }
    places.keep(&mut object);
    if !builder.is_empty() || messages.is_empty() {
        messages.push(builder.into_body(&role, None).into());
    }
    if let Some(last) = messages.last_mut() {
        keep_unread(&mut last.body, "anthropic", object);
    }
    Ok(messages)
}

fn read_call(block: &Value) -> Value {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    let mut call = parsed::stored_call(text("id"), text("name"), &block["input"]);
    if let Some(extra) = extra_content(block, &["type", "id", "name", "input"]) {
        call["extra_content"] = extra;
    }
    call
}

/// Returns the field `extra_content` for the fields of a block that were not read.
fn extra_content(block: &Value, read: &[&str]) -> Option<Value> {
    let is_extra =
        |(field, value): &(&String, &Value)| !value.is_null() && !read.contains(&field.as_str());
    let fields = block.as_object()?.iter().filter(is_extra);
    let fields: Map<_, _> = fields.map(|(field, value)| (field.clone(), value.clone())).collect();
    (!fields.is_empty()).then(|| json!({"anthropic": fields}))
}

fn read_result(mut block: Value) -> NewMessage {
    let extra = extra_content(&block, &["type", "tool_use_id", "content", "is_error"]);
    let content = match take_field(&mut block, "content") {
        Value::Array(parts) => Value::Array(parts.into_iter().map(read_block).collect()),
        other => other,
    };
    let call_id = block["tool_use_id"].as_str().unwrap_or_default();
    parsed::stored_result_with(call_id, content, block["is_error"] == true, extra)
}

/// Returns the content part to store for a block; an unknown block stays unchanged.
///
/// Other fields of the block, such as the citations of a text, are stored in the part.
fn read_block(block: Value) -> Value {
    let Value::Object(mut fields) = block else {
        return block;
    };
    let mut stored = match read_media(&fields) {
        Some(media) => {
            fields.retain(|field, _| field != "source" && field != "title");
            media.into()
        }
        None if fields.get("type").is_some_and(|it| it == "text") => json!({"type": "text"}),
        None => return fields.into(),
    };
    parsed::keep_other_fields(&mut stored, fields);
    stored
}

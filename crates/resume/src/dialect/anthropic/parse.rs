use records::NewMessage;
use serde_json::{Map, Value, json};

use super::source;
use crate::DropReason;
use crate::canonical::{Media, MediaKind, Reasoning, taken};
use crate::dialect::parsed::{self, Parsed, Said, as_object, take_text, text_part};

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    Parsed::of(system, messages, read)
}

/// Reads a message; results that it holds become messages before it.
fn read(message: Value) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
    if !["user", "assistant", "system"].contains(&role.as_str()) {
        return Err(DropReason::unsupported_role(&role));
    }
    let blocks = match object.remove("content").unwrap_or_default() {
        Value::String(text) => vec![text_part(text)],
        Value::Array(blocks) => blocks,
        _ => return Err(DropReason::NullContent),
    };
    let mut messages = Vec::new();
    let mut said = Said::default();
    for block in blocks {
        match block["type"].as_str() {
            Some("tool_result") => messages.push(result(block)),
            Some("tool_use") => said.calls.push(call(&block)),
            _ => match Reasoning::read(&block) {
                Some(read) => said.reasoning.push(read),
                None => said.parts.push(part(block)),
            },
        }
    }
    if !said.is_empty() || messages.is_empty() {
        messages.push(said.into_body(&role, None).into());
    }
    Ok(messages)
}

fn call(block: &Value) -> Value {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    parsed::call(text("id"), text("name"), &block["input"])
}

fn result(mut block: Value) -> NewMessage {
    let said = match taken(&mut block, "content") {
        Value::Array(parts) => Value::Array(parts.into_iter().map(part).collect()),
        other => other,
    };
    let call_id = block["tool_use_id"].as_str().unwrap_or_default();
    parsed::result(call_id, said, block["is_error"] == true)
}

/// Returns the stored form of a block; one that has none is kept as it is. What stands beside, such
/// as the citations of a text, is kept beside.
fn part(block: Value) -> Value {
    let Value::Object(mut fields) = block else {
        return block;
    };
    let mut stored = match media(&fields) {
        Some(media) => {
            fields.retain(|field, _| field != "source" && field != "title");
            media.into()
        }
        None if fields.get("type").is_some_and(|it| it == "text") => json!({"type": "text"}),
        None => return fields.into(),
    };
    parsed::keep_beside(&mut stored, fields);
    stored
}

fn media(block: &Map<String, Value>) -> Option<Media> {
    let kind = match block.get("type")?.as_str()? {
        "image" => MediaKind::Image,
        "document" => MediaKind::File,
        _ => return None,
    };
    let source = source::read(block.get("source")?)?;
    let name = block.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(Media { kind, source, name })
}

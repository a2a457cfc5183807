use records::JsonObject;
use serde_json::{Value, json};

use crate::canonical::anthropic::{read_media, write_block};
use crate::canonical::{Call, CanonicalMessage, ContentPart, are_parts, take_field, take_list};
use crate::dialect::anthropic::add_result_fields;
use crate::dialect::parsed::{self, add_missing, aligned, text_part};
use crate::dialect::pieces::Piece;

/// The types of parts that every format has, and of blocks that are not parts of a content.
const COMMON: [&str; 9] = [
    "text",
    "refusal",
    "image_url",
    "input_audio",
    "file",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
];

/// Returns whether a content part is a block that no other format has, and that stays as it is.
pub(super) fn is_kept(part: &Value) -> bool {
    part["type"].as_str().is_some_and(|kind| !COMMON.contains(&kind))
}

/// Reads a block of a content; returns the content part, and the fields that only this format has.
pub(super) fn read_part(block: Value) -> (Value, Value) {
    let Value::Object(mut fields) = block else { return (block, json!({"type": ""})) };
    let kind = fields.get("type").cloned().unwrap_or_default();
    if kind == "text" && fields.get("text").is_some_and(Value::is_string) {
        let text = fields.remove("text").unwrap_or_default();
        return (text_part(text), fields.into());
    }
    let Some(media) = read_media(&fields) else {
        return (fields.into(), json!({"type": kind}));
    };
    fields.remove("source");
    if kind == "document" && media.name.is_some() {
        fields.remove("title");
    }
    (media.into(), fields.into())
}

/// Writes a piece of a content as a block, with its own fields.
pub(super) fn write_piece(message: &mut CanonicalMessage, piece: Piece, own: Value) -> Value {
    let mut block = match piece {
        Piece::Kept(part) => return part,
        Piece::Content(ContentPart::Text(text)) => json!({"type": "text", "text": text}),
        Piece::Content(ContentPart::Media(media)) => write_block(&media).unwrap_or_else(
            || json!({"type": "text", "text": message.part_text(ContentPart::Media(media))}),
        ),
    };
    add_own(&mut block, own);
    block
}

/// Adds fields to a block that still has their type.
fn add_own(block: &mut Value, own: Value) {
    if let Value::Object(own) = own
        && own.get("type") == block.get("type")
    {
        add_missing(block, own);
    }
}

/// Reads a call; returns the stored call, and the fields that only this format has.
pub(super) fn read_call(mut fields: JsonObject) -> (Value, Value) {
    let mut text = |field: &str| match fields.remove(field) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (id, name) = (text("id"), text("name"));
    let input = fields.remove("input").unwrap_or_default();
    let mut call = parsed::stored_call(&id, &name, &input);
    // The field that Anthropic accepts again is stored where its own format stores it.
    if let Some(caller) = fields.remove("caller") {
        call["extra_content"] = json!({"anthropic": {"caller": caller}});
    }
    (call, fields.into())
}

pub(super) fn write_call(call: &mut Call, own: Value) -> Value {
    let input = call.take_arguments();
    let (id, name) = (&call.id, &call.target.name);
    let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    add_missing(&mut block, std::mem::take(&mut call.anthropic_fields));
    add_own(&mut block, own);
    block
}

/// Reads a result; returns the id of the call, the content, whether it failed, and the own fields.
pub(super) fn read_result(block: Value) -> (String, Value, bool, Value) {
    let Value::Object(mut fields) = block else { return Default::default() };
    let call_id = match fields.remove("tool_use_id") {
        Some(Value::String(id)) => id,
        _ => String::new(),
    };
    let failed = fields.get("is_error") == Some(&Value::Bool(true));
    if failed {
        fields.remove("is_error");
    }
    let mut content = fields.get("content").cloned().unwrap_or_default();
    if !is_empty_result(&content) {
        fields.remove("content");
    }
    if let Value::Array(blocks) = &mut content {
        let (parts, own): (Vec<_>, Vec<_>) = blocks.drain(..).map(read_part).unzip();
        let is_plain = |own: &Value| own.as_object().is_some_and(|fields| fields.len() == 1);
        if !own.iter().all(is_plain) || parts.iter().any(is_kept) {
            fields.insert("parts".to_owned(), own.into());
        }
        *blocks = parts;
    }
    (call_id, content, failed, fields.into())
}

/// Returns whether a content is null or an empty list, which are not written from what is stored.
fn is_empty_result(content: &Value) -> bool {
    content.is_null() || content.as_array().is_some_and(Vec::is_empty)
}

pub(super) fn write_result(message: &mut CanonicalMessage, own: Value) -> Value {
    let Value::Object(mut own) = own else { return write_result(message, json!({})) };
    let own_parts = take_list(&mut own, "parts");
    let mut block = json!({"type": "tool_result", "tool_use_id": message.call_id});
    let own_content = own.remove("content").filter(is_empty_result);
    if own_content.as_ref() == Some(&message.content) {
        block["content"] = message.content.take();
    } else if message.content.as_array().is_some_and(|list| !list.is_empty() && are_parts(list)) {
        let parts = take_list_content(message, own_parts);
        block["content"] = parts.into();
    } else if !message.content.is_null() {
        block["content"] = message.take_joined_text().into();
    }
    if message.is_error {
        block["is_error"] = true.into();
    } else if own.get("is_error") == Some(&Value::Bool(true)) {
        own.remove("is_error");
    }
    own.insert("type".to_owned(), "tool_result".into());
    add_own(&mut block, own.into());
    add_result_fields(&mut block, message);
    block
}

fn take_list_content(message: &mut CanonicalMessage, own: Vec<Value>) -> Vec<Value> {
    let mut content = message.content.take();
    let parts = content.as_array_mut().map(std::mem::take).unwrap_or_default();
    let own = aligned(own, parts.len());
    let mut written = Vec::with_capacity(parts.len());
    for (part, own) in parts.into_iter().zip(own) {
        let piece = if is_kept(&part) && own["type"] == part["type"] {
            Piece::Kept(part)
        } else {
            Piece::Content(message.read_part(part))
        };
        written.push(write_piece(message, piece, own));
    }
    written
}

/// Takes the text of a single block of text.
pub(super) fn single_text(blocks: &mut [Value]) -> Option<Value> {
    match blocks {
        [block] if block["type"] == "text" => Some(take_field(block, "text")),
        _ => None,
    }
}

use std::collections::VecDeque;

use records::MessageBody;
use serde_json::{Map, Value, json};

use super::compaction;
use super::content::{Piece, take_pieces, write_kept};
use super::media::{is_media, kept_part, read_media, write_media};
use super::own::{OwnFields, remove_empty};
use crate::canonical::{Call, CanonicalMessage, ContentPart, MediaSource, POSITION};
use crate::dialect::call_places;
use crate::dialect::parsed::{content_from_parts, set_extra, stored_call, text_part};
use crate::dialect::thinking::{self, read_thinking, take_blocks};

/// Returns whether a content part is a part of a response that stays as it is.
fn is_kept(part: &Value) -> bool {
    let has = |field: &str| part[field].is_string();
    match part["type"].as_str() {
        Some("builtin-tool-call") => {
            let arguments = &part["args"];
            let has_input = arguments.is_string() || arguments.is_object() || arguments.is_null();
            has_input && has("tool_name") && has("tool_call_id")
        }
        Some("builtin-tool-return") => has("tool_name") && has("tool_call_id"),
        Some("speech") => part["speaker"] == "assistant",
        Some(kind) => kind == compaction::KIND,
        None => false,
    }
}

/// Reads the parts of a response; a part of an unknown kind stays as it is.
pub(super) fn read_parts(parts: Vec<Value>) -> (MessageBody, OwnFields) {
    let (mut content, mut calls, mut reasoning) = (Vec::new(), Vec::new(), Vec::new());
    let mut own = OwnFields::default();
    for part in parts {
        let Value::Object(fields) = part else {
            content.push(part);
            own.parts.push(json!({}));
            continue;
        };
        let mut fields = remove_empty(fields);
        let kind = fields.get("part_kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "text" if fields.get("content").is_some_and(Value::is_string) => {
                content.push(text_part(fields.remove("content").unwrap_or_default()));
            }
            "thinking" => {
                let mut block = read_thinking(&mut fields);
                thinking::place(&mut block, content.len(), calls.len());
                reasoning.push(block);
            }
            "tool-call" => calls.push(read_call(&mut fields)),
            "file" if fields.get("content").is_some_and(is_media) => {
                let (part, item) = read_media(fields.remove("content").unwrap_or_default());
                content.push(part);
                fields.insert("item".to_owned(), item);
            }
            _ => {
                fields.remove("part_kind");
                let given = std::mem::take(&mut fields);
                if kind == compaction::KIND {
                    content.push(kept_part(&kind, compaction::stored(&given)));
                    fields.insert(compaction::GIVEN.to_owned(), given.into());
                } else {
                    content.push(kept_part(&kind, given));
                }
                fields.insert("part_kind".to_owned(), kind.into());
            }
        }
        own.parts.push(fields.into());
    }
    let mut body = MessageBody::new("assistant", None, content_from_parts(content));
    set_extra(&mut body, "tool_calls", calls);
    set_extra(&mut body, "reasoning_content", thinking::into_stored(reasoning));
    (body, own)
}

fn read_call(fields: &mut Map<String, Value>) -> Value {
    let mut text = |field: &str| match fields.remove(field) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (id, name) = (text("tool_call_id"), text("tool_name"));
    let arguments = fields.remove("args").unwrap_or_default();
    let form = match &arguments {
        Value::String(_) => None,
        Value::Null => Some("null"),
        _ => Some("object"),
    };
    fields.extend(form.map(|form| ("args_form".to_owned(), form.into())));
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    let mut call = stored_call(&id, &name, &arguments);
    let details = fields.get_mut(DETAILS).and_then(Value::as_object_mut);
    if let Some(details) =
        details.filter(|details| details.get(SIGNATURE).is_some_and(Value::is_string))
        && let Some(signature) = details.shift_remove(SIGNATURE)
    {
        call["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    call
}

/// The field of a part with what a provider says of it, and the field in it with Gemini's signature of a call.
const DETAILS: &str = "provider_details";
const SIGNATURE: &str = "thought_signature";

/// Adds Gemini's signature to the part of a call.
fn add_signature(part: &mut Value) {
    let Some(signature) = part.as_object_mut().and_then(|part| part.shift_remove(SIGNATURE)) else {
        return;
    };
    if part.get(DETAILS).is_none() {
        // The library gives it to the provider that is named.
        part["provider_name"] = "google".into();
    }
    part[DETAILS][SIGNATURE] = signature;
}

/// Writes the parts of a response.
///
/// If the message still has as many parts of each kind as were stored, they are in the stored order. Otherwise, signed reasoning is
/// where it was, other reasoning is first, and calls are at their places or last.
pub(super) fn write_parts(
    message: &mut CanonicalMessage,
    stored: &[Value],
    default_user_name: &str,
) -> Vec<Value> {
    let places = call_places::take(message);
    let (blocks, thinking): (Vec<_>, VecDeque<_>) = take_blocks(message).into_iter().unzip();
    let pieces = take_pieces(message, is_kept, default_user_name);
    let mut calls = VecDeque::with_capacity(message.calls.len());
    for call in &mut message.calls {
        calls.push_back(write_call(call));
    }
    let count = |kind: &str| stored.iter().filter(|part| part["part_kind"] == kind).count();
    let others = stored.len() - count("thinking") - count("tool-call");
    let fits = (thinking.len(), pieces.len(), calls.len())
        == (count("thinking"), others, count("tool-call"));
    let mut queues = [thinking, VecDeque::new(), calls];
    let stored = if fits { stored } else { &[] };
    let order: Vec<_> = if fits {
        stored.iter().map(queue_of).collect()
    } else {
        call_places::place(placed(&blocks, pieces.len()), vec![2; queues[2].len()], &places)
    };
    let of_pieces = stored.iter().filter(|part| queue_of(part) == 1);
    let of_pieces = of_pieces.map(Some).chain(std::iter::repeat(None));
    for (piece, own) in pieces.into_iter().zip(of_pieces) {
        queues[1].push_back(write_piece(message, piece, own.unwrap_or(&Value::Null)));
    }
    let mut parts: Vec<_> = order.iter().filter_map(|queue| queues[*queue].pop_front()).collect();
    for (part, own) in parts.iter_mut().zip(stored) {
        add_own_fields(part, own);
    }
    parts.extend(queues.into_iter().flatten());
    parts.iter_mut().for_each(add_signature);
    parts
}

/// Returns the numbers of the queues of reasoning and of so many pieces, in the order of their parts.
fn placed(blocks: &[Value], pieces: usize) -> Vec<usize> {
    let mut order = vec![1; pieces];
    for block in blocks.iter().rev() {
        let position = block[POSITION].as_u64().unwrap_or_default();
        order.insert(usize::try_from(position).unwrap_or(pieces).min(pieces), 0);
    }
    order
}

/// Returns the number of the queue for the parts of a kind.
fn queue_of(part: &Value) -> usize {
    match part["part_kind"].as_str() {
        Some("thinking") => 0,
        Some("tool-call") => 2,
        _ => 1,
    }
}

fn write_call(call: &mut Call) -> Value {
    let arguments = call.take_arguments_text();
    let mut part = json!({
        "part_kind": "tool-call", "tool_name": call.target.name, "args": arguments,
        "tool_call_id": call.id,
    });
    if let Some(signature) = call.gemini_signature() {
        part[SIGNATURE] = signature.into();
    }
    part
}

fn write_piece(message: &mut CanonicalMessage, piece: Piece, own: &Value) -> Value {
    let text = match piece {
        Piece::Kept(part) => return compaction::written(write_kept(part, "part_kind"), own),
        Piece::Content(ContentPart::Text(text)) => text,
        Piece::Content(ContentPart::Media(media)) => {
            let is_data = matches!(media.source, MediaSource::Data { .. });
            if let Some(item) = write_media(&media, &own["item"]).filter(|_| is_data) {
                return json!({"part_kind": "file", "content": item});
            }
            message.part_text(ContentPart::Media(media))
        }
    };
    json!({"part_kind": "text", "content": text})
}

/// Adds the stored fields of a part, if it still is of the same kind.
fn add_own_fields(part: &mut Value, own: &Value) {
    if part["part_kind"] != own["part_kind"] {
        return;
    }
    let arguments = part["args"].as_str();
    match own["args_form"].as_str() {
        Some("null") if arguments == Some("{}") => part["args"] = Value::Null,
        Some("object") => {
            if let Some(object @ Value::Object(_)) =
                arguments.and_then(|text| records::json::parse(text.as_bytes()).ok())
            {
                part["args"] = object;
            }
        }
        _ => {}
    }
    for (field, value) in own.as_object().into_iter().flatten() {
        let is_given = ["args_form", "item", compaction::GIVEN].contains(&field.as_str());
        if !is_given && part.get(field).is_none() {
            part[field] = value.clone();
        }
    }
}

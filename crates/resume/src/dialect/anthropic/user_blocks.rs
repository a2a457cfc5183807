//! The blocks of a user, of instructions and of the results of calls that no other format has: they come back as they were.

use records::JsonObject;
use serde_json::{Value, json};

use crate::Repair;
use crate::canonical::CanonicalMessage;

/// Such blocks; each may have a mark for the cache.
const KINDS: [&str; 7] = [
    "browser_state",
    "container_upload",
    "document",
    "search_result",
    "tool_addition",
    "tool_reference",
    "tool_removal",
];

/// Returns whether the API accepts a content part of a user as the block that it was.
pub(super) fn is_of_user(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("container_upload") => {
            has_fields(part, &["file_id"], &[]) && is_text(&part["file_id"])
        }
        _ => is_of_both(part),
    }
}

/// Returns whether the API accepts a content part of a result as the block that it was.
pub(super) fn is_of_result(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("tool_reference") => {
            has_fields(part, &["tool_name"], &[]) && is_text(&part["tool_name"])
        }
        Some("browser_state") => {
            let is_list = |field: &str| is_list_of(&part[field], Value::is_object);
            has_fields(part, &["tabs"], &["state_changes"])
                && (part["tabs"] == json!([]) || is_list("tabs"))
                && (part.get("state_changes").is_none() || is_list("state_changes"))
        }
        _ => is_of_both(part),
    }
}

/// Returns whether a part of an instruction offers the model a tool from there on, or withdraws it.
pub(super) fn is_tool_change(part: &Value) -> bool {
    (part["type"] == "tool_addition" || part["type"] == "tool_removal")
        && has_fields(part, &["tool"], &[])
        && is_text(&part["tool"]["type"])
}

/// The fields of an instruction that say how long it holds, and how the model is to answer: those of `anthropic` 2.14,
/// `BetaSystemMessageParam`.
pub(super) const CLEAR_AT: &str = "clear_at";
pub(super) const OUTPUT_CONFIG: &str = "output_config";

/// Returns whether the API accepts a field of an instruction, which then has a meaning only where it stands.
pub(super) fn is_of_turn(field: &str, value: &Value) -> bool {
    match field {
        CLEAR_AT => value == "next_user_message" || value == "never",
        OUTPUT_CONFIG => value.is_object(),
        _ => false,
    }
}

/// Returns whether the fields of an instruction say how the model is to answer, so that it needs no content.
pub(super) fn is_config(fields: &JsonObject) -> bool {
    let config = fields.get(OUTPUT_CONFIG).and_then(Value::as_object);
    config.is_some_and(|config| config.values().any(|value| !value.is_null()))
}

/// Removes the fields without a value, and the marks for the cache. A request may have four marks, so they are not repeated.
pub(super) fn clean(message: &mut CanonicalMessage) {
    let mut removes_any = false;
    for part in message.content.as_array_mut().into_iter().flatten() {
        let is_such = part["type"].as_str().is_some_and(|kind| KINDS.contains(&kind));
        if let Some(part) = part.as_object_mut().filter(|_| is_such) {
            removes_any |= clean_block(part);
        }
    }
    if removes_any {
        message.repairs.push(Repair::PartFieldsRemoved);
    }
}

/// Cleans a block and those in it; returns whether there was a mark for the cache.
fn clean_block(block: &mut JsonObject) -> bool {
    block.retain(|_, value| !value.is_null());
    let mut removes_any = block.shift_remove("cache_control").is_some();
    let inner = match block.get_mut("source") {
        Some(Value::Object(source)) => source.get_mut("content"),
        _ => block.get_mut("content"),
    };
    let inner = inner.and_then(Value::as_array_mut).into_iter().flatten();
    for block in inner.filter_map(Value::as_object_mut) {
        removes_any |= clean_block(block);
    }
    removes_any
}

fn is_of_both(part: &Value) -> bool {
    let citations = part.get("citations").is_none_or(is_citations);
    match part["type"].as_str() {
        Some("search_result") => {
            has_fields(part, &["source", "title", "content"], &["citations"])
                && is_text(&part["source"])
                && is_text(&part["title"])
                && is_list_of(&part["content"], is_text_block)
                && citations
        }
        Some("document") => {
            let may_have = |field: &str| part.get(field).is_none_or(is_text);
            let content = &part["source"]["content"];
            has_fields(part, &["source"], &["citations", "context", "title"])
                && part["source"]["type"] == "content"
                && has_fields(&part["source"], &["content"], &[])
                && (is_text(content) || is_list_of(content, is_document_block))
                && may_have("context")
                && may_have("title")
                && citations
        }
        _ => false,
    }
}

/// Returns whether an object has its type and some fields, and no others than these and optional ones.
fn has_fields(object: &Value, required: &[&str], optional: &[&str]) -> bool {
    let is_known = |field: &String| {
        field == "type" || required.contains(&&**field) || optional.contains(&&**field)
    };
    object.as_object().is_some_and(|fields| fields.keys().all(is_known))
        && required.iter().all(|field| object.get(field).is_some())
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn is_citations(value: &Value) -> bool {
    let is_flag = |(field, value): (&String, &Value)| field == "enabled" && value.is_boolean();
    value.as_object().is_some_and(|fields| fields.iter().all(is_flag))
}

fn is_list_of(value: &Value, is_block: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(is_block))
}

fn is_text_block(block: &Value) -> bool {
    block["type"] == "text" && has_fields(block, &["text"], &[]) && is_text(&block["text"])
}

fn is_document_block(block: &Value) -> bool {
    let source = &block["source"];
    let types = ["image/gif", "image/jpeg", "image/png", "image/webp"];
    let is_image = block["type"] == "image"
        && has_fields(block, &["source"], &[])
        && source["type"] == "base64"
        && has_fields(source, &["media_type", "data"], &[])
        && types.iter().any(|known| source["media_type"] == *known)
        && source["data"].is_string();
    is_image || is_text_block(block)
}

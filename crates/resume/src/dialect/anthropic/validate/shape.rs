use serde_json::{Map, Value};

use super::super::{server_tools, user_blocks};
use crate::dialect::violation::Problem;
use crate::dialect::violation_list::ViolationList;

const USER_BLOCKS: [&str; 6] =
    ["text", "image", "document", "tool_result", "search_result", "container_upload"];

/// The newest types of the `anthropic` package have messages of the system with texts and changes of the tools.
const SYSTEM_BLOCKS: [&str; 3] = ["text", "tool_addition", "tool_removal"];

const ASSISTANT_BLOCKS: [&str; 4] = ["text", "tool_use", "thinking", "redacted_thinking"];

/// Returns the problems of one message, without regard to other messages.
pub(super) fn problems(message: &Value) -> Vec<Problem> {
    let Some(object) = message.as_object() else {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    };
    let mut problems = Vec::new();
    let is_known = match message["role"].as_str() {
        Some("user") => |kind: &str| USER_BLOCKS.contains(&kind),
        Some("assistant") => {
            |kind: &str| ASSISTANT_BLOCKS.contains(&kind) || server_tools::is_known(kind)
        }
        Some("system") => {
            if !changes_tools(&message["content"]) && !is_of_turn(object) {
                problems.push(("system_message", "instructions belong to `system`".to_owned()));
            }
            |kind: &str| SYSTEM_BLOCKS.contains(&kind)
        }
        _ => return vec![("unknown_role", format!("the dialect has no role {}", message["role"]))],
    };
    let is_beside = |(key, value): &(&String, &Value)| {
        let is_of_turn = message["role"] == "system" && user_blocks::is_of_turn(key, value);
        *key != "role" && *key != "content" && !is_of_turn
    };
    if let Some((key, _)) = object.iter().find(is_beside) {
        problems.push(("unknown_field", format!("the dialect has no field {key:?}")));
    }
    match &message["content"] {
        Value::String(text) => problems.extend(blank_problem(text)),
        Value::Array(content) if !content.is_empty() => {
            let broken = content.iter().filter_map(|block| block_problem(is_known, block));
            problems.extend(broken.take(ViolationList::MAX));
        }
        Value::Null | Value::Array(_)
            if message["role"] == "system" && user_blocks::is_config(object) => {}
        Value::Null | Value::Array(_) => {
            problems.push(("missing_content", "the message has no content".to_owned()));
        }
        _ => problems.push((
            "invalid_content",
            "the content is neither text nor a list of blocks".to_owned(),
        )),
    }
    problems
}

/// Returns whether a message of the system says something of one turn.
fn is_of_turn(message: &Map<String, Value>) -> bool {
    message.iter().any(|(field, value)| user_blocks::is_of_turn(field, value))
}

/// Returns whether a message of the system changes which tools there are from there on.
fn changes_tools(content: &Value) -> bool {
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|block| block["type"].as_str()).any(|kind| kind.starts_with("tool_"))
}

fn blank_problem(text: &str) -> Option<Problem> {
    let detail = || "a text is empty or only white space".to_owned();
    text.trim().is_empty().then(|| ("blank_text", detail()))
}

fn block_problem(is_known: fn(&str) -> bool, block: &Value) -> Option<Problem> {
    let Some(kind) = block["type"].as_str().filter(|kind| !kind.is_empty()) else {
        return Some(("invalid_block", "the block is not an object with a type".to_owned()));
    };
    if !is_known(kind) {
        return Some((
            "unknown_block",
            format!("the role has no block of the type {}", block["type"]),
        ));
    }
    let is_text = |field: &str| block[field].as_str().is_some_and(|text| !text.is_empty());
    match kind {
        "text" => blank_problem(block["text"].as_str().unwrap_or_default()),
        "thinking" if !is_text("signature") || !block["thinking"].is_string() => {
            Some(("unsigned_thinking", "the thinking has no text or no signature".to_owned()))
        }
        "redacted_thinking" if !is_text("data") => {
            Some(("unsigned_thinking", "the thinking has no data".to_owned()))
        }
        "tool_use" if !is_text("id") || !is_text("name") || block["input"].is_null() => {
            Some(("invalid_call", "the call lacks an id, a name or an input".to_owned()))
        }
        "tool_use" if !is_call(block) => Some((
            "call_not_accepted",
            "the id or the name has other characters, or the input is no object".to_owned(),
        )),
        "tool_result" => result_problem(block),
        "image" | "document" if !is_source(kind, &block["source"]) => {
            Some(("invalid_source", format!("the source does not fit a block of the type {kind}")))
        }
        _ => None,
    }
}

fn is_source(kind: &str, source: &Value) -> bool {
    let types: &[&str] = match kind {
        "image" => &["image/gif", "image/jpeg", "image/png", "image/webp"],
        _ => &["application/pdf"],
    };
    match source["type"].as_str() {
        Some("base64") => {
            types.iter().any(|it| source["media_type"] == *it) && source["data"].is_string()
        }
        Some("url") => source["url"].is_string(),
        Some("file") => source["file_id"].is_string(),
        Some("text") => {
            kind == "document" && source["media_type"] == "text/plain" && source["data"].is_string()
        }
        Some("content") => kind == "document" && !source["content"].is_null(),
        _ => false,
    }
}

fn is_call(block: &Value) -> bool {
    let is_word = |text: &str| {
        let outside = |byte: u8| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        !text.is_empty() && !text.bytes().any(outside)
    };
    let name = block["name"].as_str().unwrap_or_default();
    block["id"].as_str().is_some_and(is_word)
        && is_word(name)
        && name.len() <= 64
        && block["input"].is_object()
}

fn result_problem(block: &Value) -> Option<Problem> {
    let invalid = |detail: &str| Some(("invalid_result", detail.to_owned()));
    match block.get("content") {
        _ if !block["tool_use_id"].is_string() => invalid("the result has no call id"),
        None | Some(Value::Null | Value::String(_)) => None,
        Some(Value::Array(parts)) => {
            let is_known = |kind: &str| {
                ["text", "image", "document", "search_result", "tool_reference", "browser_state"]
                    .contains(&kind)
            };
            parts.iter().find_map(|part| block_problem(is_known, part))
        }
        Some(_) => invalid("the content is neither text nor a list of blocks"),
    }
}

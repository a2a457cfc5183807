use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::super::kept::SERVED;
use crate::dialect::violation::Problem;
use crate::dialect::violation_list::ViolationList;

/// The blocks of a message of the user, but for those that each role has.
const OF_USER: [&str; 6] = ["image", "document", "video", "audio", "toolResult", "guardContent"];
const OF_ASSISTANT: [&str; 3] = ["toolUse", "reasoningContent", "citationsContent"];
const OF_BOTH: [&str; 5] = ["text", "cachePoint", "searchResult", "toolAddition", "toolRemoval"];

/// Returns the problems of one message, without regard to other messages.
pub(super) fn problems_of_message(message: &Value) -> Vec<Problem> {
    let Some(object) = message.as_object() else {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    };
    let mut problems = Vec::new();
    let of_role: &[&str] = match message["role"].as_str() {
        Some("user") => &OF_USER,
        Some("assistant") => &OF_ASSISTANT,
        Some("system") => {
            problems.push(("system_message", "instructions belong to `system`".to_owned()));
            &OF_USER
        }
        _ => return vec![("unknown_role", format!("the dialect has no role {}", message["role"]))],
    };
    if let Some(key) = object.keys().find(|key| *key != "role" && *key != "content") {
        problems.push(("unknown_field", format!("the dialect has no field {key:?}")));
    }
    match message["content"].as_array() {
        Some(blocks) if !blocks.is_empty() => {
            let broken = blocks.iter().filter_map(|block| problem(of_role, block));
            problems.extend(broken.take(ViolationList::MAX));
        }
        // Strands stores an answer that says nothing.
        Some(_) => problems.push(("missing_content", "the message has no content".to_owned())),
        None => problems.push(("invalid_content", "the content is not a list".to_owned())),
    }
    problems
}

fn problem(of_role: &[&str], block: &Value) -> Option<Problem> {
    let Some((name, payload)) = block.as_object().and_then(|it| it.iter().next()) else {
        return Some(("invalid_content", "a block is not an object with a field".to_owned()));
    };
    // The provider has served the call itself.
    let is_served = name == "toolResult" && payload["type"].is_string();
    let is_known =
        is_served || of_role.contains(&name.as_str()) || OF_BOTH.contains(&name.as_str());
    if block.as_object().is_some_and(|it| it.len() > 1) || !is_known {
        let detail = format!("the role has no block with the field {name:?} alone");
        return Some(("unknown_field", detail));
    }
    match name.as_str() {
        "text" => blank_problem(payload),
        "toolUse" => call_problem(payload),
        "toolResult" => result_problem(payload),
        "reasoningContent" => reasoning_problem(payload),
        _ => media_problem(name, payload),
    }
}

fn blank_problem(text: &Value) -> Option<Problem> {
    match text.as_str() {
        None => Some(("invalid_content", "a text is not a text".to_owned())),
        Some(text) if text.trim().is_empty() => {
            Some(("blank_text", "a text is empty or only white space".to_owned()))
        }
        Some(_) => None,
    }
}

fn call_problem(call: &Value) -> Option<Problem> {
    let name = call["name"].as_str().unwrap_or_default();
    let id = call["toolUseId"].as_str().unwrap_or_default();
    let is_word = |text: &str, others: &str| {
        text.chars().all(|it| it.is_ascii_alphanumeric() || others.contains(it))
    };
    let is_named = (1..=64).contains(&name.len()) && is_word(name, "_-");
    if id.is_empty() || name.is_empty() || !call["input"].is_object() {
        return Some(("invalid_call", "the call lacks an id, a name or an input".to_owned()));
    }
    if !is_named || id.len() > 64 || !is_word(id, "_-.:") {
        return Some(("invalid_name", "the id or the name of a call is not accepted".to_owned()));
    }
    // Strands Agents has the signature of another provider there, and leaves it out of requests.
    has_only(call, &["toolUseId", "name", "input", "type", "reasoningSignature"])
        .or_else(|| one_of(call, "type", &[SERVED]))
}

fn result_problem(result: &Value) -> Option<Problem> {
    let invalid = |detail: &str| Some(("invalid_result", detail.to_owned()));
    let id = result["toolUseId"].as_str().unwrap_or_default();
    let Some(blocks) = result["content"].as_array() else {
        return invalid("the content of a result is not a list of blocks");
    };
    if id.is_empty() {
        return invalid("the result has no call id");
    }
    let known = ["image", "document", "video", "json"];
    let broken = blocks.iter().find_map(|block| match block.get("json") {
        Some(_) if block.as_object().is_some_and(|it| it.len() == 1) => None,
        _ => problem(&known, block),
    });
    broken
        .or_else(|| has_only(result, &["toolUseId", "content", "status", "type"]))
        .or_else(|| one_of(result, "status", &["success", "error"]))
        .or_else(|| typed(result, &[("type", Value::is_string)]))
}

fn reasoning_problem(reasoning: &Value) -> Option<Problem> {
    let text = &reasoning["reasoningText"];
    let is_signed = text["text"].is_string()
        && text["signature"].as_str().is_some_and(|signature| !signature.is_empty());
    let is_redacted = reasoning["redactedContent"].as_str().is_some_and(is_bytes);
    if is_signed == is_redacted {
        let detail = "reasoning has no text with a signature, and no encrypted content";
        return Some(("unsigned_thinking", detail.to_owned()));
    }
    has_only(reasoning, &["reasoningText", "redactedContent"])
        .or_else(|| is_signed.then(|| has_only(text, &["text", "signature"])).flatten())
}

fn media_problem(name: &str, payload: &Value) -> Option<Problem> {
    let formats: &[&str] = match name {
        "image" => &["png", "jpeg", "gif", "webp"],
        "document" => &["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"],
        "video" => &["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"],
        "audio" => &[
            "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a",
            "mpeg", "mpga", "pcm", "webm",
        ],
        _ => return own_problem(name, payload),
    };
    let lacks_format = name != "document" && payload.get("format").is_none();
    let lacks_name = name == "document" && !payload["name"].is_string();
    if lacks_format || lacks_name || !is_source(name, &payload["source"]) {
        let detail = format!("a block {name:?} lacks a format, a name or a source");
        return Some(("invalid_source", detail));
    }
    let fields: &[&str] = match name {
        "document" => &["format", "source", "name", "context", "citations"],
        "video" => &["format", "source"],
        _ => &["format", "source", "error"],
    };
    one_of(payload, "format", formats)
        .or_else(|| has_only(payload, fields))
        .or_else(|| typed(payload, &[("context", Value::is_string), ("error", is_error)]))
        .or_else(|| typed(payload, &[("citations", is_citations_config)]))
}

fn is_error(error: &Value) -> bool {
    error
        .as_object()
        .is_some_and(|it| it.iter().all(|(field, value)| field == "message" && value.is_string()))
}

fn is_citations_config(config: &Value) -> bool {
    config["enabled"].is_boolean() && config.as_object().is_some_and(|it| it.len() == 1)
}

fn is_source(name: &str, source: &Value) -> bool {
    let Some((kind, value)) = source.as_object().and_then(single) else { return false };
    match kind.as_str() {
        "bytes" => value.as_str().is_some_and(|bytes| !bytes.is_empty() && is_bytes(bytes)),
        "s3Location" => is_location(value),
        "text" => name == "document" && value.is_string(),
        "content" => name == "document" && are_texts(value),
        _ => false,
    }
}

fn single(object: &Map<String, Value>) -> Option<(&String, &Value)> {
    object.iter().next().filter(|_| object.len() == 1)
}

/// Returns whether a value is the place of an object in S3, after the pattern of its URI.
fn is_location(location: &Value) -> bool {
    let uri = location["uri"].as_str().unwrap_or_default();
    let bucket = uri.strip_prefix("s3://").and_then(|rest| rest.split('/').next());
    let is_bucket = bucket.is_some_and(|bucket| {
        let bytes = bucket.as_bytes();
        let is_end =
            |byte: Option<&u8>| byte.is_some_and(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9'));
        let all = bytes.iter().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'));
        all && (3..=63).contains(&bytes.len()) && is_end(bytes.first()) && is_end(bytes.last())
    });
    let is_owner = |owner: &Value| {
        owner.as_str().is_some_and(|it| it.len() == 12 && it.chars().all(|it| it.is_ascii_digit()))
    };
    is_bucket
        && uri.chars().count() <= 1024
        && location.get("bucketOwner").is_none_or(is_owner)
        && has_only(location, &["uri", "bucketOwner"]).is_none()
}

fn is_bytes(text: &str) -> bool {
    BASE64_STANDARD.decode(text).is_ok()
}

fn are_texts(list: &Value) -> bool {
    let is_text =
        |it: &Value| it["text"].is_string() && it.as_object().is_some_and(|it| it.len() == 1);
    list.as_array().is_some_and(|it| it.iter().all(is_text))
}

/// Checks a block that only this format has.
fn own_problem(name: &str, payload: &Value) -> Option<Problem> {
    let is_valid = match name {
        "cachePoint" => {
            payload["type"] == "default"
                && payload.get("ttl").is_none_or(|ttl| ttl == "5m" || ttl == "1h")
                && has_only(payload, &["type", "ttl"]).is_none()
        }
        "guardContent" => {
            let text = &payload["text"];
            text["text"].is_string()
                && has_only(payload, &["text"]).is_none()
                && has_only(text, &["text", "qualifiers"]).is_none()
                && text.get("qualifiers").is_none_or(|it| {
                    it.as_array().is_some_and(|it| it.iter().all(Value::is_string))
                })
        }
        "citationsContent" => {
            // Nova cites without a text, too.
            let has_text = payload.get("content").is_none_or(are_texts);
            has_text
                && (payload.get("content").is_some() || payload.get("citations").is_some())
                && has_only(payload, &["content", "citations"]).is_none()
                && payload.get("citations").is_none_or(|it| {
                    it.as_array().is_some_and(|it| it.iter().all(Value::is_object))
                })
        }
        "searchResult" => {
            payload["source"].is_string()
                && payload["title"].is_string()
                && are_texts(&payload["content"])
                && has_only(payload, &["source", "title", "content", "citations"]).is_none()
                && payload.get("citations").is_none_or(is_citations_config)
        }
        "toolAddition" | "toolRemoval" => {
            payload["tool"].is_object() && has_only(payload, &["tool"]).is_none()
        }
        _ => false,
    };
    (!is_valid).then(|| ("unknown_field", format!("a block {name:?} is not valid")))
}

fn has_only(object: &Value, fields: &[&str]) -> Option<Problem> {
    let unknown = object.as_object()?.keys().find(|field| !fields.contains(&field.as_str()))?;
    Some(("unknown_field", format!("a block has no field {unknown:?} there")))
}

fn one_of(object: &Value, field: &str, values: &[&str]) -> Option<Problem> {
    let value = object.get(field)?;
    let is_known = value.as_str().is_some_and(|value| values.contains(&value));
    (!is_known).then(|| ("unknown_field", format!("a field {field:?} is not one of {values:?}")))
}

type Field = (&'static str, fn(&Value) -> bool);

fn typed(object: &Value, fields: &[Field]) -> Option<Problem> {
    let is_wrong = |(field, is_type): &&Field| object.get(*field).is_some_and(|it| !is_type(it));
    let (field, _) = fields.iter().find(is_wrong)?;
    Some(("unknown_field", format!("a field {field:?} has another type")))
}

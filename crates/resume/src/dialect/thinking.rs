//! The thinking parts of pydantic-ai, which its adapter writes for other protocols as well.

use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{AFTER_CALLS, CanonicalMessage, POSITION, Reasoning, is_empty_value};

/// The id of a thinking part that Anthropic encrypted.
const REDACTED: &str = "redacted_thinking";

/// Takes a thinking part; returns the block to store.
///
/// Signatures of Anthropic and encrypted content of `OpenAI` are stored where their own formats store
/// them. Other fields stay in the part.
pub(super) fn read_thinking(fields: &mut Map<String, Value>) -> Value {
    let text = |fields: &Map<String, Value>, field: &str| {
        fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let content = text(fields, "content");
    fields.remove("content");
    let (provider, signature) = (text(fields, "provider_name"), text(fields, "signature"));
    let id = text(fields, "id");
    if provider == "anthropic" && !signature.is_empty() {
        fields.retain(|field, _| field != "provider_name" && field != "signature");
        if id == REDACTED && content.is_empty() {
            fields.remove("id");
            return Reasoning::Redacted(signature).into();
        }
        return Reasoning::Text { text: content, signature: Some(signature) }.into();
    }
    if provider == "openai" && !(id.is_empty() && signature.is_empty()) {
        fields.retain(|field, _| !["provider_name", "signature", "id"].contains(&field.as_str()));
        let mut own = Map::new();
        for (field, value) in [("id", id), ("encrypted_content", signature)] {
            if !value.is_empty() {
                own.insert(field.to_owned(), value.into());
            }
        }
        return json!({"type": "thinking", "thinking": content, "extra_content": {"openai": own}});
    }
    let mut block = Value::from(Reasoning::Text { text: content, signature: None });
    if is_empty_value(&block["thinking"]) {
        // Without any other field, it would be left out as a block that says nothing.
        block["extra_content"] = json!({"pydantic_ai": {}});
    }
    block
}

/// Says where a stored block stands in its message, if that matters to the provider.
pub(super) fn place(stored: &mut Value, parts: usize, calls: usize) {
    let is_of_openai = stored["extra_content"]["openai"].is_object();
    let is_signed = is_of_openai || Reasoning::read(stored).is_some_and(|read| read.is_signed());
    if is_signed && parts > 0 {
        stored[POSITION] = parts.into();
    }
    if is_of_openai && calls > 0 {
        stored[AFTER_CALLS] = calls.into();
    }
}

/// Returns the reasoning to store: the text alone for one block that has nothing else.
pub(super) fn into_stored(mut blocks: Vec<Value>) -> Value {
    match &mut blocks[..] {
        [Value::Object(block)] if block.len() == 2 && block.contains_key("thinking") => {
            block.remove("thinking").unwrap_or_default()
        }
        _ => blocks.into(),
    }
}

/// Takes the blocks of reasoning, each with its thinking part.
pub(super) fn take_blocks(message: &mut CanonicalMessage) -> Vec<(Value, Value)> {
    let mut is_whole = true;
    let mut blocks = Vec::new();
    match message.reasoning.take() {
        Value::Array(stored) => {
            for block in stored {
                is_whole &= Reasoning::read(&block).is_some();
                blocks.extend(write_block(&block).map(|part| (block, part)));
            }
        }
        Value::String(text) if !text.is_empty() => blocks.push((Value::Null, thinking(&text))),
        other => is_whole = is_empty_value(&other),
    }
    if !is_whole {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    blocks
}

/// Returns the thinking part for a stored block, unless the block says nothing or is unknown.
pub(super) fn write_block(block: &Value) -> Option<Value> {
    let (mut part, signature) = match Reasoning::read(block)? {
        Reasoning::Redacted(data) => {
            let mut part = thinking("");
            part["id"] = REDACTED.into();
            (part, Some(data).filter(|data| !data.is_empty())?)
        }
        Reasoning::Text { text, signature: Some(signature) } => (thinking(&text), signature),
        Reasoning::Text { text, signature: None } => return write_unsigned(block, &text),
    };
    part["signature"] = signature.into();
    part["provider_name"] = "anthropic".into();
    Some(part)
}

fn write_unsigned(block: &Value, text: &str) -> Option<Value> {
    let mut part = thinking(text);
    let extra = &block["extra_content"];
    let own = &extra["openai"];
    let fields = [("id", &own["id"]), ("signature", &own["encrypted_content"])];
    for (field, value) in fields.into_iter().filter(|(_, value)| value.is_string()) {
        part[field] = value.clone();
        part["provider_name"] = "openai".into();
    }
    let is_empty = text.is_empty() && extra.as_object().is_none_or(Map::is_empty);
    (!is_empty || part.get("provider_name").is_some()).then_some(part)
}

fn thinking(text: &str) -> Value {
    json!({"part_kind": "thinking", "content": text})
}

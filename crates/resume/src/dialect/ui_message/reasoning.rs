//! Reasoning, with what its provider needs again: in the part, and as it is stored.

use records::JsonObject;
use serde_json::{Value, json};

use super::fields::fits;
use crate::Repair;
use crate::canonical::{CanonicalMessage, PlacedReasoning, Reasoning};

/// Where the part has what `OpenAI` needs again, and where the stored block has it.
const OPENAI_FIELDS: [(&str, &str); 2] =
    [("itemId", "id"), ("reasoningEncryptedContent", "encrypted_content")];

/// Reads a part: returns the block to store, and leaves the other fields in the part. An empty one is none.
pub(super) fn read(part: &mut JsonObject) -> Option<Value> {
    let text = part.get("text")?.as_str()?.to_owned();
    let redacted = if text.is_empty() { take(part, "anthropic", "redactedData") } else { None };
    let signature = if redacted.is_none() { take(part, "anthropic", "signature") } else { None };
    let openai = OPENAI_FIELDS.into_iter().filter_map(|(given, stored)| {
        Some((stored.to_owned(), take(part, "openai", given)?.into()))
    });
    let openai: JsonObject = openai.collect();
    if text.is_empty() && redacted.is_none() && signature.is_none() && openai.is_empty() {
        return None;
    }
    part.shift_remove("text");
    if let Some(metadata) = part.get_mut("providerMetadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, fields| *fields != json!({}));
        if metadata.is_empty() {
            part.shift_remove("providerMetadata");
        }
    }
    let mut block = Value::from(match redacted {
        Some(data) => Reasoning::Redacted(data),
        None => Reasoning::Text { text, signature },
    });
    if !openai.is_empty() {
        block["extra_content"] = json!({"openai": openai});
    }
    Some(block)
}

/// Takes a text out of the metadata of a provider.
fn take(part: &mut JsonObject, provider: &str, field: &str) -> Option<String> {
    let fields = part.get_mut("providerMetadata")?.get_mut(provider)?.as_object_mut()?;
    let text = fields.get(field)?.as_str().filter(|text| !text.is_empty())?.to_owned();
    fields.shift_remove(field);
    Some(text)
}

/// Takes the reasoning of a message as parts, each with how many content parts are before it.
pub(super) fn take_parts(message: &mut CanonicalMessage) -> Vec<(usize, Value)> {
    let blocks = match message.reasoning.take() {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![Reasoning::Text { text, signature: None }.into()],
        Value::Array(blocks) => blocks,
        _ => vec![Value::Null],
    };
    let read = blocks.into_iter().map(|block| {
        let placed = PlacedReasoning::read(&block)?;
        Some((placed.position, write(placed.reasoning, &block["extra_content"]["openai"])))
    });
    let Some(mut parts) = read.collect::<Option<Vec<_>>>() else {
        message.repairs.push(Repair::ReasoningRemoved);
        return Vec::new();
    };
    parts.retain(|(_, part)| part["text"] != "" || part.get("providerMetadata").is_some());
    parts
}

fn write(reasoning: Reasoning, openai: &Value) -> Value {
    let mut part = match reasoning {
        Reasoning::Text { text, signature: None } => json!({"type": "reasoning", "text": text}),
        Reasoning::Text { text, signature } => json!({
            "type": "reasoning", "text": text,
            "providerMetadata": {"anthropic": {"signature": signature}},
        }),
        Reasoning::Redacted(data) => json!({
            "type": "reasoning", "text": "",
            "providerMetadata": {"anthropic": {"redactedData": data}},
        }),
    };
    for (given, stored) in OPENAI_FIELDS {
        if let Some(text) = openai[stored].as_str() {
            part["providerMetadata"]["openai"][given] = text.into();
        }
    }
    part
}

/// Adds the fields that a part of the log came with; returns whether the SDK has them all.
pub(super) fn add_own(part: &mut Value, own: &JsonObject) -> bool {
    let mut fits_all = true;
    for (field, value) in own {
        match field.as_str() {
            "of" => {}
            "providerMetadata" if fits(field, value) => {
                let metadata = value.as_object().into_iter().flatten();
                for (provider, fields) in metadata {
                    for (name, value) in fields.as_object().into_iter().flatten() {
                        if part["providerMetadata"][provider].get(name).is_none() {
                            part["providerMetadata"][provider][name] = value.clone();
                        }
                    }
                    if part["providerMetadata"].get(provider).is_none_or(Value::is_null) {
                        part["providerMetadata"][provider] = fields.clone();
                    }
                }
            }
            "mediaType" if fits(field, value) => part[field] = value.clone(),
            _ if fits(field, value) && part.get(field).is_none() => part[field] = value.clone(),
            _ => fits_all = false,
        }
    }
    fits_all
}

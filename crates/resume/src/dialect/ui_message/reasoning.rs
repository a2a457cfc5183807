//! Reasoning, with what its provider needs again: in the part, and as it is stored.

use records::JsonObject;
use serde_json::{Value, json};

use super::fields::fits;
use crate::Repair;
use crate::canonical::{CanonicalMessage, PlacedReasoning, Reasoning};

/// Where the part has what `OpenAI` needs again, and where the stored block has it.
const OPENAI_FIELDS: [(&str, &str); 2] =
    [("itemId", "id"), ("reasoningEncryptedContent", "encrypted_content")];

/// The names under which a part may have what a provider needs again, where the first one is the usual one: Claude runs
/// on Bedrock as well, and `OpenAI`'s models on Azure.
const CLAUDE: [&str; 2] = ["anthropic", "bedrock"];
const OPENAI: [&str; 2] = ["openai", "azure"];

/// The own field of a part with the name under which it has what its provider needs, if that is not the usual one.
const GIVEN_BY: &str = "given_by";

/// Reads a part: returns the block to store, and leaves the other fields in the part. An empty one is none.
pub(super) fn read(part: &mut JsonObject) -> Option<Value> {
    let text = part.get("text")?.as_str()?.to_owned();
    let claude = provider_of(part, CLAUDE, &["redactedData", "signature"]);
    let redacted = if text.is_empty() { take(part, claude, "redactedData") } else { None };
    let signature = if redacted.is_none() { take(part, claude, "signature") } else { None };
    let by_openai = provider_of(part, OPENAI, &OPENAI_FIELDS.map(|(given, _)| given));
    let openai = OPENAI_FIELDS.into_iter().filter_map(|(given, stored)| {
        Some((stored.to_owned(), take(part, by_openai, given)?.into()))
    });
    let openai: JsonObject = openai.collect();
    if text.is_empty() && redacted.is_none() && signature.is_none() && openai.is_empty() {
        return None;
    }
    part.shift_remove("text");
    let other = [
        (claude, CLAUDE, redacted.is_some() || signature.is_some()),
        (by_openai, OPENAI, !openai.is_empty()),
    ];
    if let Some((name, ..)) =
        other.into_iter().find(|(name, known, is_read)| *is_read && *name != known[0])
    {
        part.insert(GIVEN_BY.to_owned(), name.into());
    }
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

/// Returns the provider whose metadata have one of these fields; the first provider if none has.
fn provider_of(part: &JsonObject, names: [&'static str; 2], fields: &[&str]) -> &'static str {
    let metadata = part.get("providerMetadata").unwrap_or(&Value::Null);
    let has_any = |name: &&str| fields.iter().any(|field| metadata[name][field].is_string());
    names.into_iter().find(has_any).unwrap_or(names[0])
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

/// Gives what a part has under one name another one.
fn rename(part: &mut Value, [from, to]: [&str; 2]) {
    if let Some(metadata) = part.get_mut("providerMetadata").and_then(Value::as_object_mut)
        && let Some(fields) = metadata.shift_remove(from)
    {
        metadata.insert(to.to_owned(), fields);
    }
}

/// Adds the fields that a part of the log came with; returns whether the SDK has them all.
pub(super) fn add_own(part: &mut Value, own: &JsonObject) -> bool {
    let mut fits_all = true;
    for names in [CLAUDE, OPENAI] {
        if own.get(GIVEN_BY).is_some_and(|name| *name == names[1]) {
            rename(part, names);
        }
    }
    for (field, value) in own {
        match field.as_str() {
            "of" | GIVEN_BY => {}
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

//! Reasoning in a content, in each form that the library and its integrations have for it, and as it is stored.

use std::collections::VecDeque;

use records::JsonObject;
use serde_json::{Value, json};

use crate::Repair;
use crate::canonical::{CanonicalMessage, Reasoning, is_empty_value};
use crate::dialect::{openai_responses, thinking};

/// Where a block has what is stored of it, and where the stored block has that. A block that stays beside its message has
/// null in these places.
const PLACES: [(&str, &str); 13] = [
    ("/reasoning", "/thinking"),
    ("/reasoning_content/text", "/thinking"),
    ("/value/thinking", "/thinking"),
    ("/extras/signature", "/signature"),
    ("/reasoning_content/signature", "/signature"),
    ("/value/signature", "/signature"),
    ("/extras/redacted_content", "/data"),
    ("/reasoning_content/redacted_content", "/data"),
    ("/value/data", "/data"),
    ("/id", "/extra_content/openai/id"),
    ("/content", "/extra_content/openai/content"),
    ("/encrypted_content", ENCRYPTED),
    ("/extras/encrypted_content", ENCRYPTED),
];

const ENCRYPTED: &str = "/extra_content/openai/encrypted_content";

/// The fields of a block of Anthropic with what is stored of it; it stays beside its message without them.
const OF_ANTHROPIC: [&str; 3] = ["thinking", "signature", "data"];

/// A block of reasoning, divided into what the log has of it and what stays beside the message.
#[derive(Debug)]
pub(super) struct Divided {
    /// Null if the log has nothing of it.
    pub(super) stored: Value,
    pub(super) rest: Value,
}

/// Reads the reasoning of one message.
#[derive(Debug)]
pub(super) struct Reader {
    /// Whether Gemini made the message, whose signatures mean nothing to Claude.
    is_of_gemini: bool,
    /// The reasoning that the message has beside its content.
    said: Value,
}

impl Reader {
    /// Creates the reader of a message with this metadata, which may have its reasoning beside the content as well.
    pub(super) fn new(metadata: &Value, said: Value) -> Self {
        let starts_with = |field: &str, start: &str| {
            metadata[field].as_str().is_some_and(|text| text.starts_with(start))
        };
        // Vertex AI runs models of Anthropic, too.
        let is_of_gemini =
            starts_with("model_provider", "google") && !starts_with("model_name", "claude");
        Self { is_of_gemini, said }
    }

    /// Reads a block; `None` if it is no reasoning, or other reasoning than the message has beside its content.
    pub(super) fn read(&self, block: &Value) -> Option<Divided> {
        let stored = self.stored(block)?;
        if !is_empty_value(&self.said) {
            // The library repeats what an integration has beside the content.
            return (stored["thinking"] == self.said)
                .then(|| Divided { stored: Value::Null, rest: block.clone() });
        }
        if thinking::write_block(&stored).is_none() {
            return Some(Divided { stored: Value::Null, rest: block.clone() });
        }
        let rest = rest_of(block.clone(), &stored);
        Some(Divided { stored, rest })
    }

    fn stored(&self, block: &Value) -> Option<Value> {
        let text = |place: &str| Some(block.pointer(place)?.as_str()?.to_owned());
        let signature = |place: &str| {
            text(place).filter(|signature| !signature.is_empty() && !self.is_of_gemini)
        };
        let read = match block["type"].as_str()? {
            "thinking" | "redacted_thinking" => self.read_anthropic(block)?,
            "non_standard" => self.read_anthropic(&block["value"])?,
            "reasoning" => {
                if let Some(item) = item_of_openai(block) {
                    return Some(openai_responses::stored_reasoning(item));
                }
                match text("/extras/redacted_content") {
                    Some(data) => Reasoning::Redacted(data),
                    None => Reasoning::Text {
                        text: text("/reasoning")?,
                        signature: signature("/extras/signature"),
                    },
                }
            }
            "reasoning_content" => match text("/reasoning_content/redacted_content") {
                Some(data) => Reasoning::Redacted(data),
                None => Reasoning::Text {
                    text: text("/reasoning_content/text")?,
                    signature: signature("/reasoning_content/signature"),
                },
            },
            _ => return None,
        };
        Some(read.into())
    }

    fn read_anthropic(&self, block: &Value) -> Option<Reasoning> {
        let mut read = Reasoning::read(block)?;
        if let Reasoning::Text { signature, .. } = &mut read
            && self.is_of_gemini
        {
            *signature = None;
        }
        Some(read)
    }
}

/// Returns a block as the item of `OpenAI` that it was, or is a part of.
fn item_of_openai(block: &Value) -> Option<JsonObject> {
    let of_block = |field: &str| block.get(field).or_else(|| block["extras"].get(field));
    let is_of_api = block["id"].as_str().is_some_and(|id| id.starts_with("rs_"))
        || block["summary"].is_array()
        || of_block("encrypted_content").is_some_and(Value::is_string);
    if !is_of_api {
        return None;
    }
    let mut item = JsonObject::new();
    for field in ["id", "summary", "content", "encrypted_content"] {
        if let Some(value) = of_block(field).filter(|value| !value.is_null()) {
            item.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(text) = block["reasoning"].as_str() {
        item.insert("summary".to_owned(), openai_responses::summary_of(text));
    }
    Some(item)
}

/// Returns a block without what is stored of it.
fn rest_of(mut block: Value, stored: &Value) -> Value {
    if Reasoning::read(&block).is_some() {
        if let Some(fields) = block.as_object_mut() {
            let is_stored = |field: &str, value: &Value| stored.get(field) == Some(value);
            fields.retain(|field, value| {
                !OF_ANTHROPIC.contains(&field.as_str()) || !is_stored(field, value)
            });
        }
        return block;
    }
    for (given, kept) in PLACES {
        if let Some(value) = block.pointer_mut(given)
            && stored.pointer(kept) == Some(value)
        {
            value.take();
        }
    }
    if let Some(summary) = block.get_mut("summary")
        && *summary == summary_of(stored)
    {
        summary.take();
    }
    block
}

/// Puts what is stored of a block back into the rest of it.
pub(super) fn join(mut block: Value, stored: &Value) -> Value {
    if block["type"] == "thinking" || block["type"] == "redacted_thinking" {
        let written = Reasoning::read(stored).map(Value::from);
        if let (Value::Object(block), Some(Value::Object(written))) = (&mut block, written) {
            block.extend(written);
        }
        return block;
    }
    for (given, kept) in PLACES {
        if let Some(value) = block.pointer_mut(given).filter(|value| value.is_null())
            && let Some(kept) = stored.pointer(kept)
        {
            *value = kept.clone();
        }
    }
    if let Some(summary) = block.get_mut("summary").filter(|summary| summary.is_null()) {
        *summary = summary_of(stored);
    }
    block
}

/// Returns the summary of a stored block.
fn summary_of(stored: &Value) -> Value {
    let given = stored.pointer("/extra_content/openai/summary").cloned();
    given.unwrap_or_else(|| {
        openai_responses::summary_of(stored["thinking"].as_str().unwrap_or_default())
    })
}

/// Takes the stored blocks of a message that say something.
pub(super) fn take_stored(message: &mut CanonicalMessage) -> VecDeque<Value> {
    let blocks = match message.reasoning.take() {
        Value::Array(blocks) => blocks,
        Value::String(text) => vec![json!({"type": "thinking", "thinking": text})],
        _ => Vec::new(),
    };
    if blocks.iter().any(|block| Reasoning::read(block).is_none()) {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    blocks.into_iter().filter(|block| thinking::write_block(block).is_some()).collect()
}

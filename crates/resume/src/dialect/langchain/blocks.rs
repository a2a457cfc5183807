//! The blocks of a content that other formats keep apart from it: reasoning, calls, and what only Bedrock knows.

use records::JsonObject;
use serde_json::{Map, Value, json};

use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, PlacedReasoning, Reasoning};
use crate::dialect::parsed::text_part;

/// What was taken from a content.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) reasoning: Vec<PlacedReasoning>,
    /// The blocks with their positions, without what is stored elsewhere.
    pub(super) blocks: Vec<Value>,
}

/// The blocks that Bedrock has without a type: a mark for its cache, and a text that its guardrails check.
const CACHE_POINT: &str = "cachePoint";
const GUARD: &str = "guardContent";
const GUARDED_TEXT: &str = "/guardContent/text/text";

/// Takes the blocks that repeat one of the calls, reasoning as Anthropic writes it, and marks of Bedrock from a content.
pub(super) fn take(content: &mut Value, calls: &[Value], takes_reasoning: bool) -> Taken {
    let mut taken = Taken::default();
    let Some(list) = content.as_array_mut() else {
        return taken;
    };
    let is_called = |id: &str| calls.iter().any(|call| call["id"] == id);
    let mut parts = Vec::with_capacity(list.len());
    for (at, mut block) in std::mem::take(list).into_iter().enumerate() {
        if let Some(text) = block.pointer_mut(GUARDED_TEXT).filter(|text| text.is_string()) {
            parts.push(text_part(text.take()));
            taken.blocks.push(json!({"at": at, "block": block}));
            continue;
        }
        if block.get("type").is_none() && block[CACHE_POINT].is_object() {
            taken.blocks.push(json!({"at": at, "block": block}));
            continue;
        }
        let read = Reasoning::read(&block).filter(|it| takes_reasoning && !it.is_empty());
        let repeats_call = call_id(&block).is_some_and(is_called);
        let stored_elsewhere: &[&str] = if repeats_call { &INPUTS } else { &REASONING };
        if let Some(reasoning) = read {
            taken.reasoning.push(PlacedReasoning::after(parts.len(), reasoning));
        } else if !repeats_call {
            parts.push(block);
            continue;
        }
        if let Value::Object(mut block) = block {
            block.retain(|field, _| !stored_elsewhere.contains(&field.as_str()));
            taken.blocks.push(json!({"at": at, "block": block}));
        }
    }
    *content =
        if parts.is_empty() && !taken.blocks.is_empty() { Value::Null } else { parts.into() };
    taken
}

/// The fields of a block with the input of a call.
const INPUTS: [&str; 3] = ["input", "args", "arguments"];

/// The fields of a block with what was thought.
const REASONING: [&str; 3] = ["thinking", "signature", "data"];

/// Returns the id of the call that a block repeats: as Anthropic, as `OpenAI` Responses or as the library itself writes it.
fn call_id(block: &Value) -> Option<&str> {
    let field = match block["type"].as_str()? {
        "tool_use" | "tool_call" => "id",
        "function_call" => "call_id",
        _ => return None,
    };
    block[field].as_str()
}

/// Puts the blocks back; a call that is not in the message any more has no block.
pub(super) fn put_back(
    content: &mut Value,
    blocks: Vec<Value>,
    calls: &[Value],
    message: &mut CanonicalMessage,
) {
    let mut reasoning = message.take_placed_reasoning().unwrap_or_default().into_iter();
    let mut parts = match content.take() {
        Value::Array(parts) => parts,
        Value::String(text) if !text.is_empty() => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    };
    for mut placed in blocks {
        let at =
            placed["at"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
        let Value::Object(block) = placed["block"].take() else { continue };
        if block.contains_key(GUARD) {
            let Some(part) = parts.get_mut(at).filter(|part| part["type"] == "text") else {
                message.repairs.push(Repair::ProviderFieldsRemoved);
                continue;
            };
            let text = part["text"].take();
            *part = block.into();
            if let Some(guarded) = part.pointer_mut(GUARDED_TEXT) {
                *guarded = text;
            }
            continue;
        }
        if block.contains_key(CACHE_POINT) {
            parts.insert(at.min(parts.len()), block.into());
            continue;
        }
        let block = match call_id(&Value::Object(block.clone())) {
            Some(id) => {
                calls.iter().find(|call| call["id"] == id).map(|call| with_input(block, call))
            }
            None => reasoning.next().map(|placed| with_reasoning(block, placed.reasoning)),
        };
        if let Some(block) = block {
            parts.insert(at.min(parts.len()), block);
        }
    }
    *content = parts.into();
    message.reasoning = PlacedReasoning::into_stored(reasoning.collect());
}

fn with_input(mut block: JsonObject, call: &Value) -> Value {
    let (field, input) = match block.get("type").and_then(Value::as_str) {
        Some("tool_use") => ("input", call["args"].clone()),
        Some("tool_call") => ("args", call["args"].clone()),
        _ => ("arguments", call["args"].to_string().into()),
    };
    block.insert(field.to_owned(), input);
    block.into()
}

fn with_reasoning(mut block: Map<String, Value>, reasoning: Reasoning) -> Value {
    if let Value::Object(written) = Value::from(reasoning) {
        block.extend(written);
    }
    block.into()
}

/// Returns whether the calls in the format of a provider are those of the message.
pub(super) fn repeat_calls(raw: &Value, calls: &[Call]) -> bool {
    let ids = raw.as_array().into_iter().flatten().map(|call| call["id"].as_str());
    ids.eq(calls.iter().map(|call| Some(call.id.as_str())))
}

//! Where the calls of an answer are among its other blocks: a model may say or think something after a call.

use records::JsonObject;
use serde_json::Value;

use super::langchain;
use crate::canonical::{AFTER_CALLS, CanonicalMessage, part_count};

/// The field of `provider` with how many other blocks are before each call.
pub(super) const CALLS_AFTER: &str = "calls_after";

/// Counts, while an answer is read, the blocks before each of its calls.
#[derive(Debug, Default)]
pub(super) struct CallPlaces {
    calls_after: Vec<usize>,
    others: usize,
}

impl CallPlaces {
    pub(super) fn add_call(&mut self) {
        self.calls_after.push(self.others);
    }

    pub(super) fn add_other(&mut self) {
        self.others += 1;
    }

    /// Keeps the places, unless all calls are behind all other blocks.
    pub(super) fn keep(self, fields: &mut JsonObject) {
        // A field of this name that came with the message means nothing.
        fields.remove(CALLS_AFTER);
        fields.extend(self.into_stored().map(|places| (CALLS_AFTER.to_owned(), places)));
    }

    /// Returns the places; `None` if all calls are behind all other blocks.
    fn into_stored(self) -> Option<Value> {
        let is_among = self.calls_after.iter().any(|after| *after < self.others);
        is_among.then(|| self.calls_after.into())
    }
}

/// Returns the places of the calls of a message that came in another dialect, by what only that dialect has of it.
pub(super) fn of_another(dialect: &str, fields: &JsonObject) -> Option<Value> {
    let list = |field: &str| fields.get(field).and_then(Value::as_array);
    match dialect {
        "anthropic" => fields.get(CALLS_AFTER).cloned(),
        // It keeps the types of all blocks of an entry; reasoning without a text is not stored otherwise.
        "claude-agent-sdk" => of_kinds(fields.get("entry")?["blocks"].as_array()?, |block| {
            let is_stored = block.get("whole").is_none();
            block.as_str().or(block["type"].as_str()).filter(|kind| is_stored || *kind == TOOL_USE)
        }),
        "bedrock-converse" => {
            of_kinds(list("blocks")?, |block| block["kind"].as_str().filter(|kind| *kind != "mark"))
        }
        "pydantic-ai" => {
            of_kinds(list("parts")?, |part| Some(part["part_kind"].as_str().unwrap_or_default()))
        }
        "langchain" => langchain::calls_after(list("blocks")?),
        _ => None,
    }
}

const TOOL_USE: &str = "tool_use";

/// Returns the places of calls among blocks; `kind` returns `None` for a block that says nothing.
fn of_kinds(blocks: &[Value], kind: impl Fn(&Value) -> Option<&str>) -> Option<Value> {
    let mut places = CallPlaces::default();
    for kind in blocks.iter().filter_map(kind) {
        match kind {
            TOOL_USE | "call" | "tool-call" => places.add_call(),
            _ => places.add_other(),
        }
    }
    places.into_stored()
}

/// Takes the places of the calls of a message that is written; none if it has other calls now.
///
/// Without places, reasoning of `OpenAI` says behind how many calls it is. So this comes before the reasoning is taken, if the dialect
/// has such reasoning.
pub(super) fn take(message: &mut CanonicalMessage) -> Vec<usize> {
    let Some(Value::Array(places)) = message.provider.shift_remove(CALLS_AFTER) else {
        return of_reasoning(message).unwrap_or_default();
    };
    let places = places.iter().map(|place| usize::try_from(place.as_u64()?).ok());
    let places: Option<Vec<_>> = places.collect();
    places.filter(|places| places.len() == message.calls.len()).unwrap_or_default()
}

/// Returns the places of calls by the reasoning between them; `None` if there is none.
fn of_reasoning(message: &CanonicalMessage) -> Option<Vec<usize>> {
    let blocks = message.reasoning.as_array()?;
    let after_calls: Vec<_> =
        blocks.iter().map(|block| block[AFTER_CALLS].as_u64().unwrap_or_default()).collect();
    if after_calls.iter().all(|after| *after == 0) {
        return None;
    }
    let parts = part_count(&message.content);
    let before = |call: u64| after_calls.iter().filter(|after| **after <= call).count();
    Some((0..).take(message.calls.len()).map(|call| parts + before(call)).collect())
}

/// Puts calls among the other blocks: each at its place, and behind all of them without places.
pub(super) fn place<T>(others: Vec<T>, calls: Vec<T>, places: &[usize]) -> Vec<T> {
    if places.is_empty() {
        return others.into_iter().chain(calls).collect();
    }
    let mut blocks = Vec::with_capacity(others.len() + calls.len());
    let mut calls = calls.into_iter().zip(places).peekable();
    for (index, other) in others.into_iter().enumerate() {
        while let Some((call, _)) = calls.next_if(|(_, place)| **place <= index) {
            blocks.push(call);
        }
        blocks.push(other);
    }
    blocks.extend(calls.map(|(call, _)| call));
    blocks
}

//! Where the calls of an answer are among its other blocks: a model may say or think something after a call.

use records::JsonObject;
use serde_json::Value;

use crate::canonical::CanonicalMessage;

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

/// Returns the places of the calls of a message that came in another dialect with the blocks of Anthropic, by what only that
/// dialect has of it.
pub(super) fn of_another(dialect: &str, fields: &JsonObject) -> Option<Value> {
    match dialect {
        "anthropic" => return fields.get(CALLS_AFTER).cloned(),
        "claude-agent-sdk" => {}
        _ => return None,
    }
    // It keeps the types of all blocks of an entry.
    let mut places = CallPlaces::default();
    for block in fields.get("entry")?.get("blocks")?.as_array()? {
        match block.as_str().or(block["type"].as_str())? {
            "tool_use" => places.add_call(),
            // Reasoning without a text is not stored otherwise.
            _ if block.get("whole").is_some() => {}
            _ => places.add_other(),
        }
    }
    places.into_stored()
}

/// Takes the places of the calls of a message that is written; none if it has other calls now.
pub(super) fn take(message: &mut CanonicalMessage) -> Vec<usize> {
    let Some(Value::Array(places)) = message.provider.shift_remove(CALLS_AFTER) else {
        return Vec::new();
    };
    let places = places.iter().map(|place| usize::try_from(place.as_u64()?).ok());
    let places: Option<Vec<_>> = places.collect();
    places.filter(|places| places.len() == message.calls.len()).unwrap_or_default()
}

/// Puts calls among the other blocks: each at its place, and behind all of them without places.
pub(super) fn place(others: Vec<Value>, calls: Vec<Value>, places: &[usize]) -> Vec<Value> {
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

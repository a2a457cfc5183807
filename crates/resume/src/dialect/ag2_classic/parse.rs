use records::NewMessage;
use serde_json::Value;

use crate::dialect::parsed::{Parsed, read_stored_fields};

/// Parses messages that have the fields of stored messages.
pub(super) fn parse(messages: Vec<Value>) -> Parsed {
    Parsed::from_transcript(Vec::new(), messages, |message| {
        read_stored_fields("ag2-classic", message).map(without_none_text).map(Some)
    })
}

/// Turns the text `None` beside calls into null: AG2 made this text from null.
fn without_none_text(mut message: NewMessage) -> NewMessage {
    let body = &mut message.body;
    let calls = body.extra.get("tool_calls").and_then(Value::as_array);
    if body.content == "None" && calls.is_some_and(|calls| !calls.is_empty()) {
        body.content = Value::Null;
    }
    message
}

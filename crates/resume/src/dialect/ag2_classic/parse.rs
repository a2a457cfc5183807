use records::NewMessage;
use serde_json::Value;

use crate::dialect::parsed::{Parsed, stored};

/// Reads messages in the fields in which they are stored.
pub(super) fn parse(messages: Vec<Value>) -> Parsed {
    Parsed::of(Vec::new(), messages, |message| stored(message).map(without_none).map(Some))
}

/// Takes the text `None` beside calls for the null that it was before AG2 had it.
fn without_none(mut message: NewMessage) -> NewMessage {
    let body = &mut message.body;
    let calls = body.extra.get("tool_calls").and_then(Value::as_array);
    if body.content == "None" && calls.is_some_and(|calls| !calls.is_empty()) {
        body.content = Value::Null;
    }
    message
}

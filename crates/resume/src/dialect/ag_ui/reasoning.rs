use serde_json::{Map, Value, json};

use super::content::fits;
use crate::canonical::CanonicalMessage;
use crate::dialect::thinking;

/// Takes the reasoning of an answer as messages of their own.
///
/// The first one of a piece of an answer has the id of that message.
pub(super) fn take_messages(message: &mut CanonicalMessage, is_piece: bool) -> Vec<Value> {
    let blocks = thinking::take_blocks(message);
    let mut messages = Vec::with_capacity(blocks.len());
    for (number, (block, part)) in blocks.into_iter().enumerate() {
        let own = &block["extra_content"]["ag_ui"];
        let is_own = is_piece && number == 0;
        let id = if is_own { message.event_id.clone() } else { new_id(&message.event_id, number) };
        let mut written = json!({
            "id": id, "role": "reasoning", "content": part["content"],
        });
        if let Some(value) = encrypted_value(&part) {
            written["encryptedValue"] = value.into();
        }
        for (field, value) in own.as_object().into_iter().flatten() {
            if field != "role" && field != "content" && fits(field, value) {
                written[field] = value.clone();
            }
        }
        messages.push(written);
    }
    messages
}

/// Returns the block to store for a reasoning message.
pub(super) fn stored_block(mut own: Map<String, Value>) -> Value {
    let mut fields = match own.get("encryptedValue").and_then(Value::as_str) {
        Some(text) => serde_json::from_str(text).unwrap_or_default(),
        None => Map::new(),
    };
    let content = own.remove("content").unwrap_or_default();
    fields.insert("content".to_owned(), content);
    let mut block = thinking::read_thinking(&mut fields);
    own.retain(|field, value| field != "role" && !value.is_null());
    let part = thinking::write_block(&block);
    let written = part.as_ref().and_then(encrypted_value).map(Value::from);
    if written.is_some() && own.get("encryptedValue") == written.as_ref() {
        own.remove("encryptedValue");
    }
    if !own.is_empty() {
        block["extra_content"]["ag_ui"] = own.into();
    }
    block
}

/// Returns what a provider needs to accept a thinking part again.
fn encrypted_value(part: &Value) -> Option<String> {
    let needed = part.as_object()?.iter();
    let needed = needed.filter(|(field, _)| !["part_kind", "content"].contains(&field.as_str()));
    let needed: Map<_, _> = needed.map(|(field, value)| (field.clone(), value.clone())).collect();
    (!needed.is_empty()).then(|| Value::from(needed).to_string())
}

fn new_id(event_id: &str, number: usize) -> String {
    format!("{event_id}_reasoning_{number}")
}

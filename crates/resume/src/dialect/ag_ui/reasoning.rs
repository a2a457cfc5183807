use serde_json::{Map, Value, json};

use super::content::fits;
use crate::canonical::CanonicalMessage;
use crate::dialect::thinking;

/// Takes the reasoning of an answer as messages of their own.
pub(super) fn take_messages(message: &mut CanonicalMessage) -> Vec<Value> {
    let blocks = thinking::take_blocks(message);
    let mut messages = Vec::with_capacity(blocks.len());
    for (number, (block, part)) in blocks.into_iter().enumerate() {
        let own = &block["extra_content"]["ag_ui"];
        let mut written = json!({
            "id": new_id(&message.event_id, number), "role": "reasoning", "content": part["content"],
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

/// Returns the blocks to store for the reasoning messages before an answer with this id.
pub(super) fn stored_blocks(messages: Vec<Map<String, Value>>, id: Option<&str>) -> Value {
    let messages = messages.into_iter().enumerate();
    thinking::into_stored(messages.map(|(number, own)| stored_block(own, number, id)).collect())
}

fn stored_block(mut own: Map<String, Value>, number: usize, id: Option<&str>) -> Value {
    let mut fields = match own.get("encryptedValue").and_then(Value::as_str) {
        Some(text) => serde_json::from_str(text).unwrap_or_default(),
        None => Map::new(),
    };
    let content = own.remove("content").unwrap_or_default();
    fields.insert("content".to_owned(), content);
    let mut block = thinking::read_thinking(&mut fields);
    own.retain(|field, value| field != "role" && !value.is_null());
    if id.is_some_and(|id| own.get("id") == Some(&new_id(id, number).into())) {
        own.remove("id");
    }
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

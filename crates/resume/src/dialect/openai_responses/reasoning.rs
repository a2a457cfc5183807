use serde_json::{Map, Value, json};

use super::items::add_stored_fields;
use crate::Repair;
use crate::canonical::{AFTER_CALLS, CanonicalMessage, POSITION, is_empty_value, take_field};
use crate::dialect::parsed::keep_other_fields;

/// Returns the block to store for a reasoning item.
pub(in crate::dialect) fn stored_block(mut item: Map<String, Value>) -> Value {
    let texts = |list: Option<&Value>| -> Vec<String> {
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
    };
    let mut said = texts(item.get("summary"));
    said.extend(texts(item.get("content")));
    let text = said.join("\n\n");
    item.remove("type");
    if item.get("summary").is_some_and(|summary| *summary == summary_of(&text)) {
        item.remove("summary");
    }
    let mut own = json!({});
    keep_other_fields(&mut own, item);
    json!({"type": "thinking", "thinking": text, "extra_content": {"openai": own}})
}

/// A reasoning item, and where it is in its message.
pub(super) struct PlacedItem {
    /// How many content parts are before it.
    pub(super) position: usize,
    /// How many calls are before it.
    pub(super) after_calls: usize,
    pub(super) item: Value,
}

/// Takes the reasoning as items.
///
/// The API accepts only reasoning that it wrote itself. If there is any other, that is reported.
pub(super) fn take_items(message: &mut CanonicalMessage) -> Vec<PlacedItem> {
    let mut items = Vec::new();
    let mut is_whole = true;
    match message.reasoning.take() {
        Value::Array(blocks) => {
            for block in blocks {
                let is_empty = is_empty_value(&block["thinking"]) && block["data"].is_null();
                let item = write_item(block);
                is_whole &= item.is_some() || is_empty;
                if let Some(item) = item {
                    add_item(&mut items, item);
                }
            }
        }
        other => is_whole = is_empty_value(&other),
    }
    if !is_whole {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    items
}

/// Adds an item, to the one with the same id if there is one: a library has each text of a summary by itself.
fn add_item(items: &mut Vec<PlacedItem>, mut placed: PlacedItem) {
    let item = &mut placed.item;
    let is_same = |earlier: &Value| item["id"].is_string() && earlier["id"] == item["id"];
    let Some(PlacedItem { item: same, .. }) = items.iter_mut().find(|it| is_same(&it.item)) else {
        items.push(placed);
        return;
    };
    if let (Some(Value::Array(texts)), Value::Array(more)) =
        (same.get_mut("summary"), item["summary"].take())
    {
        texts.extend(more);
    }
    if let Value::Object(fields) = placed.item {
        add_stored_fields(same, fields);
    }
}

fn write_item(mut block: Value) -> Option<PlacedItem> {
    let own = block.pointer_mut("/extra_content/openai").map(Value::take);
    let Some(Value::Object(mut own)) = own else { return None };
    let is_known = |field: &str| own.get(field).is_some_and(Value::is_string);
    if !is_known("id") && !is_known("encrypted_content") {
        return None;
    }
    let count = |field: &str| block[field].as_u64().unwrap_or_default();
    let [position, after_calls] =
        [POSITION, AFTER_CALLS].map(|field| usize::try_from(count(field)).unwrap_or(usize::MAX));
    let text = take_field(&mut block, "thinking");
    let summary = own.remove("summary").filter(Value::is_array);
    let summary = summary.unwrap_or_else(|| summary_of(text.as_str().unwrap_or_default()));
    let mut item = json!({"type": "reasoning", "summary": summary});
    add_stored_fields(&mut item, own);
    Some(PlacedItem { position, after_calls, item })
}

/// Returns the summary that has this text alone.
pub(in crate::dialect) fn summary_of(text: &str) -> Value {
    if text.is_empty() { json!([]) } else { json!([{"type": "summary_text", "text": text}]) }
}

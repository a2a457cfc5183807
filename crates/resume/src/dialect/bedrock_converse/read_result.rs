use records::NewMessage;
use serde_json::{Map, Value, json};

use super::layout::Layout;
use super::parse::{kept, read_content};
use crate::canonical::take_field;
use crate::dialect::parsed::{stored_result, text_part};

/// Reads a result, and what is left of it.
pub(super) fn read_result(mut result: Value) -> (NewMessage, Layout) {
    let mut left = Map::new();
    let mut content = match take_field(&mut result, "content") {
        Value::Array(blocks) => blocks,
        other => vec![other],
    };
    let content = match &mut content[..] {
        [] | [Value::Null] => Value::Null,
        [only] if is_only(only, "text", Value::is_string) => take_field(only, "text"),
        [only] if is_only(only, "json", Value::is_object) => take_field(only, "json"),
        _ => read_blocks(content, &mut left),
    };
    let call_id = match take_field(&mut result, "toolUseId") {
        Value::String(id) => id,
        _ => String::new(),
    };
    let status = take_field(&mut result, "status");
    let is_error = status == "error";
    if !is_error && !status.is_null() {
        left.insert("status".to_owned(), status);
    }
    let kind = take_field(&mut result, "type");
    if !kind.is_null() {
        left.insert("type".to_owned(), kind);
    }
    let layout = Layout { result: left, ..Layout::default() };
    (stored_result(&call_id, content, is_error), layout)
}

fn is_only(block: &Value, field: &str, is_type: fn(&Value) -> bool) -> bool {
    block.as_object().is_some_and(|it| it.len() == 1) && block.get(field).is_some_and(is_type)
}

/// Returns the content parts for the blocks of a result.
fn read_blocks(blocks: Vec<Value>, left: &mut Map<String, Value>) -> Value {
    let (mut parts, mut of_parts) = (Vec::new(), Vec::new());
    for block in blocks {
        let single = block.as_object().filter(|fields| fields.len() == 1);
        let (part, left) = match single.and_then(|fields| fields.iter().next()) {
            Some((name, text @ Value::String(_))) if name == "text" => {
                (text_part(text.clone()), Map::new())
            }
            Some((name, payload)) => {
                read_content(name, payload).unwrap_or_else(|| (kept(name, payload), Map::new()))
            }
            None => (text_part(block.to_string()), Map::new()),
        };
        parts.push(part);
        of_parts.push(Value::from(left));
    }
    if of_parts.iter().any(|left| *left != json!({})) {
        left.insert("content".to_owned(), of_parts.into());
    }
    parts.into()
}

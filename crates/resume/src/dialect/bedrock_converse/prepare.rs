use serde_json::{Map, Value, json};

use crate::dialect::prepare::{items_of, without_null_fields};

/// What libraries write: a content that is one text, fields that are null, and bytes in an object and places in S3 of Strands Agents.
pub(super) fn prepare(messages: &mut [Value]) {
    without_null_fields(messages);
    for message in messages.iter_mut() {
        if let Some(content @ Value::String(_)) = message.get_mut("content") {
            *content = json!([{"text": content.take()}]);
        }
    }
    for block in items_of("content", messages) {
        clean(block);
    }
}

/// Removes the fields of a block that are null, and takes bytes out of the objects in which Strands Agents stores them.
///
/// The input of a call and the JSON of a result are the caller's.
fn clean(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
    if let Some(Value::Object(source)) = fields.get_mut("source") {
        rename_location(source);
    }
    for (field, value) in fields.iter_mut() {
        if let Some(data @ Value::String(_)) = encoded(value) {
            *value = data;
        }
        let nested = match value {
            Value::Object(nested) if field != "input" && field != "json" => vec![nested],
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).collect(),
            _ => Vec::new(),
        };
        nested.into_iter().for_each(clean);
    }
}

/// Gives a place in S3, which Strands Agents tells by its type, the name that it has in the API.
fn rename_location(source: &mut Map<String, Value>) {
    let is_s3 = |location: &Value| location["type"] == "s3";
    if let Some(Value::Object(mut location)) =
        source.get("location").filter(|it| is_s3(it)).cloned()
    {
        location.shift_remove("type");
        source.shift_remove("location");
        source.insert("s3Location".to_owned(), location.into());
    }
}

fn encoded(value: &Value) -> Option<Value> {
    let is_encoded = value.get("__bytes_encoded__") == Some(&Value::Bool(true));
    value.get("data").filter(|_| is_encoded).cloned()
}

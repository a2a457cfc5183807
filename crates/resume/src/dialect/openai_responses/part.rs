use serde_json::{Map, Value, json};

use crate::canonical::is_empty_value;
use crate::dialect::parsed::{keep_other_fields, text_part};

/// Returns the content parts to store; an unknown part stays unchanged.
pub(super) fn read_parts(parts: Vec<Value>) -> Vec<Value> {
    parts.into_iter().map(read_part).collect()
}

fn read_part(part: Value) -> Value {
    let Value::Object(mut fields) = part else { return part };
    let stored = match fields.get("type").and_then(Value::as_str) {
        Some("input_text" | "output_text" | "text") => fields.remove("text").map(text_part),
        Some("input_image") => read_image(&mut fields),
        Some("input_file") => read_file(&mut fields),
        _ => None,
    };
    let Some(mut stored) = stored else { return fields.into() };
    fields.remove("type");
    fields.retain(|_, value| !is_empty_value(value));
    keep_other_fields(&mut stored, fields);
    stored
}

fn read_image(fields: &mut Map<String, Value>) -> Option<Value> {
    let detail = fields.remove("detail").filter(|detail| !detail.is_null() && detail != "auto");
    if let Some(url) = fields.remove("image_url").filter(Value::is_string) {
        let mut image = json!({"url": url});
        if let Some(detail) = detail {
            image["detail"] = detail;
        }
        return Some(json!({"type": "image_url", "image_url": image}));
    }
    let id = fields.remove("file_id").filter(Value::is_string)?;
    // A stored image has a URL, so that an uploaded one is stored as a file.
    let image = detail.map_or_else(|| json!({}), |detail| json!({"detail": detail}));
    Some(json!({"type": "file", "file": {"file_id": id}, "input_image": image}))
}

fn read_file(fields: &mut Map<String, Value>) -> Option<Value> {
    const FIELDS: [&str; 4] = ["file_data", "file_id", "file_url", "filename"];
    let file = FIELDS.into_iter().filter_map(|field| {
        let value = fields.remove(field).filter(Value::is_string)?;
        Some((field.to_owned(), value))
    });
    let file: Map<String, Value> = file.collect();
    (!file.is_empty()).then(|| json!({"type": "file", "file": file}))
}

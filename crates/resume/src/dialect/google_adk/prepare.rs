use serde_json::{Map, Value};

/// The objects of an event whose keys are names of fields.
const OF_EVENTS: [&str; 2] = ["actions", "nodeInfo"];

/// The object of a part whose keys are the caller's.
const FREE: &str = "partMetadata";

/// What the library writes without aliases: names with underscores, and fields that are null.
pub(super) fn prepare(events: &mut [Value]) {
    for event in events.iter_mut().filter_map(Value::as_object_mut) {
        clean(event);
        for field in OF_EVENTS {
            event.get_mut(field).and_then(Value::as_object_mut).map(clean);
        }
        if let Some(content) = event.get_mut("content").and_then(Value::as_object_mut) {
            clean(content);
            clean_parts(content);
        }
    }
}

fn clean_parts(holder: &mut Map<String, Value>) {
    let parts = holder.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
        clean(part);
        for (field, value) in part.iter_mut() {
            if let Value::Object(payload) = value
                && field != FREE
            {
                clean(payload);
                // Only a response holds parts.
                clean_parts(payload);
            }
        }
    }
}

/// Removes the fields that are null, and gives the others the names that they have in JSON.
fn clean(object: &mut Map<String, Value>) {
    object.retain(|_, value| !value.is_null());
    if object.keys().any(|field| is_snake_case(field)) {
        for (field, value) in std::mem::take(object) {
            let name = if is_snake_case(&field) { camel_case(&field) } else { field };
            object.entry(name).or_insert(value);
        }
    }
}

fn is_snake_case(field: &str) -> bool {
    field.contains('_') && !field.starts_with('_')
}

fn camel_case(field: &str) -> String {
    let mut name = String::with_capacity(field.len());
    let mut begins_word = false;
    for character in field.chars() {
        if character == '_' {
            begins_word = true;
        } else if std::mem::take(&mut begins_word) {
            name.extend(character.to_uppercase());
        } else {
            name.push(character);
        }
    }
    name
}

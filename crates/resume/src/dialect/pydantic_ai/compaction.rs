//! The summary of a conversation that a provider has compacted, which only this provider reads again.

use serde_json::{Map, Value, json};

/// The kind of the part, and the type of the content part that is stored.
pub(super) const KIND: &str = "compaction";

/// The field of the own fields of a part with those that it came with.
pub(super) const GIVEN: &str = "given";

/// Returns the fields that are stored of a part, as the formats of the providers have them.
pub(super) fn stored(given: &Map<String, Value>) -> Map<String, Value> {
    let text = |value: Option<&Value>| value.filter(|value| value.is_string()).cloned();
    let details = given.get("provider_details");
    let encrypted = text(details.and_then(|details| details.get("encrypted_content")));
    let mut stored = Map::new();
    if let Some(encrypted) = encrypted {
        stored.extend(text(given.get("id")).map(|id| ("id".to_owned(), id)));
        stored.insert("encrypted_content".to_owned(), encrypted);
    } else if given.get("provider_name").is_none_or(|name| name == "anthropic") {
        stored.extend(given.get("content").map(|it| ("content".to_owned(), it.clone())));
    } else {
        return given.clone();
    }
    stored
}

/// Returns a part as the library has it: as it came, if the stored fields still are those of it.
pub(super) fn written(mut part: Value, own: &Value) -> Value {
    if part["part_kind"] != KIND {
        return part;
    }
    let given = own[GIVEN].as_object().filter(|given| {
        let mut fields = stored(given);
        fields.insert("part_kind".to_owned(), KIND.into());
        part.as_object() == Some(&fields)
    });
    if let Some(given) = given {
        part = Value::Object(given.clone());
        part["part_kind"] = KIND.into();
    } else if let Some(fields) = part.as_object_mut().filter(|it| !it.contains_key("provider_name"))
    {
        let encrypted = fields.shift_remove("encrypted_content").filter(Value::is_string);
        let provider = if encrypted.is_some() { "openai" } else { "anthropic" };
        fields.insert("provider_name".to_owned(), provider.into());
        fields.extend(encrypted.map(|encrypted| {
            let details = json!({"encrypted_content": encrypted, "type": KIND});
            ("provider_details".to_owned(), details)
        }));
    }
    if part.get("content").is_none() {
        part["content"] = Value::Null;
    }
    part
}

//! The summary of a conversation that a provider has compacted, which only this provider reads again.

use serde_json::{Map, Value};

/// The kind of the part, and the type of the content part that is stored.
pub(super) const KIND: &str = "compaction";

/// The field of the own fields of a part with those that it came with.
pub(super) const GIVEN: &str = "given";

/// The provider whose blocks have the summary, too.
const ANTHROPIC: &str = "anthropic";

/// What only the provider reads of a summary.
const ENCRYPTED: &str = "encrypted_content";
const SEALED: [&str; 2] = [ENCRYPTED, "signature"];

/// Returns the fields that are stored of a part, as the formats of the providers have them.
pub(super) fn stored(given: &Map<String, Value>) -> Map<String, Value> {
    let provider = given.get("provider_name").and_then(Value::as_str);
    let details = given.get("provider_details").and_then(Value::as_object);
    let of_details = |name: &str| {
        let text = details.and_then(|details| details.get(name)).filter(|it| it.is_string())?;
        Some((name.to_owned(), text.clone()))
    };
    let encrypted = of_details(ENCRYPTED);
    let mut stored = Map::new();
    if provider == Some(ANTHROPIC) || provider.is_none() && encrypted.is_none() {
        // Its blocks always have a content, by which those of others are told from them.
        let content = given.get("content").cloned().unwrap_or_default();
        stored.insert("content".to_owned(), content);
        stored.extend(SEALED.into_iter().filter_map(of_details));
    } else if encrypted.is_some() {
        let id = given.get("id").filter(|id| id.is_string());
        stored.extend(id.map(|id| ("id".to_owned(), id.clone())));
        stored.extend(encrypted);
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
        let mut sealed = Map::new();
        for name in SEALED {
            let text = fields.shift_remove(name).filter(Value::is_string);
            sealed.extend(text.map(|text| (name.to_owned(), text)));
        }
        let is_of_openai = sealed.contains_key(ENCRYPTED) && !fields.contains_key("content");
        if is_of_openai {
            sealed.insert("type".to_owned(), KIND.into());
        }
        let provider = if is_of_openai { "openai" } else { ANTHROPIC };
        fields.insert("provider_name".to_owned(), provider.into());
        if !sealed.is_empty() {
            fields.insert("provider_details".to_owned(), sealed.into());
        }
    }
    if part.get("content").is_none() {
        part["content"] = Value::Null;
    }
    part
}

//! The fields of an answer that only this format has.

use serde_json::{Value, json};

use super::Target;
use crate::Repair;
use crate::canonical::{CanonicalMessage, Role, is_empty_value};
use crate::dialect::parsed::text_part;

/// The speech of a model, which the provider keeps under an id.
pub(super) const AUDIO: &str = "audio";

/// The images that a model made.
const IMAGES: &str = "images";

/// What litellm and `OpenRouter` say of the reasoning of other providers, and of images.
pub(super) const ADDED: [&str; 5] =
    ["thinking_blocks", "reasoning_details", IMAGES, "reasoning_items", PROVIDER_FIELDS];

/// What litellm gives back to a provider besides: what a conversation was compacted to, or the results of a search.
const PROVIDER_FIELDS: &str = "provider_specific_fields";

/// Returns the text of what was spoken, which is what every other format has of it.
pub(super) fn transcript(audio: &Value) -> Option<&str> {
    audio["transcript"].as_str().filter(|text| !text.trim().is_empty())
}

/// Leaves of each field what the target accepts again.
pub(super) fn lower(target: Target, message: &mut CanonicalMessage) {
    let mut removes_any = false;
    if let Some(audio) = message.provider.get_mut(AUDIO) {
        // The id stands for the speech, and so for its transcript.
        let is_said = transcript(audio).is_some_and(|text| message.content == text);
        if let Some(id) = audio["id"].as_str().filter(|id| !id.is_empty()) {
            *audio = json!({"id": id});
            if is_said && target == Target::OpenAi {
                message.content = Value::Null;
            }
        } else {
            message.provider.shift_remove(AUDIO);
            removes_any = true;
        }
    }
    // Only the built-in functions of Kimi have such names.
    let is_builtin = |name: &Value| name.as_str().is_some_and(|name| name.starts_with('$'));
    if target == Target::OpenAi && message.provider.get("name").is_some_and(is_builtin) {
        message.provider.shift_remove("name");
        removes_any = true;
    }
    for field in ADDED {
        if message.provider.get(field).is_some_and(|value| !is_added(field, value)) {
            message.provider.shift_remove(field);
            removes_any = true;
        }
    }
    if removes_any {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
}

/// Returns whether nothing is left of an answer that a provider accepts.
pub(super) fn leaves_nothing(message: &CanonicalMessage) -> bool {
    message.says_nothing() && !message.provider.contains_key(AUDIO)
}

/// Adds the images that a model made to its content, for formats without a field for them; returns whether it could.
pub(in crate::dialect) fn show_images(
    message: &mut CanonicalMessage,
    field: &str,
    value: &Value,
) -> bool {
    let image = |listed: &Value| {
        let url = listed.pointer("/image_url/url").filter(|url| url.is_string())?;
        Some(json!({"type": "image_url", "image_url": {"url": url}}))
    };
    let images = value.as_array().filter(|_| field == IMAGES && message.role == Role::Assistant);
    let images: Option<Vec<Value>> = images.and_then(|list| list.iter().map(image).collect());
    let Some(images) = images else { return false };
    let parts = match message.content.take() {
        Value::Array(parts) => parts,
        content if is_empty_value(&content) => Vec::new(),
        content => vec![text_part(content)],
    };
    message.content = parts.into_iter().chain(images).collect();
    true
}

/// Returns whether an answer has what litellm or `OpenRouter` added.
pub(super) fn has_added(message: &CanonicalMessage) -> bool {
    ADDED.iter().any(|field| message.provider.contains_key(*field))
}

/// Returns whether a field that a library adds has a value: a list of objects, or the fields of a provider.
pub(super) fn is_added(field: &str, value: &Value) -> bool {
    match value {
        Value::Object(fields) => field == PROVIDER_FIELDS && !fields.is_empty(),
        Value::Array(blocks) => {
            field != PROVIDER_FIELDS && !blocks.is_empty() && blocks.iter().all(Value::is_object)
        }
        _ => false,
    }
}

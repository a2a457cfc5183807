//! The JSON text of content for which a dialect has no place.

use records::JsonObject;
use serde_json::Value;

use crate::Repair;
use crate::dropped::shorten;

/// Inline data of fewer characters, or numbers, stay in the text.
const MIN_LEFT_OUT: usize = 1024;

/// The fields with the type of the data beside or below them.
const TYPE_FIELDS: [&str; 6] =
    ["mime_type", "media_type", "mimeType", "mediaType", "format", "output_format"];

/// The fields whose values are data, whatever is beside them.
const DATA_FIELDS: [&str; 5] = ["b64_json", "base64", "blob", "bytes", "file_data"];

/// Returns the JSON text of a content part, and reports it.
pub(crate) fn serialise_part(part: Value, repairs: &mut Vec<Repair>) -> String {
    repairs.push(Repair::PartSerialised);
    serialise(part, repairs)
}

/// Returns the JSON text of a content that is no text, and reports it.
pub(crate) fn serialise_content(content: Value, repairs: &mut Vec<Repair>) -> String {
    repairs.push(Repair::ContentSerialised);
    serialise(content, repairs)
}

/// Returns the JSON text without long inline data, in which a model can read nothing.
pub(crate) fn serialise(mut value: Value, repairs: &mut Vec<Repair>) -> String {
    leave_out(&mut value, None, repairs);
    value.to_string()
}

/// Replaces inline data; `around` is the type of data that the value is a part of.
fn leave_out(value: &mut Value, around: Option<&str>, repairs: &mut Vec<Repair>) {
    match value {
        Value::String(text) => {
            let data = text.strip_prefix("data:").and_then(|url| url.split_once(','));
            if let Some((header, data)) = data.filter(|it| it.1.len() >= MIN_LEFT_OUT) {
                let media_type = header.split(';').next().unwrap_or_default();
                let is_base64 = header.ends_with(";base64");
                let bytes = if is_base64 { base64_bytes(data) } else { data.len() };
                *text = note(media_type, bytes, repairs);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| leave_out(it, around, repairs)),
        Value::Object(fields) => {
            let own = type_of_data(fields);
            let kind = own.as_deref().or(around);
            let is_typed = kind.is_some() || is_buffer(fields);
            for (field, value) in fields {
                let is_data = DATA_FIELDS.contains(&field.as_str());
                let is_named = kind.is_some() || is_data;
                match value {
                    Value::Array(items)
                        if (is_data || is_typed && field == "data") && are_many_bytes(items) =>
                    {
                        *value = note(kind.unwrap_or_default(), items.len(), repairs).into();
                    }
                    Value::String(text) if is_named && is_long_base64(text) => {
                        *text = note(kind.unwrap_or_default(), base64_bytes(text), repairs);
                    }
                    other => leave_out(other, kind, repairs),
                }
            }
        }
        _ => {}
    }
}

/// Returns the type that an object gives for its data.
fn type_of_data(fields: &JsonObject) -> Option<String> {
    let said = TYPE_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str());
    // An image that OpenAI generated may have no field for its type.
    let generated = || (fields.get("type")? == "image_generation_call").then_some("image");
    said.or_else(generated).map(str::to_owned)
}

/// Returns whether an object is a `Buffer` of Node.js, written as JSON.
fn is_buffer(fields: &JsonObject) -> bool {
    fields.get("type").is_some_and(|it| it == "Buffer")
}

/// Returns whether a list can be long inline data, a number for each byte.
fn are_many_bytes(items: &[Value]) -> bool {
    let is_byte = |item: &Value| item.as_u64().is_some_and(|it| u8::try_from(it).is_ok());
    items.len() >= MIN_LEFT_OUT && items.iter().all(is_byte)
}

/// Returns whether a text can be long inline data. Long hexadecimal numbers are none: they may be what a tool found.
fn is_long_base64(text: &str) -> bool {
    let is_base64 = |it: u8| it.is_ascii_alphanumeric() || b"+/-_=".contains(&it);
    text.len() >= MIN_LEFT_OUT
        && text.bytes().all(is_base64)
        && !text.bytes().skip(2).all(|it| it.is_ascii_hexdigit())
}

fn base64_bytes(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

/// Reports data that are left out, and returns the text that stands for them.
fn note(kind: &str, bytes: usize, repairs: &mut Vec<Repair>) -> String {
    let kind = if kind.is_empty() { "data".to_owned() } else { shorten(kind) };
    let text = format!("[left out: {kind}, {bytes} bytes]");
    repairs.push(Repair::InlineDataLeftOut { kind, bytes });
    text
}

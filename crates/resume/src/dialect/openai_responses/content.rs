use serde_json::{Value, json};

use super::items::kept_item_role;
use crate::Repair;
use crate::canonical::{
    CanonicalMessage, Media, Role, are_parts, serialise_content, serialise_part,
};
use crate::dialect::parsed::text_part;

/// A part of the content of a message, ready to be written.
pub(super) enum Piece {
    /// A content part of a message item.
    Part(Value),
    /// An item of its own.
    Item(Value),
}

/// Takes the content and the refusal of a message.
pub(super) fn take_pieces(message: &mut CanonicalMessage) -> Vec<Piece> {
    let parts = match message.content.take() {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text_part(text)],
        Value::Array(list) if !list.is_empty() && are_parts(&list) => list,
        other => vec![text_part(serialise_content(other, &mut message.repairs))],
    };
    let mut pieces: Vec<_> = parts.into_iter().map(|part| write_piece(message, part)).collect();
    if let Some(refusal) = message.refusal.take() {
        pieces.push(Piece::Part(json!({"type": "refusal", "refusal": refusal})));
    }
    pieces
}

/// Takes the content of a result: a text, or a list of content parts.
pub(super) fn take_output(message: &mut CanonicalMessage) -> Value {
    match message.content.take() {
        text @ Value::String(_) => text,
        Value::Array(list) if !list.is_empty() && are_parts(&list) => {
            list.into_iter().map(|part| write_part(message, part)).collect()
        }
        other => serialise_content(other, &mut message.repairs).into(),
    }
}

fn write_piece(message: &mut CanonicalMessage, part: Value) -> Piece {
    match kept_item_role(&part) {
        Some(role) if role == message.role.as_str() => Piece::Item(part),
        _ => Piece::Part(write_part(message, part)),
    }
}

fn write_part(message: &mut CanonicalMessage, part: Value) -> Value {
    let may_have_media = matches!(message.role, Role::User | Role::Tool);
    // An image that is stored as a file becomes an image, unless it has fields that would be lost.
    let is_bare = part.as_object().is_some_and(|part| part.len() == 2);
    let image = (may_have_media && is_bare).then(|| Media::as_typed_part(&part)).flatten();
    let part = image.filter(|image| image["type"] == "image_url").unwrap_or(part);
    let is_answer = message.role == Role::Assistant;
    let text_type = if is_answer { "output_text" } else { "input_text" };
    let written = match part["type"].as_str() {
        Some("text") if part["text"].is_string() => {
            Some(json!({"type": text_type, "text": part["text"]}))
        }
        Some("refusal") if is_answer && part["refusal"].is_string() => {
            Some(json!({"type": "refusal", "refusal": part["refusal"]}))
        }
        Some("image_url") if may_have_media => write_image(&part["image_url"]),
        Some("file") if may_have_media => write_file(&part),
        _ => None,
    };
    let mut written = if let Some(mut written) = written {
        add_fields(message, &mut written, part);
        written
    } else {
        json!({"type": text_type, "text": serialise_part(part, &mut message.repairs)})
    };
    if written["type"] == "output_text" && written.get("annotations").is_none() {
        written["annotations"] = json!([]);
    }
    written
}

fn write_image(image: &Value) -> Option<Value> {
    let mut fields = image.as_object()?.iter();
    let is_known = |(field, value): (&String, &Value)| {
        (field == "url" || field == "detail") && value.is_string()
    };
    let url = image.get("url").filter(|_| fields.all(is_known))?;
    Some(json!({"type": "input_image", "image_url": url, "detail": detail_of(image)}))
}

/// Writes a file; an uploaded image is stored as a file with the fields of the image beside it.
fn write_file(part: &Value) -> Option<Value> {
    const SOURCES: [&str; 3] = ["file_data", "file_url", "file_id"];
    let file = part["file"].as_object()?;
    let known = |field: &str| field == "filename" || SOURCES.contains(&field);
    let is_read = file.iter().all(|(field, value)| known(field) && value.is_string());
    if !is_read || SOURCES.iter().filter(|field| file.contains_key(**field)).count() != 1 {
        return None;
    }
    let image = part.get("input_image").filter(|_| file.contains_key("file_id"));
    let mut written = json!({"type": if image.is_some() { "input_image" } else { "input_file" }});
    for (field, value) in file.iter().filter(|(field, _)| image.is_none() || *field != "filename") {
        written[field] = value.clone();
    }
    if let Some(image) = image {
        written["detail"] = detail_of(image);
    }
    Some(written)
}

/// Returns the detail in which the model sees an image, a field that the API requires.
fn detail_of(image: &Value) -> Value {
    image.get("detail").filter(|it| is_detail(it)).cloned().unwrap_or_else(|| json!("auto"))
}

fn is_detail(value: &Value) -> bool {
    ["low", "high", "auto", "original"].iter().any(|known| value == known)
}

/// Returns whether every annotation has a type that the API knows. Libraries write annotations of other types.
fn are_annotations(list: &Value) -> bool {
    const TYPES: [&str; 4] =
        ["container_file_citation", "file_citation", "file_path", "url_citation"];
    let is_known = |it: &Value| TYPES.iter().any(|known| it["type"] == *known);
    list.as_array().is_some_and(|list| list.iter().all(is_known))
}

/// Adds the stored fields of a part that only this format has; reports if there are others.
fn add_fields(message: &mut CanonicalMessage, written: &mut Value, part: Value) {
    let kind = part["type"].as_str().unwrap_or_default().to_owned();
    let Value::Object(fields) = part else { return };
    let mut is_whole = true;
    for (field, value) in fields {
        // The name of an image is a declared loss.
        let is_read = field == "type" || field == kind || field == "input_image";
        if is_read || value.is_null() || kind == "image_url" && field == "filename" {
            continue;
        }
        let is_list = || value.as_array().is_some_and(|list| list.iter().all(Value::is_object));
        let fits = match (written["type"].as_str().unwrap_or_default(), field.as_str()) {
            ("output_text", "annotations") => is_list() && are_annotations(&value),
            ("output_text", "logprobs") => is_list(),
            ("input_text" | "input_image" | "input_file", "prompt_cache_breakpoint") => {
                value.is_object()
            }
            ("input_file", "detail") => is_detail(&value),
            _ => false,
        };
        if fits {
            written[field] = value;
        } else {
            is_whole = false;
        }
    }
    if !is_whole {
        message.repairs.push(Repair::PartFieldsRemoved);
    }
}

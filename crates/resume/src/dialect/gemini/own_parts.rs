//! What only Gemini has in a part, and reads again.

use std::collections::HashSet;

use records::JsonObject;
use serde_json::Value;

use super::part_fields::{
    BESIDES, CODE, CODE_RESULT, KEPT, MEDIA_PROCESSING, SIGNATURE, is_of_part, is_payload,
    may_be_alone,
};
use crate::canonical::{CanonicalMessage, Role};
use crate::dialect::pieces::take_own_fields;
use crate::dialect::shapes::fits;

/// The type of a content part that is a part of Gemini as it is, and the field of any other with what is not known of it.
pub(super) const NAME: &str = "gemini";

/// Takes what the parts of a content have beside a text, media or the payload of a kept part.
pub(super) fn take_besides(message: &mut CanonicalMessage) -> Vec<JsonObject> {
    let role = message.role;
    take_own_fields(message, |part, field, value| {
        if is_of_code(part) || is_whole(part) {
            return false;
        }
        match field {
            NAME => value.is_object(),
            // Only what the model said has a signature.
            SIGNATURE => role == Role::Assistant && is_signature(value),
            _ => is_beside(field, value),
        }
    })
}

/// Takes what the media of a result have besides: `google.genai.types.FunctionResponsePart`, version 2.34.
pub(super) fn take_besides_media(message: &mut CanonicalMessage) -> Vec<JsonObject> {
    take_own_fields(message, |part, field, value| {
        part["type"] != "text" && field == MEDIA_PROCESSING && value.is_string()
    })
}

/// Returns the fields to write for those that were taken from a content part.
pub(super) fn flattened(mut besides: JsonObject) -> JsonObject {
    if let Some(Value::Object(unknown)) = besides.shift_remove(NAME) {
        besides.extend(unknown.into_iter().filter(|(field, _)| !is_of_part(field)));
    }
    besides
}

/// Returns the positions of the parts that stay as they are. Code that the model ran stays with its result alone.
pub(super) fn kept_parts(message: &CanonicalMessage) -> HashSet<usize> {
    let has_place = matches!(message.role, Role::Assistant | Role::User);
    let parts = message.content.as_array().filter(|_| has_place).map_or(&[][..], Vec::as_slice);
    let pairs = parts.windows(2).enumerate().filter(|(_, pair)| {
        message.role == Role::Assistant
            && is_code_part(&pair[0], CODE, &["language", "code"])
            && is_code_part(&pair[1], CODE_RESULT, &["outcome"])
    });
    let code = pairs.flat_map(|(at, _)| [at, at + 1]);
    let others =
        parts.iter().enumerate().filter(|(_, part)| is_whole(part) || is_server_tool(part));
    code.chain(others.map(|(at, _)| at)).collect()
}

/// Writes a part that stays as it is.
pub(super) fn write_kept(mut part: Value) -> Value {
    if is_whole(&part) {
        return part[NAME].take();
    }
    if let Some(part) = part.as_object_mut() {
        part.shift_remove("type");
    }
    part
}

fn is_of_code(part: &Value) -> bool {
    part["type"] == CODE || part["type"] == CODE_RESULT
}

/// Returns whether a content part holds a whole part that is not known.
fn is_whole(part: &Value) -> bool {
    let is_unknown = |part: &JsonObject| {
        !part.keys().any(|field| is_payload(field)) && part.keys().any(|field| may_be_alone(field))
    };
    part["type"] == NAME
        && part.as_object().is_some_and(|fields| fields.len() == 2)
        && part[NAME].as_object().is_some_and(is_unknown)
}

/// Returns whether a content part is a call of a tool of the server or its response, and what is beside it was taken.
fn is_server_tool(part: &Value) -> bool {
    let kept = KEPT.into_iter().find(|(field, _)| part["type"] == *field);
    kept.filter(|_| !is_of_code(part)).is_some_and(|(field, table)| {
        let only_payload = part.as_object().is_some_and(|fields| fields.len() == 2);
        only_payload && part[field].as_object().is_some_and(|payload| fits(payload, table))
    })
}

/// Returns whether parts have this field with this value beside their payload.
fn is_beside(field: &str, value: &Value) -> bool {
    fits(&JsonObject::from_iter([(field.to_owned(), value.clone())]), BESIDES)
}

/// Returns whether a stored part has all that the API requires of it, and nothing that it does not know.
fn is_code_part(part: &Value, kind: &str, required: &[&str]) -> bool {
    let is_text = |field: &&str| part[kind][*field].as_str().is_some_and(|it| !it.is_empty());
    let is_known = |(field, value): (&String, &Value)| match field.as_str() {
        "type" => value == kind,
        SIGNATURE => is_signature(value),
        field => field == kind,
    };
    let is_payload = |(field, value): (&String, &Value)| {
        value.is_string() && (required.contains(&&**field) || ["id", "output"].contains(&&**field))
    };
    part.as_object().is_some_and(|fields| fields.iter().all(is_known))
        && part[kind].as_object().is_some_and(|payload| payload.iter().all(is_payload))
        && required.iter().all(is_text)
}

fn is_signature(value: &Value) -> bool {
    value.as_str().is_some_and(|it| !it.is_empty())
}

//! What only a model of Gemini says in a part, and reads again.

use std::collections::HashSet;

use records::JsonObject;
use serde_json::Value;

use super::parse::SIGNATURE;
use crate::canonical::{CanonicalMessage, Role};
use crate::dialect::pieces::take_own_fields;

/// The fields of a part with code that the model ran, and of a part with its result.
const CODE: &str = "executableCode";
const CODE_RESULT: &str = "codeExecutionResult";

/// Takes the signatures of texts and media.
pub(super) fn take_signatures(message: &mut CanonicalMessage) -> Vec<JsonObject> {
    let is_model = message.role == Role::Assistant;
    take_own_fields(message, |part, field, value| {
        is_model && field == SIGNATURE && !is_of_code(part) && is_signature(value)
    })
}

/// Returns the positions of the parts with code that the model ran and with its results: each code with the result after it.
pub(super) fn code_with_results(message: &CanonicalMessage) -> HashSet<usize> {
    let parts = message.content.as_array().filter(|_| message.role == Role::Assistant);
    let parts = parts.map_or(&[][..], Vec::as_slice);
    let pairs = parts.windows(2).enumerate().filter(|(_, pair)| {
        is_code_part(&pair[0], CODE, &["language", "code"])
            && is_code_part(&pair[1], CODE_RESULT, &["outcome"])
    });
    pairs.flat_map(|(at, _)| [at, at + 1]).collect()
}

/// Writes a part with code, or with its result, as it was.
pub(super) fn write_code(mut part: Value) -> Value {
    if let Some(part) = part.as_object_mut() {
        part.shift_remove("type");
    }
    part
}

fn is_of_code(part: &Value) -> bool {
    part["type"] == CODE || part["type"] == CODE_RESULT
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

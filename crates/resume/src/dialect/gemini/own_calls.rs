//! The fields of calls and responses that no other format has.
//!
//! They are stored in the `extra_content` of the call or of its result, under [`NAME`].

use records::JsonObject;
use serde_json::{Value, json};

use super::own_parts::NAME;
use super::part_fields::{self, SIGNATURE};
use crate::canonical::take_object;
use crate::dialect::parsed::add_missing;
use crate::dialect::shapes::{Table, retain};

/// The payload of a part with a call.
const CALL: &str = "functionCall";

/// The mark of a result whose first text is the JSON text of its output.
const JSON: &str = "json";

/// What is left of the part of a call or of a response.
#[derive(Debug, Default)]
pub(super) struct OwnCallFields {
    /// The other fields of the part.
    part: JsonObject,
    /// The other fields of the call or the response.
    payload: JsonObject,
    /// Whether the first text of the content is the JSON text of the output.
    pub(super) is_json: bool,
}

impl OwnCallFields {
    /// Takes what was not read of a part with a payload; `read` are the fields of the payload that were.
    pub(super) fn of_part(part: &Value, payload: &str, read: &[&str]) -> Self {
        let others = |object: &Value, read: &[&str]| -> JsonObject {
            let fields = object.as_object().into_iter().flatten();
            let others =
                fields.filter(|(field, value)| !value.is_null() && !read.contains(&field.as_str()));
            others.map(|(field, value)| (field.clone(), value.clone())).collect()
        };
        // The signature of a call has a place that other formats know.
        let of_part = if payload == CALL { vec![CALL, SIGNATURE] } else { vec![payload] };
        let (own, payload) = (others(part, &of_part), others(&part[payload], read));
        Self { part: own, payload, is_json: false }
    }

    /// Returns what to store; `None` if nothing is left.
    pub(super) fn into_stored(self) -> Option<Value> {
        let fields = [("part", self.part), ("payload", self.payload)];
        let fields = fields.into_iter().filter(|(_, fields)| !fields.is_empty());
        let mut stored: JsonObject =
            fields.map(|(name, fields)| (name.to_owned(), fields.into())).collect();
        if self.is_json {
            stored.insert(JSON.to_owned(), true.into());
        }
        (!stored.is_empty()).then(|| stored.into())
    }

    /// Takes the fields that are stored in an `extra_content`, and returns whether any of them has a wrong type.
    pub(super) fn take(extra_content: &mut Value, of_payload: Table) -> (Self, bool) {
        let Some(Value::Object(mut stored)) = extra_content.get_mut(NAME).map(Value::take) else {
            return (Self::default(), false);
        };
        let is_json = stored.get(JSON) == Some(&Value::Bool(true));
        let [mut part, mut payload] =
            ["part", "payload"].map(|name| take_object(&mut stored, name));
        let removes_any = retain_known(&mut part, part_fields::BESIDES, part_fields::is_of_part)
            | retain_known(&mut payload, of_payload, |_| false);
        (Self { part, payload, is_json }, removes_any)
    }

    /// Adds the fields to the part that was written.
    pub(super) fn add_to(self, part: &mut Value, payload: &str) {
        if let Some(written) = part.get_mut(payload) {
            add_missing(written, self.payload);
        }
        add_missing(part, self.part);
    }
}

/// Returns whether what is stored for a result says no more than how its content is to be read.
pub(in crate::dialect) fn is_only_mark(extra_content: &Value) -> bool {
    extra_content.as_object().is_some_and(|names| names.len() == 1)
        && extra_content[NAME] == json!({JSON: true})
}

/// Removes the fields that are not of their type in a table, and those that it lacks although they are known; those of later
/// versions stay. Returns whether there are any.
pub(super) fn retain_known(
    fields: &mut JsonObject,
    table: Table,
    is_known: fn(&str) -> bool,
) -> bool {
    let in_table = |field: &str| table.iter().any(|(known, _)| *known == field);
    let (mut known, unknown): (JsonObject, JsonObject) = std::mem::take(fields)
        .into_iter()
        .partition(|(field, _)| in_table(field) || is_known(field));
    let removes_any = retain(&mut known, table);
    fields.extend(known);
    fields.extend(unknown);
    removes_any
}

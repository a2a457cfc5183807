use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// A field of a part: its name, whether it is required, and what it may hold.
type Field = (&'static str, bool, fn(&Value) -> bool);

const TEXT: Field = ("content", true, Value::is_string);
const MODALITY: Field = ("modality", true, Value::is_string);
const MIME_TYPE: Field = ("mime_type", false, Value::is_string);

/// The parts of a message, each with its fields besides `type`, and the role that has it if only one has.
///
/// The schema also allows parts of unknown types, and unknown fields in everything: the rules of the known ones would then
/// mean nothing.
const PARTS: [(&str, &[Field], Option<&str>); 7] = [
    ("text", &[TEXT], None),
    ("reasoning", &[TEXT], Some("assistant")),
    (
        "tool_call",
        &[("id", true, is_id), ("name", true, is_id), ("arguments", false, |_| true)],
        Some("assistant"),
    ),
    ("tool_call_response", &[("id", true, is_id), ("response", true, |_| true)], Some("tool")),
    ("blob", &[TEXT, MODALITY, MIME_TYPE], None),
    ("uri", &[("uri", true, Value::is_string), MODALITY, MIME_TYPE], None),
    ("file", &[("file_id", true, Value::is_string), MODALITY, MIME_TYPE], None),
];

/// Returns the rules that the messages break, ordered by position.
///
/// The schema has no rules about pairs; a call without a result, or a result without a call, is no conversation.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    let (mut ids, mut open) = (CallIds::default(), OpenCalls::default());
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, message_problems(message));
        for part in parts(message) {
            let id = part["id"].as_str().unwrap_or_default();
            match part["type"].as_str() {
                Some("tool_call") => {
                    violations.report(index, ids.add(id));
                    open.open(index, id);
                }
                Some("tool_call_response") => violations.report(index, open.close_with_result(id)),
                _ => {}
            }
        }
    }
    violations.extend(open.take_unanswered("has no result"));
    violations.into_sorted()
}

fn parts(message: &Value) -> impl Iterator<Item = &Value> {
    message["parts"].as_array().into_iter().flatten()
}

fn message_problems(message: &Value) -> Vec<Problem> {
    let Some(fields) = message.as_object() else {
        return vec![("not_an_object", "the message is not a JSON object".to_owned())];
    };
    let mut problems = Vec::new();
    let role = message["role"].as_str().unwrap_or_default();
    if !["user", "assistant", "tool"].contains(&role) {
        problems.push(("unknown_role", format!("there is no role {}", message["role"])));
    }
    if fields.get("name").is_some_and(|name| !name.is_string()) {
        problems.push(("invalid_name", "the name is not text".to_owned()));
    }
    let is_unknown = |field: &&String| !["role", "parts", "name"].contains(&field.as_str());
    problems.extend(fields.keys().find(is_unknown).map(|field| unknown_field(field)));
    match message["parts"].as_array() {
        Some(parts) if !parts.is_empty() => {
            problems.extend(parts.iter().filter_map(|part| part_problem(role, part)));
        }
        _ => problems.push(("invalid_parts", "the parts are not a list of parts".to_owned())),
    }
    problems
}

/// Returns the first rule that a part breaks.
fn part_problem(role: &str, part: &Value) -> Option<Problem> {
    let kind = part["type"].as_str().unwrap_or_default();
    let known = PARTS.iter().find(|(name, ..)| *name == kind);
    let Some((Some(part), (_, fields, only))) = Some(part.as_object()).zip(known) else {
        return Some(("invalid_part", format!("there is no part {}", part["type"])));
    };
    if only.is_some_and(|only| only != role) {
        return Some(("misplaced_part", format!("{role} has no part {kind}")));
    }
    field_problem(kind, fields, part)
}

fn field_problem(kind: &str, fields: &[Field], part: &Map<String, Value>) -> Option<Problem> {
    let rules: HashMap<_, _> = fields.iter().map(|(name, _, fits)| (*name, *fits)).collect();
    for (field, value) in part.iter().filter(|(field, _)| *field != "type") {
        match rules.get(field.as_str()) {
            None => return Some(unknown_field(field)),
            Some(fits) if !fits(value) => {
                return Some(("invalid_part", format!("the {field} of {kind} is {value}")));
            }
            Some(_) => {}
        }
    }
    let missing =
        fields.iter().find(|(name, is_required, _)| *is_required && !part.contains_key(*name));
    missing.map(|(name, ..)| ("invalid_part", format!("{kind} has no {name}")))
}

fn unknown_field(field: &str) -> Problem {
    ("unknown_field", format!("there is no field {field:?}"))
}

fn is_id(value: &Value) -> bool {
    value.as_str().is_some_and(|id| !id.is_empty())
}

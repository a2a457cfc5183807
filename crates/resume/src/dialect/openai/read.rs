use std::mem;

use records::{JsonObject, Message, MessageBody};
use serde_json::Value;

use super::call::{self, Target};
use super::content::is_blank;
use super::draft::Draft;
use super::role::Role;
use crate::dialect::{Origin, Rendered};
use crate::{DropReason, Repair};

/// Reads a message and hands its draft on; AG2's message with several tool results gives several.
pub(super) fn read(
    index: usize,
    message: Message,
    rendered: &mut Rendered,
    mut hand_on: impl FnMut(Draft, &mut Rendered),
) {
    let origin = Origin { index, sequence: message.sequence };
    let body = message.body;
    let draft = match Role::parse(&body.role) {
        _ if message.deleted_at.is_some() => Err(DropReason::Deleted),
        None => Err(DropReason::unsupported_role(&body.role)),
        Some(Role::Tool) => {
            let mut drop = |reason| rendered.drop(origin, reason);
            let kept: Vec<_> =
                results(origin, body).filter_map(|result| result.map_err(&mut drop).ok()).collect();
            for draft in kept {
                hand_on(draft, rendered);
            }
            return;
        }
        Some(role) => said(origin, role, body),
    };
    match draft {
        Ok(draft) => hand_on(draft, rendered),
        Err(reason) => rendered.drop(origin, reason),
    }
}

/// Reads the results that a `tool` message holds.
fn results(
    origin: Origin,
    mut body: MessageBody,
) -> impl Iterator<Item = Result<Draft, DropReason>> {
    let own_id = body.extra.remove("tool_call_id").unwrap_or_default();
    let responses = match body.extra.get_mut("tool_responses") {
        Some(Value::Array(responses)) if !responses.is_empty() => mem::take(responses),
        _ => vec![Value::from_iter([("tool_call_id", own_id), ("content", body.content)])],
    };
    let leftovers = leftovers(&body.extra);
    let result = move |mut response: Value| match taken(&mut response, "tool_call_id") {
        Value::String(call_id) if !call_id.is_empty() => {
            let mut draft = Draft::new(origin, Role::Tool, taken(&mut response, "content"));
            draft.call_id = call_id;
            draft.repairs.clone_from(&leftovers);
            Ok(draft)
        }
        _ => Err(DropReason::MissingCallId),
    };
    responses.into_iter().map(result)
}

fn taken(response: &mut Value, field: &str) -> Value {
    response.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Reads a message of any role but `tool`.
fn said(origin: Origin, role: Role, mut body: MessageBody) -> Result<Draft, DropReason> {
    let mut draft = Draft::new(origin, role, body.content);
    draft.name = body.name.filter(|name| !name.is_empty());
    if role == Role::Assistant {
        read_calls(&mut draft, &mut body.extra);
        read_refusal(&mut draft, &mut body.extra);
    }
    draft.repairs.extend(leftovers(&body.extra));
    let names_nothing = role == Role::Function && draft.name.is_none();
    let says_nothing = draft.content.is_null() && draft.refusal.is_none();
    let calls_nothing = !draft.makes_calls() && draft.malformed.is_none();
    if names_nothing {
        Err(DropReason::MissingName)
    } else if role != Role::Function && says_nothing && calls_nothing {
        Err(DropReason::NullContent)
    } else {
        Ok(draft)
    }
}

fn read_calls(draft: &mut Draft, extra: &mut JsonObject) {
    match call::read_all(extra.remove("tool_calls").unwrap_or_default()) {
        Ok(calls) => draft.calls = calls,
        Err(malformed) => draft.malformed = Some(malformed),
    }
    let function_call = extra.remove("function_call").unwrap_or_default();
    if function_call.is_null() {
        return;
    }
    if draft.calls.is_empty() && draft.malformed.is_none() {
        draft.function_call = Target::read_function(function_call, &mut draft.repairs);
    }
    if draft.function_call.is_none() {
        draft.repairs.push(Repair::FieldRemoved { field: "function_call" });
    }
}

fn read_refusal(draft: &mut Draft, extra: &mut JsonObject) {
    match extra.remove("refusal") {
        Some(Value::String(refusal)) if !refusal.is_empty() => draft.refusal = Some(refusal),
        Some(other) if !is_blank(&other) => {
            draft.repairs.push(Repair::FieldRemoved { field: "refusal" });
        }
        _ => {}
    }
}

/// Reports the fields that are left when those of the role have been read.
fn leftovers(extra: &JsonObject) -> Vec<Repair> {
    const FIELDS: [&str; 5] =
        ["function_call", "refusal", "tool_call_id", "tool_calls", "tool_responses"];
    let is_left = |field: &&str| extra.get(*field).is_some_and(|value| !is_blank(value));
    let left = FIELDS.into_iter().filter(is_left);
    left.map(|field| Repair::FieldRemoved { field }).collect()
}

use std::mem;

use records::{JsonObject, Message, MessageBody};
use serde_json::Value;

use super::call::{self, Target};
use super::message::{Canonical, is_blank};
use super::role::Role;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Repair};

/// Reads a message and hands it on; AG2's message with several tool results gives several.
pub(crate) fn read(
    index: usize,
    message: Message,
    rendered: &mut Rendered,
    mut hand_on: impl FnMut(Canonical, &mut Rendered),
) {
    let origin = Origin { index, sequence: message.sequence };
    let (event_id, body) = (message.event_id.into(), message.body);
    let said = match Role::parse(&body.role) {
        _ if message.deleted_at.is_some() => Err(DropReason::Deleted),
        None => Err(DropReason::unsupported_role(&body.role)),
        Some(Role::Tool) => {
            let mut drop = |reason| rendered.drop(origin, reason);
            let kept: Vec<_> =
                results(origin, body).filter_map(|result| result.map_err(&mut drop).ok()).collect();
            for result in kept {
                hand_on(result, rendered);
            }
            return;
        }
        Some(role) => said(origin, role, body).map(|said| Canonical { event_id, ..said }),
    };
    match said {
        Ok(said) => hand_on(said, rendered),
        Err(reason) => rendered.drop(origin, reason),
    }
}

/// Reads the results that a `tool` message holds.
fn results(
    origin: Origin,
    mut body: MessageBody,
) -> impl Iterator<Item = Result<Canonical, DropReason>> {
    let own_id = body.extra.remove("tool_call_id").unwrap_or_default();
    let responses = match body.extra.get_mut("tool_responses") {
        Some(Value::Array(responses)) if !responses.is_empty() => mem::take(responses),
        _ => vec![Value::from_iter([("tool_call_id", own_id), ("content", body.content)])],
    };
    let leftovers = leftovers(&body.extra);
    let read = move |mut response: Value| match taken(&mut response, "tool_call_id") {
        Value::String(call_id) if !call_id.is_empty() => {
            let mut result = Canonical::new(origin, Role::Tool, taken(&mut response, "content"));
            result.call_id = call_id;
            result.is_error = taken(&mut response, "is_error") == Value::Bool(true);
            result.repairs.clone_from(&leftovers);
            Ok(result)
        }
        _ => Err(DropReason::MissingCallId),
    };
    responses.into_iter().map(read)
}

/// Takes the value of a field; null where there is none.
pub(crate) fn taken(object: &mut Value, field: &str) -> Value {
    object.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Reads a message of any role but `tool`.
fn said(origin: Origin, role: Role, mut body: MessageBody) -> Result<Canonical, DropReason> {
    let mut said = Canonical::new(origin, role, body.content);
    said.name = body.name.filter(|name| !name.is_empty());
    if role == Role::Assistant {
        read_calls(&mut said, &mut body.extra);
        read_refusal(&mut said, &mut body.extra);
        said.reasoning = body.extra.remove("reasoning_content").unwrap_or_default();
    }
    said.repairs.extend(leftovers(&body.extra));
    let names_nothing = role == Role::Function && said.name.is_none();
    let says_nothing = said.content.is_null() && said.refusal.is_none();
    let calls_nothing = !said.makes_calls() && said.malformed.is_none();
    if names_nothing {
        Err(DropReason::MissingName)
    } else if role != Role::Function && says_nothing && calls_nothing {
        Err(DropReason::NullContent)
    } else {
        Ok(said)
    }
}

fn read_calls(said: &mut Canonical, extra: &mut JsonObject) {
    match call::read_all(extra.remove("tool_calls").unwrap_or_default()) {
        Ok(calls) => said.calls = calls,
        Err(malformed) => said.malformed = Some(malformed),
    }
    let function_call = extra.remove("function_call").unwrap_or_default();
    if function_call.is_null() {
        return;
    }
    if said.calls.is_empty() && said.malformed.is_none() {
        said.function_call = Target::read_function(function_call, &mut said.repairs);
    }
    if said.function_call.is_none() {
        said.repairs.push(Repair::FieldRemoved { field: "function_call" });
    }
}

fn read_refusal(said: &mut Canonical, extra: &mut JsonObject) {
    match extra.remove("refusal") {
        Some(Value::String(refusal)) if !refusal.is_empty() => said.refusal = Some(refusal),
        Some(other) if !is_blank(&other) => {
            said.repairs.push(Repair::FieldRemoved { field: "refusal" });
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

use std::mem;

use records::{JsonObject, Message, MessageBody};
use serde_json::Value;

use super::blocks::CONTENT_BLOCKS;
use super::call::{self, CallTarget};
use super::message::{CanonicalMessage, ResultName, is_empty_value};
use super::role::Role;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Repair};

/// Reads a stored message and passes it to `handle`, or reports why it is dropped.
///
/// AG2 stores the results of several calls in one message; each result is passed on by itself.
pub(crate) fn read_message(
    index: usize,
    message: Message,
    rendered: &mut Rendered,
    mut handle: impl FnMut(CanonicalMessage, &mut Rendered),
) {
    let origin = Origin { index, sequence: message.sequence };
    let created_at = Some(message.created_at);
    let mut handle = |read: CanonicalMessage, rendered: &mut Rendered| {
        handle(CanonicalMessage { created_at, ..read }, rendered);
    };
    let (event_id, body) = (String::from(message.event_id), message.body);
    let read = match Role::parse(&body.role) {
        _ if message.deleted_at.is_some() => Err(DropReason::Deleted),
        None => Err(DropReason::unsupported_role(&body.role)),
        Some(Role::Tool) => {
            let mut drop = |reason| rendered.drop(origin, reason);
            let kept: Vec<_> = read_results(origin, event_id, body)
                .filter_map(|result| result.map_err(&mut drop).ok())
                .collect();
            for result in kept {
                handle(result, rendered);
            }
            return;
        }
        Some(role) => {
            read_other(origin, role, body).map(|message| CanonicalMessage { event_id, ..message })
        }
    };
    match read {
        Ok(message) => handle(message, rendered),
        Err(reason) => rendered.drop(origin, reason),
    }
}

/// Reads the results that a `tool` message holds.
fn read_results(
    origin: Origin,
    event_id: String,
    mut body: MessageBody,
) -> impl Iterator<Item = Result<CanonicalMessage, DropReason>> {
    let own_id = body.extra.remove("tool_call_id").unwrap_or_default();
    let name = body.name.take().filter(|name| !name.is_empty());
    let (responses, name) = match body.extra.get_mut("tool_responses") {
        Some(Value::Array(responses)) if !responses.is_empty() => {
            (mem::take(responses), name.map(ResultName::Executor))
        }
        _ => {
            let result = Value::from_iter([("tool_call_id", own_id), ("content", body.content)]);
            (vec![result], name.map(ResultName::Other))
        }
    };
    let mut provider = take_object(&mut body.extra, MessageBody::PROVIDER);
    let has_failed = is_error(&body.extra.remove(TOOL_ERROR).unwrap_or_default());
    let unused = unused_fields(&body.extra);
    // These are about the whole message, so only its first result gets them.
    let mut timestamp = body.timestamp.take();
    let mut metadata = body.metadata.take().unwrap_or_default();
    let read = move |(index, mut response): (usize, Value)| match take_field(
        &mut response,
        "tool_call_id",
    ) {
        Value::String(call_id) if !call_id.is_empty() => {
            let mut result =
                CanonicalMessage::new(origin, Role::Tool, take_field(&mut response, "content"));
            result.call_id = call_id;
            result.result_name.clone_from(&name);
            result.result_fields = take_field(&mut response, "extra_content");
            let is_marked = take_field(&mut response, "is_error") == Value::Bool(true);
            result.is_error = is_marked || has_failed;
            result.repairs.clone_from(&unused);
            result.provider = mem::take(&mut provider);
            result.timestamp = timestamp.take();
            result.event_id =
                if index == 0 { event_id.clone() } else { format!("{event_id}_{index}") };
            result.metadata = mem::take(&mut metadata);
            Ok(result)
        }
        _ => Err(DropReason::MissingCallId),
    };
    responses.into_iter().enumerate().map(read)
}

/// The field that tells whether, or how, the call of a result failed.
const TOOL_ERROR: &str = "tool_error";

/// Returns whether a value of [`TOOL_ERROR`] tells of an error.
fn is_error(value: &Value) -> bool {
    !is_empty_value(value) && *value != Value::Bool(false)
}

/// Takes the value of a field; null if the value has no such field.
pub(crate) fn take_field(object: &mut Value, field: &str) -> Value {
    object.get_mut(field).map(Value::take).unwrap_or_default()
}

/// Removes a field and returns its object; an empty one for any other value.
pub(crate) fn take_object(object: &mut JsonObject, field: &str) -> JsonObject {
    match object.remove(field) {
        Some(Value::Object(fields)) => fields,
        _ => JsonObject::new(),
    }
}

/// Removes a field and returns its list; an empty one for any other value.
pub(crate) fn take_list(object: &mut JsonObject, field: &str) -> Vec<Value> {
    match object.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Reads a message of any role but `tool`.
fn read_other(
    origin: Origin,
    role: Role,
    mut body: MessageBody,
) -> Result<CanonicalMessage, DropReason> {
    // An empty list says as little as null.
    let content = body.content.take();
    let content = if content == Value::Array(Vec::new()) { Value::Null } else { content };
    let mut message = CanonicalMessage::new(origin, role, content);
    message.name = body.name.filter(|name| !name.is_empty());
    message.timestamp = body.timestamp.take();
    message.metadata = body.metadata.take().unwrap_or_default();
    if role == Role::Assistant {
        read_calls(&mut message, &mut body.extra);
        read_refusal(&mut message, &mut body.extra);
        message.reasoning = body.extra.remove("reasoning_content").unwrap_or_default();
    }
    message.read_blocks(body.extra.remove(CONTENT_BLOCKS).unwrap_or_default());
    message.provider = take_object(&mut body.extra, MessageBody::PROVIDER);
    message.repairs.extend(unused_fields(&body.extra));
    if role == Role::Function && message.name.is_none() {
        return Err(DropReason::MissingName);
    }
    Ok(message)
}

fn read_calls(message: &mut CanonicalMessage, extra: &mut JsonObject) {
    match call::read_all(extra.remove("tool_calls").unwrap_or_default()) {
        Ok(calls) => message.calls = calls,
        Err(malformed) => message.malformed_calls = Some(malformed),
    }
    let function_call = extra.remove("function_call").unwrap_or_default();
    if function_call.is_null() {
        return;
    }
    if message.calls.is_empty() && message.malformed_calls.is_none() {
        message.function_call = CallTarget::read_function(function_call, &mut message.repairs);
    }
    if message.function_call.is_none() {
        message.repairs.push(Repair::FieldRemoved { field: "function_call" });
    }
}

fn read_refusal(message: &mut CanonicalMessage, extra: &mut JsonObject) {
    match extra.remove("refusal") {
        Some(Value::String(refusal)) if !refusal.is_empty() => message.refusal = Some(refusal),
        Some(other) if !is_empty_value(&other) => {
            message.repairs.push(Repair::FieldRemoved { field: "refusal" });
        }
        _ => {}
    }
}

/// Reports the fields that remain after those of the role were read: they are not rendered.
fn unused_fields(extra: &JsonObject) -> Vec<Repair> {
    const FIELDS: [&str; 7] = [
        CONTENT_BLOCKS,
        "function_call",
        "refusal",
        "tool_call_id",
        "tool_calls",
        TOOL_ERROR,
        "tool_responses",
    ];
    let is_said = |value: &Value| !is_empty_value(value) && *value != Value::Bool(false);
    let is_unused = |field: &&str| extra.get(*field).is_some_and(is_said);
    let unused = FIELDS.into_iter().filter(is_unused);
    unused.map(|field| Repair::FieldRemoved { field }).collect()
}

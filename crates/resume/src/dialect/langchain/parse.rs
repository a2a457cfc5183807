use records::{JsonObject, MessageBody, NewMessage};
use serde_json::{Map, Value};

use super::write::ROLE_MARK;
use crate::DropReason;
use crate::canonical::{is_empty_value, take_object};
use crate::dialect::parsed::{self, Parsed, as_object, read_stored_fields, set_extra, take_text};

pub(super) fn parse(messages: Vec<Value>) -> Parsed {
    Parsed::from_transcript(Vec::new(), messages, |message| read(message).map(Some))
}

fn read(message: Value) -> Result<NewMessage, DropReason> {
    let mut object = as_object(message)?;
    if let Some(Value::Object(data)) = object.remove("data") {
        let kind = take_text(&mut object, "type").ok_or(DropReason::MissingRole)?;
        return read_typed(&kind, data);
    }
    let given_role = object.remove("role").or_else(|| object.remove("type"));
    let role = match given_role.as_ref().and_then(Value::as_str) {
        Some("human") => "user",
        Some("ai") => "assistant",
        Some(role @ "remove") => return Err(DropReason::unsupported_role(role)),
        Some(role) => role,
        None => return Err(DropReason::MissingRole),
    };
    object.insert("role".to_owned(), role.into());
    let calls = object.get_mut("tool_calls").and_then(Value::as_array_mut);
    for call in calls.into_iter().flatten().filter(|call| call.get("args").is_some()) {
        *call = read_call(call);
    }
    read_stored_fields("langchain", object.into())
}

/// Reads a message with `type` and `data`.
fn read_typed(kind: &str, mut data: Map<String, Value>) -> Result<NewMessage, DropReason> {
    let mut kwargs = take_object(&mut data, "additional_kwargs");
    let role = match kind {
        "human" => "user".to_owned(),
        "ai" => "assistant".to_owned(),
        "tool" => return Ok(read_result(data)),
        "function" => "function".to_owned(),
        "system" => take_text(&mut kwargs, ROLE_MARK).unwrap_or_else(|| kind.to_owned()),
        "chat" => take_text(&mut data, "role").ok_or(DropReason::MissingRole)?,
        other => return Err(DropReason::unsupported_role(other)),
    };
    let name = take_text(&mut data, "name");
    let content = data.remove("content").unwrap_or_default();
    let mut body = MessageBody { role, name, content, ..MessageBody::default() };
    let calls = data.remove("tool_calls").unwrap_or_default();
    set_extra(
        &mut body,
        "tool_calls",
        calls.as_array().map(|calls| calls.iter().map(read_call).collect::<Vec<_>>()),
    );
    set_extra(&mut body, "refusal", kwargs.remove("refusal"));
    set_extra(&mut body, "reasoning_content", kwargs.remove("reasoning_content"));
    if calls.as_array().is_none_or(Vec::is_empty) {
        set_extra(&mut body, "function_call", kwargs.remove("function_call"));
    }
    // The same calls in the provider's own format: they were read from `tool_calls`.
    kwargs.remove("tool_calls");
    data.extend(kwargs);
    body.metadata = other_fields(data);
    Ok(body.into())
}

fn read_result(mut data: Map<String, Value>) -> NewMessage {
    let call_id = take_text(&mut data, "tool_call_id").unwrap_or_default();
    let failed = data.remove("status").is_some_and(|status| status == "error");
    let content = data.remove("content").unwrap_or_default();
    let mut message = parsed::stored_result(&call_id, content, failed);
    message.body.name = take_text(&mut data, "name");
    message.body.metadata = other_fields(data);
    message
}

fn read_call(call: &Value) -> Value {
    let text = |field: &str| call[field].as_str().unwrap_or_default();
    parsed::stored_call(text("id"), text("name"), &call["args"])
}

/// Returns the fields to store as metadata: all that have a value and were not read.
fn other_fields(data: Map<String, Value>) -> Option<JsonObject> {
    let has_value = |value: &Value| {
        !is_empty_value(value)
            && *value != Value::Bool(false)
            && value.as_object().is_none_or(|it| !it.is_empty())
    };
    let rest = data.into_iter().filter(|(key, value)| key != "type" && has_value(value));
    Some(rest.collect::<JsonObject>()).filter(|rest| !rest.is_empty())
}

use records::{JsonObject, MessageBody, NewMessage};
use serde_json::{Map, Value};

use super::write::ROLE_MARK;
use crate::DropReason;
use crate::canonical::is_blank;
use crate::dialect::parsed::{self, Parsed, as_object, put, stored, take_text};

pub(super) fn parse(messages: Vec<Value>) -> Parsed {
    Parsed::of(Vec::new(), messages, |message| read(message).map(Some))
}

fn read(message: Value) -> Result<NewMessage, DropReason> {
    let mut object = as_object(message)?;
    if let Some(Value::Object(data)) = object.remove("data") {
        let kind = take_text(&mut object, "type").ok_or(DropReason::MissingRole)?;
        return typed(&kind, data);
    }
    let named = object.remove("role").or_else(|| object.remove("type"));
    let role = match named.as_ref().and_then(Value::as_str) {
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
    stored(object.into())
}

fn typed(kind: &str, mut data: Map<String, Value>) -> Result<NewMessage, DropReason> {
    let mut marks = match data.remove("additional_kwargs") {
        Some(Value::Object(marks)) => marks,
        _ => Map::new(),
    };
    let role = match kind {
        "human" => "user".to_owned(),
        "ai" => "assistant".to_owned(),
        "tool" => return Ok(result(data)),
        "function" => "function".to_owned(),
        "system" => take_text(&mut marks, ROLE_MARK).unwrap_or_else(|| kind.to_owned()),
        "chat" => take_text(&mut data, "role").ok_or(DropReason::MissingRole)?,
        other => return Err(DropReason::unsupported_role(other)),
    };
    let name = take_text(&mut data, "name");
    let content = data.remove("content").unwrap_or_default();
    let mut body = MessageBody { role, name, content, ..MessageBody::default() };
    let calls = data.remove("tool_calls").unwrap_or_default();
    put(
        &mut body,
        "tool_calls",
        calls.as_array().map(|calls| calls.iter().map(read_call).collect::<Vec<_>>()),
    );
    put(&mut body, "refusal", marks.remove("refusal"));
    put(&mut body, "reasoning_content", marks.remove("reasoning_content"));
    if calls.as_array().is_none_or(Vec::is_empty) {
        put(&mut body, "function_call", marks.remove("function_call"));
    }
    // The provider's own form of calls that have been read.
    marks.remove("tool_calls");
    data.extend(marks);
    body.metadata = rest(data);
    Ok(body.into())
}

fn result(mut data: Map<String, Value>) -> NewMessage {
    let call_id = take_text(&mut data, "tool_call_id").unwrap_or_default();
    let failed = data.remove("status").is_some_and(|status| status == "error");
    let content = data.remove("content").unwrap_or_default();
    let mut message = parsed::result(&call_id, content, failed);
    message.body.name = take_text(&mut data, "name");
    message.body.metadata = rest(data);
    message
}

fn read_call(call: &Value) -> Value {
    let text = |field: &str| call[field].as_str().unwrap_or_default();
    parsed::call(text("id"), text("name"), &call["args"])
}

/// Returns what is to be kept beside the message.
fn rest(data: Map<String, Value>) -> Option<JsonObject> {
    let says = |value: &Value| {
        !is_blank(value)
            && *value != Value::Bool(false)
            && value.as_object().is_none_or(|it| !it.is_empty())
    };
    let rest = data.into_iter().filter(|(key, value)| key != "type" && says(value));
    Some(rest.collect::<JsonObject>()).filter(|rest| !rest.is_empty())
}

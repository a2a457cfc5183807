use std::collections::HashSet;

use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::write::{
    AS_GIVEN, CALL_SIGNATURES, EMPTY_LIST, INVALID_CALLS, INVALID_MARK, ROLE_MARK, file_of_library,
    role_of_chat,
};
use super::{NAME, blocks, reasoning};
use crate::DropReason;
use crate::canonical::{Role, is_empty_value, take_list, take_object};
use crate::dialect::parsed::{self, EventIds, Parsed, as_object, keep_own, set_extra, take_text};
use crate::dialect::thinking;

pub(super) fn parse(messages: Vec<Value>) -> Parsed {
    let mut ids = EventIds::default();
    let answered: HashSet<String> = messages.iter().filter_map(answered_call).collect();
    Parsed::from_transcript(Vec::new(), messages, |message| {
        read(message, &mut ids, &answered).map(Some)
    })
}

/// Returns the call whose result a message is.
fn answered_call(message: &Value) -> Option<String> {
    let data = message.get("data").unwrap_or(message);
    data.get("tool_call_id")?.as_str().map(str::to_owned)
}

/// Reads a message: its fields are in `data`, or beside the role.
fn read(
    message: Value,
    ids: &mut EventIds,
    answered: &HashSet<String>,
) -> Result<NewMessage, DropReason> {
    let mut object = as_object(message)?;
    let mut kind = take_text(&mut object, "type");
    let mut data = if let Some(Value::Object(data)) = object.remove("data") {
        data
    } else {
        if kind.as_deref() != Some("chat") {
            kind = take_text(&mut object, "role").or(kind);
        }
        object
    };
    let kind = kind.ok_or(DropReason::MissingRole)?;
    let event_id = ids.take(&mut data, "id");
    let mut message = match kind.as_str() {
        "tool" => read_result(&mut data),
        _ => read_other(&kind, &mut data, answered)?.into(),
    };
    message.event_id = event_id;
    data.retain(|field, value| field != "type" && !is_default(value));
    let parts = message.body.content.as_array().into_iter().flatten();
    if parts.into_iter().any(|part| file_of_library(part).is_some()) {
        data.insert(AS_GIVEN.to_owned(), true.into());
    }
    keep_own(&mut message.body, NAME, data);
    Ok(message)
}

fn read_other(
    kind: &str,
    data: &mut Map<String, Value>,
    answered: &HashSet<String>,
) -> Result<MessageBody, DropReason> {
    let mut kwargs = take_object(data, "additional_kwargs");
    let name = take_text(data, "name");
    let mut body =
        MessageBody::new("", name.as_deref(), data.remove("content").unwrap_or_default());
    body.role = match kind {
        "human" | "user" => "user".to_owned(),
        "ai" | "assistant" => "assistant".to_owned(),
        "system" => take_text(&mut kwargs, ROLE_MARK).unwrap_or_else(|| kind.to_owned()),
        "chat" => read_chat_role(&mut body.name, data)?,
        "developer" | "function" => kind.to_owned(),
        other => return Err(DropReason::unsupported_role(other)),
    };
    let is_empty_list = body.content == json!([]);
    if body.role == "assistant" {
        read_answer(&mut body, data, &mut kwargs, answered);
    } else {
        keep_blocks(data, blocks::take(&mut body.content, &[], None).blocks);
    }
    if !kwargs.is_empty() {
        data.insert("additional_kwargs".to_owned(), kwargs.into());
    }
    if is_empty_list {
        // A message that says nothing else is one with an empty text, so that it stays with what it has besides.
        body.content = if body.extra.is_empty() { "".into() } else { Value::Null };
        data.insert(EMPTY_LIST.to_owned(), true.into());
    }
    Ok(body)
}

/// Returns the role of a message with any role. One that no other format has names the speaker; it stays in the data.
fn read_chat_role(
    name: &mut Option<String>,
    data: &mut Map<String, Value>,
) -> Result<String, DropReason> {
    let given = data.get("role").and_then(Value::as_str).filter(|role| !role.is_empty());
    let given = given.ok_or(DropReason::MissingRole)?;
    let role = role_of_chat(given);
    if role == Role::Assistant && !["ai", "assistant"].contains(&given) {
        name.get_or_insert_with(|| given.to_owned());
    }
    Ok(role.as_str().to_owned())
}

fn read_answer(
    body: &mut MessageBody,
    data: &mut Map<String, Value>,
    kwargs: &mut Map<String, Value>,
    answered: &HashSet<String>,
) {
    let content = &body.content;
    let read = |call: Value| match blocks::custom_input(content, &call) {
        Some(input) => read_custom_call(&call, input),
        None => read_call(call),
    };
    let mut calls: Vec<_> = take_list(data, "tool_calls").into_iter().map(read).collect();
    sign_calls(&mut calls, kwargs);
    let invalid = take_list(data, INVALID_CALLS).into_iter();
    let read = |call: Value| {
        let is_answered = call["id"].as_str().is_some_and(|id| answered.contains(id));
        read_invalid_call(&call).filter(|_| is_answered).ok_or(call)
    };
    let (read, unread): (Vec<_>, Vec<_>) = invalid.map(read).partition(Result::is_ok);
    calls.extend(read.into_iter().filter_map(Result::ok));
    let unread: Vec<Value> = unread.into_iter().filter_map(Result::err).collect();
    if !unread.is_empty() {
        data.insert(INVALID_CALLS.to_owned(), unread.into());
    }
    set_extra(body, "refusal", take_text(kwargs, "refusal"));
    let said = kwargs.shift_remove("reasoning_content");
    let metadata = data.get("response_metadata").unwrap_or(&Value::Null);
    let reader = reasoning::Reader::new(metadata, said.clone().unwrap_or_default());
    let taken = blocks::take(&mut body.content, &calls, Some(&reader));
    let said = said.unwrap_or_else(|| thinking::into_stored(taken.reasoning));
    set_extra(body, "reasoning_content", said);
    keep_blocks(data, taken.blocks);
    if calls.is_empty() {
        set_extra(body, "function_call", kwargs.shift_remove("function_call"));
    }
    set_extra(body, "tool_calls", calls);
}

/// Keeps the blocks that were taken from a content in the data of its message.
fn keep_blocks(data: &mut Map<String, Value>, blocks: Vec<Value>) {
    if !blocks.is_empty() {
        data.insert("blocks".to_owned(), blocks.into());
    }
}

fn read_result(data: &mut Map<String, Value>) -> NewMessage {
    let call_id = take_text(data, "tool_call_id").unwrap_or_default();
    let failed = data.remove("status").is_some_and(|status| status == "error");
    let mut content = data.remove("content").unwrap_or_default();
    keep_blocks(data, blocks::take(&mut content, &[], None).blocks);
    let mut message = parsed::stored_result(&call_id, content, failed);
    // It stays in the data as well: it is that of the tool, which other sources of results do not mean by their names.
    message.body.name = data.get("name").and_then(Value::as_str).map(str::to_owned);
    message
}

/// Reads a call; one in the format of `OpenAI` stays as it is.
fn read_call(call: Value) -> Value {
    if call.get("args").is_none() {
        return call;
    }
    let text = |field: &str| call[field].as_str().unwrap_or_default();
    parsed::stored_call(text("id"), text("name"), &call["args"])
}

/// Gives each call the signature that Gemini gave it, which the library keeps apart.
fn sign_calls(calls: &mut [Value], kwargs: &mut Map<String, Value>) {
    let mut signatures = take_object(kwargs, CALL_SIGNATURES);
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if let Some(signature) = signatures.get(id).filter(|it| it.is_string()) {
            call["extra_content"] = json!({"google": {"thought_signature": signature}});
            signatures.shift_remove(call["id"].as_str().unwrap_or_default());
        }
    }
    if !signatures.is_empty() {
        kwargs.insert(CALL_SIGNATURES.to_owned(), signatures.into());
    }
}

/// Reads a call of a custom tool of `OpenAI`, whose input is any text.
fn read_custom_call(call: &Value, input: &str) -> Value {
    let target = json!({"name": call["name"], "input": input});
    json!({"id": call["id"], "type": "custom", "custom": target})
}

/// Reads a call whose arguments the library could not parse, and whose result says what was wrong. One without a result
/// is no call that a provider would be sent.
fn read_invalid_call(call: &Value) -> Option<Value> {
    let text = |field: &str| call[field].as_str();
    let function = json!({"name": text("name")?, "arguments": text("args")?});
    let mark = json!({NAME: {INVALID_MARK: call}});
    let id = text("id").filter(|id| !id.is_empty())?;
    Some(json!({"id": id, "type": "function", "function": function, "extra_content": mark}))
}

/// Returns whether a value is what the library writes for a field that is not set.
fn is_default(value: &Value) -> bool {
    is_empty_value(value)
        || *value == Value::Bool(false)
        || value.as_object().is_some_and(Map::is_empty)
}

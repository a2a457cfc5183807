use std::collections::HashMap;

use serde_json::{Value, json};

use super::message::Message;
use super::tool::{Output, Tool};
use crate::canonical::taken;
use crate::dialect::acp::Call;
use crate::dialect::{acp, ui_message};

/// The calls of a session, by their ids.
pub(super) type Calls = HashMap<String, Known>;

/// A call that was told of.
#[derive(Debug)]
pub(super) struct Known {
    /// The number of its message.
    message: usize,
    call: Call,
}

/// Adds an update of a session; says what is wrong with one that is none.
pub(super) fn add(
    messages: &mut Vec<Message>,
    calls: &mut Calls,
    update: Value,
) -> Result<(), &'static str> {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "user_message_chunk" => said(message(messages, "user", &update), "text", update),
        "agent_message_chunk" => said(message(messages, "assistant", &update), "text", update),
        "agent_thought_chunk" => said(message(messages, "assistant", &update), "reasoning", update),
        "tool_call" | "tool_call_update" => {
            let id = update["toolCallId"].as_str().ok_or("it has no call id")?.to_owned();
            call(messages, calls, &id, &update);
        }
        _ if acp::UNSAID.contains(&kind.as_str()) => {}
        _ => return Err("its kind is not known"),
    }
    Ok(())
}

/// Returns the message that an update is part of, which begins with it if there is none.
fn message<'a>(
    messages: &'a mut Vec<Message>,
    role: &'static str,
    update: &Value,
) -> &'a mut Message {
    let id = update["messageId"].as_str().or_else(|| update["_meta"]["messageId"].as_str());
    let is_same = |last: &Message| last.role == role && id.is_none_or(|id| last.id == id);
    if !messages.last().is_some_and(is_same) {
        messages.push(Message::new(role));
    }
    let at = messages.len() - 1;
    let message = &mut messages[at];
    if let Some(id) = id {
        id.clone_into(&mut message.id);
    }
    if let Some(name) = update["_meta"].get("name") {
        message.metadata.insert("name".to_owned(), name.clone());
    }
    message
}

fn said(message: &mut Message, kind: &'static str, mut update: Value) {
    let content = taken(&mut update, "content");
    if content["type"] == "text" {
        message.turn_to(kind);
        message.extend(kind, "", content["text"].as_str().unwrap_or_default());
        return;
    }
    message.turn_to("");
    let file = acp::media(&content).and_then(|media| ui_message::file(&media));
    message.add(file.unwrap_or_else(|| json!({"type": "data-content", "data": content})));
}

/// Brings a tool part up to date, which begins with the update if there is none.
fn call(messages: &mut Vec<Message>, calls: &mut Calls, call_id: &str, update: &Value) {
    if !calls.contains_key(call_id) {
        message(messages, "assistant", update).add_tool(Tool::new(call_id, call_id, true));
        let known = Known { message: messages.len() - 1, call: Call::default() };
        calls.insert(call_id.to_owned(), known);
    }
    let Some(Known { message, call }) = calls.get_mut(call_id) else { return };
    call.tell(update);
    let tool = messages.get_mut(*message).and_then(|message| message.tool(call_id));
    let Some(tool) = tool else { return };
    if let Some(name) = call.name() {
        name.clone_into(&mut tool.name);
    }
    if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
        tool.give_input(input.clone());
    }
    match call.has_failed() {
        Some(false) => {
            tool.end(Output::Available { value: call.output(), is_preliminary: false });
        }
        Some(true) => tool.end(Output::Failed(match call.output() {
            text @ Value::String(_) => text,
            other => other.to_string().into(),
        })),
        None => {}
    }
}

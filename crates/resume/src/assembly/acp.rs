use std::collections::HashMap;

use serde_json::{Value, json};

use super::message::PartialMessage;
use super::tool::{ToolOutput, ToolPart};
use crate::canonical::take_field;
use crate::dialect::acp::CallState;
use crate::dialect::{acp, ui_message};

/// The calls of a session, by their ids.
pub(super) type Calls = HashMap<String, SessionCall>;

/// A call of a session.
#[derive(Debug)]
pub(super) struct SessionCall {
    /// The position of the message with its tool part.
    message: usize,
    state: CallState,
}

/// Applies an update of a session, or returns what is wrong with it.
pub(super) fn apply(
    messages: &mut Vec<PartialMessage>,
    calls: &mut Calls,
    update: Value,
) -> Result<(), &'static str> {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "user_message_chunk" => add_chunk(message_for(messages, "user", &update), "text", update),
        "agent_message_chunk" => {
            add_chunk(message_for(messages, "assistant", &update), "text", update);
        }
        "agent_thought_chunk" => {
            add_chunk(message_for(messages, "assistant", &update), "reasoning", update);
        }
        "tool_call" | "tool_call_update" => {
            let id = update["toolCallId"].as_str().ok_or("the call id is missing")?.to_owned();
            apply_to_call(messages, calls, &id, &update);
        }
        _ if acp::NON_MESSAGE_UPDATES.contains(&kind.as_str()) => {}
        _ => return Err("the kind of update is unknown"),
    }
    Ok(())
}

/// Returns the message to which an update belongs; begins a new one if the last one does not match.
fn message_for<'a>(
    messages: &'a mut Vec<PartialMessage>,
    role: &'static str,
    update: &Value,
) -> &'a mut PartialMessage {
    let id = update["messageId"].as_str().or_else(|| update["_meta"]["messageId"].as_str());
    let is_same = |last: &PartialMessage| last.role == role && id.is_none_or(|id| last.id == id);
    if !messages.last().is_some_and(is_same) {
        messages.push(PartialMessage::new(role));
    }
    let at = messages.len() - 1;
    let message = &mut messages[at];
    if let Some(id) = id {
        id.clone_into(&mut message.id);
    }
    if let Some(name) = update["_meta"].get("name") {
        message.metadata["name"] = name.clone();
    }
    message
}

/// Adds the content of a chunk: text continues the open text, any other content is a separate part.
fn add_chunk(message: &mut PartialMessage, kind: &'static str, mut update: Value) {
    let content = take_field(&mut update, "content");
    if content["type"] == "text" {
        message.close_others(kind);
        message.append_text(kind, "", content["text"].as_str().unwrap_or_default());
        return;
    }
    message.close_others("");
    let file = acp::read_media(&content).and_then(|media| ui_message::write_file(&media));
    message.add(file.unwrap_or_else(|| json!({"type": "data-content", "data": content})));
}

/// Applies an update to the tool part of a call, which the first update of the call creates.
fn apply_to_call(
    messages: &mut Vec<PartialMessage>,
    calls: &mut Calls,
    call_id: &str,
    update: &Value,
) {
    if !calls.contains_key(call_id) {
        let tool = ToolPart::new(call_id, call_id, true);
        message_for(messages, "assistant", update).add_tool(tool);
        let call = SessionCall { message: messages.len() - 1, state: CallState::default() };
        calls.insert(call_id.to_owned(), call);
    }
    let Some(SessionCall { message, state }) = calls.get_mut(call_id) else { return };
    state.apply(update);
    let tool = messages.get_mut(*message).and_then(|message| message.tool(call_id));
    let Some(tool) = tool else { return };
    if let Some(name) = state.name() {
        name.clone_into(&mut tool.name);
    }
    if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
        tool.set_input(input.clone());
    }
    match state.has_failed() {
        Some(false) => {
            tool.end(ToolOutput::Available { value: state.output(), is_preliminary: false });
        }
        Some(true) => tool.end(ToolOutput::Failed(match state.output() {
            text @ Value::String(_) => text,
            other => other.to_string().into(),
        })),
        None => {}
    }
}

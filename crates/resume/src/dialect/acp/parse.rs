use std::collections::{HashMap, HashSet};
use std::mem;

use records::NewMessage;
use serde_json::Value;

use super::call::CallState;
use super::content::read_part;
use crate::DropReason;
use crate::canonical::{Reasoning, take_field};
use crate::dialect::parsed::{self, MessageBuilder, Parsed, TranscriptPosition, event_id};
use crate::dropped::shorten;

/// Parses updates; the updates of one message are neighbours.
///
/// A call becomes part of the message at its `tool_call`, with its state after all updates. Its result
/// becomes a message at the first update that ends the call.
pub(super) fn parse(updates: Vec<Value>) -> Parsed {
    let calls = final_states(&updates);
    let mut reader = Reader::default();
    let (mut begun, mut ended) = (HashSet::new(), HashSet::new());
    for (index, mut update) in updates.into_iter().enumerate() {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "user_message_chunk" => {
                reader.message_for(index, "user", &update).read_chunk(&kind, &mut update);
            }
            "agent_message_chunk" | "agent_thought_chunk" => {
                reader.message_for(index, "assistant", &update).read_chunk(&kind, &mut update);
            }
            "tool_call" => {
                let id = call_id(&update);
                begun.insert(id.to_owned());
                let call = &calls[id];
                let (name, input) = (call.name().unwrap_or_default(), call.input());
                let call = parsed::stored_call(id, name, input.unwrap_or(&Value::Null));
                reader.message_for(index, "assistant", &update).builder.calls.push(call);
            }
            // The call was begun in an earlier piece: its result is read below, and what it has shown so far is not kept.
            "tool_call_update" if !begun.contains(call_id(&update)) && !has_ended(&update) => {
                let call_id = shorten(call_id(&update));
                reader.parsed.drop(index, DropReason::OrphanResult { call_id });
            }
            "tool_call_update" => {}
            _ if update.is_object() => {
                reader.parsed.drop(index, DropReason::unsupported_role(&kind));
            }
            _ => reader.parsed.drop(index, DropReason::NotAnObject),
        }
        if is_of_call(&update)
            && has_ended(&update)
            && let Some((id, call)) = calls.get_key_value(call_id(&update))
            && ended.insert(id)
        {
            let result = parsed::stored_result(id, call.output(), call.has_failed() == Some(true));
            reader.end_message();
            reader.parsed.add(TranscriptPosition::Message(index), result);
        }
    }
    reader.end_message();
    reader.parsed
}

/// Returns the state of each call after all updates, by the id of the call.
fn final_states(updates: &[Value]) -> HashMap<String, CallState> {
    let mut calls: HashMap<String, CallState> = HashMap::new();
    for update in updates.iter().filter(|update| is_of_call(update)) {
        calls.entry(call_id(update).to_owned()).or_default().apply(update);
    }
    calls
}

fn is_of_call(update: &Value) -> bool {
    matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update"))
}

fn has_ended(update: &Value) -> bool {
    matches!(update["status"].as_str(), Some("completed" | "failed"))
}

fn call_id(update: &Value) -> &str {
    update["toolCallId"].as_str().unwrap_or_default()
}

/// Combines updates into messages.
#[derive(Default)]
struct Reader {
    parsed: Parsed,
    open: OpenMessage,
    /// The ids of all messages so far. A message that continues after a result becomes a second
    /// message, which cannot have the same id.
    ids: HashSet<String>,
}

/// The message whose updates are being read.
#[derive(Default)]
struct OpenMessage {
    index: usize,
    /// Empty before the first message.
    role: &'static str,
    id: Option<String>,
    name: Option<String>,
    builder: MessageBuilder,
}

impl Reader {
    /// Returns the message to which an update belongs; begins a new one if the open one does not match.
    fn message_for(
        &mut self,
        index: usize,
        role: &'static str,
        update: &Value,
    ) -> &mut OpenMessage {
        let id = update["messageId"].as_str().or_else(|| update["_meta"]["messageId"].as_str());
        let is_same = id.is_none() || id == self.open.id.as_deref();
        if self.open.role != role || !is_same {
            self.end_message();
            let id = id.map(str::to_owned);
            let name = update["_meta"]["name"].as_str().map(str::to_owned);
            let builder = MessageBuilder::default();
            self.open = OpenMessage { index, role, id, name, builder };
        }
        &mut self.open
    }

    fn end_message(&mut self) {
        let OpenMessage { index, role, id, name, builder } = mem::take(&mut self.open);
        if role.is_empty() {
            return;
        }
        let id = id.filter(|id| self.ids.insert(id.clone()));
        let body = builder.into_body(role, name.as_deref());
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        self.parsed.add(TranscriptPosition::Message(index), message);
    }
}

impl OpenMessage {
    fn read_chunk(&mut self, kind: &str, update: &mut Value) {
        let content = take_field(update, "content");
        if kind == "agent_thought_chunk" {
            let text = content["text"].as_str().unwrap_or_default().to_owned();
            self.builder.push_reasoning(Reasoning::Text { text, signature: None });
        } else {
            self.builder.parts.push(read_part(content));
        }
    }
}

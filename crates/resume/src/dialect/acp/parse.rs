use std::collections::{HashMap, HashSet};
use std::mem;

use records::{MessageBody, NewMessage};
use serde_json::{Value, json};

use super::NAME;
use super::call::CallState;
use super::content::read_part;
use super::own::{self, OwnFields, is_plan};
use super::write;
use crate::DropReason;
use crate::canonical::{CanonicalMessage, ContinuedMark, Reasoning, Role, take_field};
use crate::dialect::parsed::{self, MessageBuilder, Parsed, TranscriptPosition, event_id};
use crate::dropped::shorten;
use crate::rendered::Origin;

/// Parses updates; the updates of one message are neighbours.
///
/// A call becomes part of the message at its `tool_call`, with its state after all updates. Its result
/// becomes a message at the first update that ends the call.
pub(super) fn parse(updates: Vec<Value>) -> Parsed {
    let calls = final_states(&updates, |_| true);
    // What the updates after the first one say; of a call that begins and ends in one, what that says.
    let changes = final_states(&updates, |update| {
        update["sessionUpdate"] == "tool_call_update" || has_ended(update)
    });
    let mut reader = Reader::default();
    let (mut begun, mut ended) = (HashSet::new(), HashSet::new());
    for (index, mut update) in updates.into_iter().enumerate() {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "user_message_chunk" => {
                reader.message_for(index, "user", &update).read_chunk(&kind, &mut update);
            }
            "agent_message_chunk" => {
                reader.message_for(index, "assistant", &update).read_chunk(&kind, &mut update);
            }
            "agent_thought_chunk" => {
                reader.message_for(index, "assistant", &update);
                reader.continue_after_content(index);
                reader.open.read_chunk(&kind, &mut update);
            }
            "tool_call" => {
                let id = call_id(&update);
                begun.insert(id.to_owned());
                let call = &calls[id];
                let (name, none) = (call.name().unwrap_or_default(), json!({}));
                let input = call.input().unwrap_or(&none);
                let mut own = own_of_call(&update, name, input);
                let call = parsed::stored_call(id, name, input);
                let has_id = update["_meta"]["messageId"].is_string();
                let message = reader.message_for(index, "assistant", &update);
                if !has_id && message.id.is_some() {
                    own::mark_without_id(&mut own);
                }
                message.builder.calls.push(call);
                message.own.calls.push(own);
            }
            // The first update that ends a call is read below.
            "tool_call_update" if !has_ended(&update) => {
                let call_id = shorten(call_id(&update));
                reader.parsed.drop(index, DropReason::IntermediateState { call_id });
            }
            "tool_call_update" => {}
            _ if is_plan(&update) => reader.add_plan(index, mem::take(&mut update)),
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
            let has_failed = call.has_failed() == Some(true);
            let own = own_of_end(&changes[id], call, has_failed);
            let mut result = parsed::stored_result(id, call.output(), has_failed);
            OwnFields { calls: vec![own], ..OwnFields::default() }.keep(&mut result.body);
            reader.end_message();
            reader.parsed.add(TranscriptPosition::Message(index), result);
        }
    }
    reader.end_message();
    reader.parsed
}

/// Returns the state of each call after all updates, by the id of the call.
fn final_states(updates: &[Value], counts: impl Fn(&Value) -> bool) -> HashMap<String, CallState> {
    let mut calls: HashMap<String, CallState> = HashMap::new();
    for update in updates.iter().filter(|update| is_of_call(update) && counts(update)) {
        calls.entry(call_id(update).to_owned()).or_default().apply(update);
    }
    calls
}

/// Returns the fields of the update that begins a call, but for what is written without them.
fn own_of_call(update: &Value, name: &str, input: &Value) -> Value {
    let mut given = update.as_object().cloned().unwrap_or_default();
    if has_ended(update) {
        given.retain(|field, _| !["status", "content", "rawOutput"].contains(&field.as_str()));
    }
    let written = write::write_call(call_id(update), name, input);
    own::of_call(&given, &written)
}

/// Returns the fields of the updates that end a call, but for what is written without them.
///
/// What the first update of the call has shown is written with its end, like all of the result.
fn own_of_end(changes: &CallState, call: &CallState, has_failed: bool) -> Value {
    let origin = Origin { index: 0, sequence: 0 };
    let mut result = CanonicalMessage::new(origin, Role::Tool, call.output());
    result.is_error = has_failed;
    let mut given = changes.fields().clone();
    for field in ["rawOutput", "content"] {
        if let Some(shown) = call.fields().get(field) {
            given.insert(field.to_owned(), shown.clone());
        }
    }
    own::of_call(&given, &write::write_end(&mut result))
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

/// Returns the content that a stored part is written as.
fn written(part: &Value) -> Value {
    let mut message =
        CanonicalMessage::new(Origin { index: 0, sequence: 0 }, Role::User, Value::Null);
    let part = message.read_part(part.clone());
    write::write_content(&mut message, part)
}

/// Combines updates into messages.
#[derive(Default)]
struct Reader {
    parsed: Parsed,
    open: OpenMessage,
    /// The ids of all messages so far.
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
    /// Whether it is the rest of the message before it, which has the same id or none.
    is_rest: bool,
    builder: MessageBuilder,
    own: OwnFields,
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
            self.open = OpenMessage { index, role, id, name, ..OpenMessage::default() };
        }
        &mut self.open
    }

    /// Begins a second message if the open one has said something: the thoughts of a message are stored before its content.
    ///
    /// Not beside calls: their results belong to one message.
    fn continue_after_content(&mut self, index: usize) {
        let OpenMessage { role, id, name, builder, .. } = &self.open;
        if builder.parts.is_empty() || !builder.calls.is_empty() {
            return;
        }
        let (role, id, name) = (*role, id.clone(), name.clone());
        self.end_message();
        self.open = OpenMessage { index, role, id, name, is_rest: true, ..OpenMessage::default() };
    }

    fn end_message(&mut self) {
        let OpenMessage { index, role, id, name, is_rest, builder, mut own } =
            mem::take(&mut self.open);
        if role.is_empty() {
            return;
        }
        own.is_without_id = id.is_none();
        // A message that continues after a result is a second one, which cannot have the same id.
        let (id, continued) = match id {
            Some(id) if !self.ids.insert(id.clone()) => (None, Some(Some(id))),
            // Without ids, chunks of an answer belong to the answer before them: the first ones here, to that in the log.
            None if is_rest || (self.parsed.messages.is_empty() && role == "assistant") => {
                (None, Some(None))
            }
            id => (id, None),
        };
        own.continued = continued.map(|id| ContinuedMark::new(NAME, id));
        let mut body = builder.into_body(role, name.as_deref());
        own.keep(&mut body);
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        self.parsed.add(TranscriptPosition::Message(index), message);
    }
}

impl Reader {
    /// Adds a plan as a message that says nothing.
    fn add_plan(&mut self, index: usize, plan: Value) {
        self.end_message();
        let mut body = MessageBody::new("assistant", None, Value::Null);
        if let Value::Object(plan) = plan {
            OwnFields { plan, ..OwnFields::default() }.keep(&mut body);
        }
        self.parsed.add(TranscriptPosition::Message(index), body.into());
    }
}

impl OpenMessage {
    fn read_chunk(&mut self, kind: &str, update: &mut Value) {
        let content = take_field(update, "content");
        if kind == "agent_thought_chunk" {
            let text = content["text"].as_str().unwrap_or_default().to_owned();
            self.own.thoughts.push(own::of_chunk(
                update,
                &content,
                &json!({"type": "text", "text": text}),
            ));
            self.builder.push_reasoning(Reasoning::Text { text, signature: None });
        } else {
            let part = read_part(content.clone());
            self.own.chunks.push(own::of_chunk(update, &content, &written(&part)));
            self.builder.parts.push(part);
        }
    }
}

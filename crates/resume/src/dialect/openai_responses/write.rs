use std::collections::HashMap;
use std::mem;

use records::json::{Hasher, hex};
use serde_json::{Value, json};

use super::content::{Piece, take_pieces};
use super::items::add_stored_fields;
use super::open_call::OpenCall;
use super::reasoning::{self, PlacedItem};
use crate::canonical::{Call, CanonicalMessage, Role, are_parts, is_empty_value};
use crate::dialect::pipeline::{MessageWriter, is_word};
use crate::dialect::speaker;
use crate::rendered::Rendered;
use crate::{Options, Repair};

/// Writes the items of each message; delays calls, because their outputs decide how they are written.
#[derive(Debug)]
pub(super) struct ItemsWriter {
    default_user_name: String,
    calls: Vec<OpenCall>,
    /// The position of each call in `calls`, by its id.
    positions: HashMap<String, usize>,
    outputs: Vec<Value>,
}

impl ItemsWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            default_user_name: options.default_user_name.clone(),
            calls: Vec::new(),
            positions: HashMap::new(),
            outputs: Vec::new(),
        }
    }

    fn write_result(&mut self, message: &mut CanonicalMessage) {
        let position = self.positions.get(&message.call_id);
        if let Some(call) = position.and_then(|at| self.calls.get_mut(*at)) {
            let stored = mem::take(&mut message.provider);
            self.outputs.push(call.write_output(message, stored));
        }
    }

    /// Opens calls; each is written after the reasoning that follows the calls before it.
    fn open_calls(&mut self, calls: Vec<Call>, reasoning: Vec<PlacedItem>) {
        let mut reasoning = reasoning.into_iter().peekable();
        let last = calls.len().saturating_sub(1);
        for (at, call) in calls.into_iter().enumerate() {
            self.positions.insert(call.id.clone(), at);
            let mut open = OpenCall::new(call);
            while let Some(placed) = reasoning.next_if(|it| it.after_calls <= at || at == last) {
                open.reasoning.push(placed.item);
            }
            self.calls.push(open);
        }
    }

    /// Writes the calls and outputs of the last message.
    fn end_exchange(&mut self, rendered: &mut Rendered) {
        self.positions.clear();
        rendered.messages.extend(self.calls.drain(..).flat_map(OpenCall::into_items));
        rendered.messages.append(&mut self.outputs);
    }
}

impl MessageWriter for ItemsWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            self.write_result(&mut message);
            message.report_repairs(rendered);
            return;
        }
        self.end_exchange(rendered);
        remove_empty_content(&mut message);
        let is_text = message.content.as_array().is_none_or(|list| !are_parts(list));
        let mut pieces = take_pieces(&mut message);
        fold_name(&mut message, &mut pieces, &self.default_user_name);
        let reasoning = reasoning::take_items(&mut message);
        let (early, late): (Vec<_>, Vec<_>) =
            reasoning.into_iter().partition(|it| it.after_calls == 0 && !pieces.is_empty());
        let mut removes_any = message.calls.is_empty() && !late.is_empty();
        for PlacedItem { position, item, .. } in early.into_iter().rev() {
            // The API refuses reasoning that nothing follows.
            if message.calls.is_empty() && position >= pieces.len() {
                removes_any = true;
            } else {
                pieces.insert(position.min(pieces.len()), Piece::Item(item));
            }
        }
        if removes_any {
            message.repairs.push(Repair::ReasoningRemoved);
        }
        write_pieces(&mut message, pieces, is_text, rendered);
        message.report_repairs(rendered);
        self.open_calls(message.calls, late);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.end_exchange(rendered);
    }
}

/// Removes a content that says nothing beside calls: an item of a message needs a content.
fn remove_empty_content(message: &mut CanonicalMessage) {
    let is_empty = is_empty_value(&message.content) && message.refusal.is_none();
    if is_empty && !message.calls.is_empty() && !message.content.take().is_null() {
        message.repairs.push(Repair::EmptyContentRemoved);
    }
}

/// Puts the name of the speaker in front of the first text.
fn fold_name(message: &mut CanonicalMessage, pieces: &mut [Piece], default_user_name: &str) {
    let first_text = pieces.iter_mut().find_map(|piece| match piece {
        Piece::Part(part) => match part.get_mut("text") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        Piece::Item(_) => None,
    });
    speaker::prefix_text_with_name(message, first_text, default_user_name);
}

/// Writes the items of a content: its parts, and between them the items that stay as they are.
fn write_pieces(
    message: &mut CanonicalMessage,
    pieces: Vec<Piece>,
    is_text: bool,
    rendered: &mut Rendered,
) {
    let mut parts = Vec::new();
    let mut number = 0;
    for piece in pieces {
        match piece {
            Piece::Part(part) => parts.push(part),
            Piece::Item(item) => {
                if !parts.is_empty() {
                    rendered.messages.push(message_item(
                        message,
                        mem::take(&mut parts),
                        is_text,
                        number,
                    ));
                    number += 1;
                }
                rendered.messages.push(item);
            }
        }
    }
    if !parts.is_empty() {
        rendered.messages.push(message_item(message, parts, is_text, number));
    }
}

/// Creates the item of a message; `number` counts the items of messages that one content becomes.
fn message_item(
    message: &mut CanonicalMessage,
    mut parts: Vec<Value>,
    is_text: bool,
    number: usize,
) -> Value {
    let stored = mem::take(&mut message.provider);
    let is_answer = message.role == Role::Assistant;
    let own_id = stored.get("id").filter(|id| is_answer && id.is_string());
    let own_id = own_id.cloned().or_else(|| own_event_id(message).filter(|_| number == 0));
    let may_be_text = if is_answer { own_id.is_none() } else { is_text };
    let mut item = json!({"role": if is_answer { "assistant" } else { message.role.as_str() }});
    if stored.get("type").is_some_and(|kind| kind == "message") {
        item["type"] = "message".into();
    }
    if may_be_text
        && let [part] = &mut parts[..]
        && is_plain_text(part)
    {
        item["content"] = part["text"].take();
        add_stored_fields(&mut item, stored);
        return item;
    }
    item["content"] = parts.into();
    add_stored_fields(&mut item, stored);
    if is_answer {
        item["type"] = "message".into();
        item["id"] = own_id.unwrap_or_else(|| new_id(message, number).into());
        if item.get("status").is_none() {
            item["status"] = "completed".into();
        }
    }
    item
}

/// Returns whether a content part has nothing but a text.
fn is_plain_text(part: &Value) -> bool {
    let fields = part.as_object().into_iter().flatten();
    let mut others = fields.filter(|(field, _)| *field != "type" && *field != "text");
    part["text"].is_string() && others.all(|(_, value)| is_empty_value(value))
}

/// The length of the longest id that the API accepts, in characters.
const MAX_ID_CHARS: usize = 64;

/// Returns the event id of an answer, if the API gave it.
fn own_event_id(message: &CanonicalMessage) -> Option<Value> {
    let id = &message.event_id;
    let is_own = id.starts_with("msg_") && id.len() <= MAX_ID_CHARS && id.chars().all(is_word);
    (is_own && message.role == Role::Assistant).then(|| id.as_str().into())
}

fn new_id(message: &CanonicalMessage, number: usize) -> String {
    let id = format!("msg_{}", message.event_id);
    if number == 0 && id.len() <= MAX_ID_CHARS && id.chars().all(is_word) {
        return id;
    }
    let mut hasher = Hasher::default();
    hasher.field("id", &id.into());
    hasher.field("number", &number.into());
    format!("msg_{}", hex(&hasher.finish()))
}

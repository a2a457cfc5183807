use std::collections::VecDeque;
use std::mem;

use records::MessageBody;
use serde_json::{Value, json};

use super::block::{is_kept, read_call, read_part, write_call, write_piece};
use super::own::OwnEntry;
use crate::Repair;
use crate::canonical::{CanonicalMessage, PlacedReasoning, Reasoning, interleave};
use crate::dialect::call_places;
use crate::dialect::parsed::{MessageBuilder, add_missing, set_extra, text_part};
use crate::dialect::pieces::take_pieces;

/// The field of a block of reasoning that holds the whole block, because it says nothing to any other format.
const WHOLE: &str = "whole";

/// The content of an answer while its entries are read.
#[derive(Default)]
pub(super) struct ReadAnswer(MessageBuilder);

impl ReadAnswer {
    /// Reads the content of an entry; its own fields are added to the entry.
    pub(super) fn read_content(&mut self, content: Value, own: &mut OwnEntry) {
        match content {
            Value::Array(blocks) => {
                own.blocks.extend(blocks.into_iter().map(|block| self.read_block(block)));
            }
            text => {
                self.0.parts.push(text_part(text));
                own.is_text = true;
                own.blocks.push(json!({"type": "text"}));
            }
        }
    }

    /// Reads a block, and returns the fields that only this format has.
    fn read_block(&mut self, block: Value) -> Value {
        if is_reasoning(&block) {
            return self.read_reasoning(block);
        }
        match block {
            Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "tool_use") => {
                let (call, own) = read_call(fields);
                self.0.calls.push(call);
                own
            }
            other => {
                let (part, own) = read_part(other);
                self.0.parts.push(part);
                own
            }
        }
    }

    fn read_reasoning(&mut self, mut block: Value) -> Value {
        let Some(reasoning) = Reasoning::read(&block).filter(|read| !read.is_empty()) else {
            return json!({"type": block["type"], WHOLE: block});
        };
        let written = Value::from(reasoning.clone());
        self.0.push_reasoning(reasoning);
        if let Some(fields) = block.as_object_mut() {
            fields.retain(|field, _| field == "type" || written.get(field).is_none());
        }
        block
    }

    /// Returns the message body to store; its content stays a list.
    pub(super) fn into_body(self) -> MessageBody {
        let MessageBuilder { parts, calls, reasoning } = self.0;
        let content = if parts.is_empty() { Value::Null } else { parts.into() };
        let mut body = MessageBody::new("assistant", None, content);
        set_extra(&mut body, "tool_calls", calls);
        set_extra(&mut body, "reasoning_content", PlacedReasoning::into_stored(reasoning));
        body
    }
}

pub(super) fn is_reasoning(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// Writes an answer of another format, or one that no longer is what was stored, as the blocks of one entry.
pub(super) fn write_anew(message: &mut CanonicalMessage, default_user_name: &str) -> Vec<Value> {
    let places = call_places::take(message);
    let mut reasoning = message.take_placed_reasoning().unwrap_or_default();
    let count = reasoning.len();
    reasoning.retain(|placed| placed.reasoning.is_signed());
    if reasoning.len() < count {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    let mut pieces = Vec::new();
    let mut has_blank = false;
    for (at, piece) in take_pieces(message, |_| false, default_user_name).into_iter().enumerate() {
        if piece.is_blank() {
            has_blank = true;
            for placed in reasoning.iter_mut().filter(|placed| placed.position > at) {
                placed.position -= 1;
            }
        } else {
            pieces.push(piece);
        }
    }
    if has_blank {
        message.repairs.push(Repair::BlankTextRemoved);
    }
    let parts = pieces.into_iter().map(|piece| write_piece(message, piece, Value::Null)).collect();
    let blocks = interleave(reasoning, parts, Value::from);
    let calls = message.calls.iter_mut().map(|call| write_call(call, Value::Null)).collect();
    call_places::place(blocks, calls, &places)
}

/// Writes an answer as the blocks of the entry that it had; `None` if it has other blocks now.
pub(super) fn write_again(
    message: &mut CanonicalMessage,
    entry: &mut OwnEntry,
) -> Option<Vec<Value>> {
    let count = |queue| entry.blocks.iter().filter(|block| Queue::of(block) == queue).count();
    let reasoning = message.read_reasoning()?;
    let parts = message.content.as_array().map_or(0, Vec::len);
    let is_same = reasoning.len() == count(Queue::Reasoning)
        && parts == count(Queue::Part)
        && message.calls.len() == count(Queue::Call)
        && message.name.is_none()
        && message.refusal.is_none();
    if !is_same || !message.content.is_null() && !message.content.is_array() {
        return None;
    }
    message.reasoning = Value::Null;
    let mut reasoning: VecDeque<_> = reasoning.into_iter().map(|it| it.reasoning).collect();
    let mut pieces = VecDeque::from(take_pieces(message, is_kept, ""));
    let mut calls = VecDeque::from(mem::take(&mut message.calls));
    let mut blocks = Vec::with_capacity(entry.blocks.len());
    for mut own in mem::take(&mut entry.blocks) {
        blocks.push(match Queue::of(&own) {
            Queue::None => own[WHOLE].take(),
            Queue::Reasoning => write_reasoning(reasoning.pop_front()?, own),
            Queue::Part => write_piece(message, pieces.pop_front()?, own),
            Queue::Call => {
                let mut call = calls.pop_front()?;
                let block = write_call(&mut call, own);
                message.repairs.append(&mut call.repairs);
                block
            }
        });
    }
    Some(blocks)
}

fn write_reasoning(reasoning: Reasoning, own: Value) -> Value {
    let mut block = Value::from(reasoning);
    if let Value::Object(own) = own
        && own.get("type") == block.get("type")
    {
        add_missing(&mut block, own);
    }
    block
}

/// Where the writer finds what the own fields of a block leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// Nowhere: the own fields are the block.
    None,
    Reasoning,
    Part,
    Call,
}

impl Queue {
    fn of(own: &Value) -> Self {
        let whole = &own[WHOLE];
        let is_text = whole["type"] == "thinking" && whole["thinking"].is_string();
        let is_whole = is_reasoning(own) && (is_text || whole["type"] == "redacted_thinking");
        match own["type"].as_str() {
            _ if is_whole => Self::None,
            Some("thinking" | "redacted_thinking") => Self::Reasoning,
            Some("tool_use") => Self::Call,
            _ => Self::Part,
        }
    }
}

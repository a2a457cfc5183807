use std::collections::VecDeque;

use serde_json::{Value, json};

use super::own::{LeftPart, PartKind};
use super::{fields, media};
use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, ContentPart, Reasoning};
use crate::dialect::base64_text::is_base64;
use crate::dialect::gemini::SIGNATURE;
use crate::dialect::pieces::{Piece, take_unnamed_pieces};
use crate::dialect::shapes::{Table, fits};

/// Takes the reasoning, the content and the calls of a message as parts.
///
/// They are in the stored order, with what is left of them, if the message still has as many of each as
/// were stored. Otherwise, reasoning is first, and calls are last.
pub(super) fn write_parts(
    message: &mut CanonicalMessage,
    left: Option<Vec<LeftPart>>,
) -> Vec<Value> {
    let left = left.unwrap_or_default();
    let thoughts = write_thoughts(message);
    let content = write_content(message, &left);
    let calls = message.calls.iter_mut().map(write_call).collect();
    let mut queues = [thoughts, content, calls];
    let fits = [0, 1, 2].map(|queue| queues[queue].len() == count(&left, queue));
    let mut parts = Vec::new();
    if !fits[0] {
        parts.extend(std::mem::take(&mut queues[0]));
    }
    let mut loses_any = false;
    for left in left {
        let part = match left.kind.queue() {
            Some(queue) if fits[queue] => queues[queue].pop_front(),
            Some(_) => {
                loses_any |= !left.is_empty();
                None
            }
            None => Some(json!({})),
        };
        parts.extend(part.map(|part| with_left(part, &left)).filter(|part| *part != json!({})));
    }
    if loses_any {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    parts.extend(queues.into_iter().flatten());
    parts
}

/// Returns how many parts were stored for a queue.
fn count(left: &[LeftPart], queue: usize) -> usize {
    left.iter().filter(|part| part.kind.queue() == Some(queue)).count()
}

fn with_left(mut part: Value, left: &LeftPart) -> Value {
    left.add_to(&mut part);
    if let Some(call) = part.get_mut("functionCall") {
        if let Some(Value::Bool(flag)) = left.payload.get("willContinue") {
            call["willContinue"] = (*flag).into();
        }
        if let Some(call) = call.as_object_mut()
            && left.kind == PartKind::BareCall
            && call.get("args") == Some(&json!({}))
        {
            call.shift_remove("args");
        }
    }
    part
}

/// Takes the content; blank texts are removed, unless they were stored as parts.
fn write_content(message: &mut CanonicalMessage, left: &[LeftPart]) -> VecDeque<Value> {
    let pieces = take_unnamed_pieces(message, is_kept);
    let fits = pieces.len() == count(left, 1);
    let mut left = left.iter().filter(|part| fits && part.kind == PartKind::Content);
    let mut parts = VecDeque::with_capacity(pieces.len());
    for piece in pieces {
        let payload = left.next().map(|part| Value::from(part.payload.clone()));
        let part = write_piece(message, piece, &payload.unwrap_or_default());
        if fits || part["text"].as_str().is_none_or(|text| !text.trim().is_empty()) {
            parts.push_back(part);
        } else {
            message.repairs.push(Repair::BlankTextRemoved);
        }
    }
    parts
}

fn write_piece(message: &mut CanonicalMessage, piece: Piece, payload: &Value) -> Value {
    let part = match piece {
        Piece::Kept(part) => return write_kept(part),
        Piece::Content(part) => part,
    };
    if let ContentPart::Media(media) = &part
        && let Some(written) = media::write(media, payload)
    {
        return written;
    }
    json!({"text": message.part_text(part)})
}

/// Takes the reasoning; the signatures of other providers mean nothing here.
fn write_thoughts(message: &mut CanonicalMessage) -> VecDeque<Value> {
    let blocks = message.take_placed_reasoning();
    let mut is_whole = blocks.is_some();
    let mut thoughts = VecDeque::new();
    for placed in blocks.unwrap_or_default() {
        is_whole &= !placed.reasoning.is_signed();
        if let Reasoning::Text { text, .. } = placed.reasoning
            && !text.is_empty()
        {
            thoughts.push_back(json!({"text": text, "thought": true}));
        }
    }
    if !is_whole {
        message.repairs.push(Repair::ReasoningRemoved);
    }
    thoughts
}

fn write_call(call: &mut Call) -> Value {
    let arguments = call.take_arguments();
    let mut part =
        json!({"functionCall": {"id": call.id, "name": call.target.name, "args": arguments}});
    match call.signature.take() {
        Some(signature) if is_base64(&signature) => {
            part[SIGNATURE] = signature.into();
        }
        Some(_) => call.repairs.push(Repair::CallFieldsRemoved),
        None => {}
    }
    part
}

/// Returns whether a content part is a part that only `gemini` has, too. There it may be signed.
fn is_kept(part: &Value) -> bool {
    let kept = fields::KEPT.into_iter().find(|(field, _)| part["type"] == *field);
    let is_payload = |(field, table): (&str, Table)| {
        part[field].as_object().is_some_and(|payload| fits(payload, table))
    };
    let is_signed = part[SIGNATURE].as_str().is_some_and(is_base64);
    let fields = 2 + usize::from(is_signed);
    kept.is_some_and(is_payload) && part.as_object().is_some_and(|part| part.len() == fields)
}

/// Returns the part for a content part that stays as it is: its payload, without the type.
fn write_kept(mut part: Value) -> Value {
    if let Some(part) = part.as_object_mut() {
        part.shift_remove("type");
    }
    part
}

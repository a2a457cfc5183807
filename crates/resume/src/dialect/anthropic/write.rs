use std::collections::HashSet;
use std::mem;

use records::JsonObject;
use serde_json::{Value, json};

use super::{rules, server_tools};
use crate::canonical::anthropic::write_block;
use crate::canonical::{CanonicalMessage, ContentPart, PlacedReasoning, Role, interleave};
use crate::dialect::parsed::add_missing;
use crate::dialect::pieces::{
    Piece, prefix_with_name, remove_blank, take_own_fields, take_pieces_at,
};
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::turns::{Neighbours, Turn, TurnKind, TurnMerger};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes messages turn by turn.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    turns: TurnMerger,
    default_user_name: String,
}

impl MessagesWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            turns: TurnMerger::new("content", text_block, neighbours, rules::ANTHROPIC.turns),
            default_user_name: options.default_user_name.clone(),
        }
    }
}

/// Reasoning stays in the turn in which the model produced it.
///
/// The API joins neighbouring messages, and refuses signed blocks of another response, or blocks that
/// come after text of another message.
fn neighbours(_open: &Turn, next: &Turn) -> Neighbours {
    let has_reasoning = next.blocks.iter().any(is_reasoning);
    if has_reasoning { Neighbours::Separated } else { Neighbours::Joined }
}

fn is_reasoning(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let (origin, block) = (message.origin, write_result(&mut message));
            message.report_repairs(rendered);
            let turn = Turn { origin, role: "user", kind: TurnKind::Results, blocks: vec![block] };
            self.turns.add(turn, rendered);
            return;
        }
        let blocks = write_speech(&mut message, &self.default_user_name);
        if blocks.iter().all(is_reasoning) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let role = match message.role {
            Role::System | Role::Developer => {
                if self.turns.observe_instruction(message.origin) {
                    message.repairs.push(Repair::InstructionHoisted);
                }
                message.report_repairs(rendered);
                rendered.system.extend(blocks);
                return;
            }
            Role::Assistant => "assistant",
            _ => "user",
        };
        message.report_repairs(rendered);
        let turn = Turn { origin: message.origin, role, kind: TurnKind::Speech, blocks };
        self.turns.add(turn, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.turns.finish(rendered);
    }
}

fn write_speech(message: &mut CanonicalMessage, default_user_name: &str) -> Vec<Value> {
    let mut reasoning = message.take_placed_reasoning().unwrap_or_default();
    let own = take_own_fields(message, is_of_document);
    let pieces = take_blocks(message);
    // Positions count the stored parts.
    for placed in &mut reasoning {
        let before = pieces.iter().take(placed.position);
        placed.position = before.filter(|piece| !piece.is_blank()).count();
    }
    let (mut pieces, own) = remove_blank(message, pieces, own, |_| false);
    prefix_with_name(message, &mut pieces, default_user_name);
    remove_last_reasoning(message, &mut reasoning, pieces.len());
    let pieces = pieces.into_iter().zip(own);
    let parts = pieces.map(|(piece, own)| write_piece(message, piece, own)).collect();
    let mut blocks = interleave(reasoning, parts, Value::from);
    for call in &mut message.calls {
        let input = call.take_arguments();
        let (id, name) = (&call.id, &call.target.name);
        let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        for (field, value) in mem::take(&mut call.anthropic_fields) {
            block[field] = value;
        }
        blocks.push(block);
    }
    blocks
}

/// Takes the content; what a tool of the server wrote stays as it is.
fn take_blocks(message: &mut CanonicalMessage) -> Vec<Piece> {
    let answered = message.content.as_array().filter(|_| message.role == Role::Assistant);
    let kept: HashSet<_> = answered.map_or_else(HashSet::new, |parts| {
        let cited = parts.iter().enumerate().filter(|(_, part)| is_cited(part));
        cited.map(|(at, _)| at).chain(server_tools::paired(parts)).collect()
    });
    take_pieces_at(message, |at, _| kept.contains(&at))
}

/// Returns whether a part is a text with what it cites, which the API accepts again.
fn is_cited(part: &Value) -> bool {
    let is_plain = |(field, value): (&String, &Value)| match field.as_str() {
        "type" => value == "text",
        "text" => value.as_str().is_some_and(|text| !text.trim().is_empty()),
        "citations" => value.as_array().is_some_and(|list| list.iter().all(Value::is_object)),
        _ => false,
    };
    let fields = part.as_object().filter(|part| part.contains_key("citations"));
    fields.is_some_and(|part| part.iter().all(is_plain) && part.len() == 3)
}

/// Returns whether a field of a part is one that only a document has: whether it may be cited, and what it is about.
fn is_of_document(part: &Value, field: &str, value: &Value) -> bool {
    let is_flag = |value: &Value| {
        value.as_object().is_some_and(|it| it.len() == 1) && value["enabled"].is_boolean()
    };
    match field {
        "citations" => part["type"] == "file" && is_flag(value),
        "context" => part["type"] == "file" && value.as_str().is_some_and(|it| !it.is_empty()),
        _ => false,
    }
}

fn write_piece(message: &mut CanonicalMessage, piece: Piece, own: JsonObject) -> Value {
    let mut block = match piece {
        Piece::Kept(block) => return block,
        Piece::Content(part) => write_part(message, part),
    };
    if !own.is_empty() {
        if block["type"] == "document" {
            add_missing(&mut block, own);
        } else {
            message.repairs.push(Repair::PartFieldsRemoved);
        }
    }
    block
}

/// Removes reasoning after the last text if no call follows it.
///
/// The API refuses a message that ends with reasoning: tailcallhq/forgecode#2107.
fn remove_last_reasoning(
    message: &mut CanonicalMessage,
    reasoning: &mut Vec<PlacedReasoning>,
    part_count: usize,
) {
    let count = reasoning.len();
    if message.calls.is_empty() && part_count > 0 {
        reasoning.retain(|placed| placed.position < part_count);
    }
    if reasoning.len() < count {
        message.repairs.push(Repair::ReasoningRemoved);
    }
}

fn write_part(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let media = match part {
        ContentPart::Text(text) => return text_block(&text),
        ContentPart::Media(media) => media,
    };
    write_block(&media).unwrap_or_else(|| {
        message.repairs.push(Repair::PartSerialised);
        text_block(&Value::from(media).to_string())
    })
}

fn write_result(message: &mut CanonicalMessage) -> Value {
    let mut parts = message.take_parts();
    if parts.len() > 1 {
        message.remove_blank_texts(&mut parts);
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": message.call_id});
    match &parts[..] {
        [] => {}
        [ContentPart::Text(text)] => block["content"] = text.as_str().into(),
        _ => block["content"] = parts.into_iter().map(|part| write_part(message, part)).collect(),
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

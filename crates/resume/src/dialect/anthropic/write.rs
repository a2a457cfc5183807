use std::collections::HashSet;
use std::{iter, mem};

use records::JsonObject;
use serde_json::{Value, json};

use super::server_tools::{self, OpenServerCalls, Surroundings};
use super::{rules, user_blocks};
use crate::canonical::anthropic::write_block;
use crate::canonical::{
    Call, CanonicalMessage, ContentPart, PlacedReasoning, Role, are_parts, interleave,
};
use crate::dialect::call_places;
use crate::dialect::parsed::add_missing;
use crate::dialect::pieces::{
    Piece, prefix_with_name, remove_blank, take_own_fields, take_pieces_at,
};
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::turns::{Neighbours, Turn, TurnMerger};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes messages turn by turn.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    turns: TurnMerger,
    default_user_name: String,
    /// The calls of tools of the server whose results come in a later message.
    server_calls: OpenServerCalls,
    /// A message that ends with such a call, until it is known what follows.
    paused: Option<CanonicalMessage>,
}

impl MessagesWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            turns: TurnMerger::new("content", text_block, neighbours, rules::ANTHROPIC.turns),
            default_user_name: options.default_user_name.clone(),
            server_calls: OpenServerCalls::default(),
            paused: None,
        }
    }

    /// Writes the message that was held back; `next` is the message that follows it.
    fn write_paused(&mut self, next: Option<&CanonicalMessage>, rendered: &mut Rendered) {
        let Some(paused) = self.paused.take() else { return };
        // Both become one message, unless reasoning keeps them apart.
        let continues = |next: &CanonicalMessage| {
            let id = server_tools::last_call(parts_of(&paused)).unwrap_or_default();
            next.role == Role::Assistant
                && !next.thinks()
                && server_tools::has_result(parts_of(next), id)
        };
        let stays = next.is_none_or(continues);
        if next.is_none() {
            self.turns.pause();
        }
        self.write_next(paused, stays, rendered);
    }
}

fn parts_of(message: &CanonicalMessage) -> &[Value] {
    message.content.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns whether a message ends with a call of a tool of the server, and nothing else waits for a result.
fn may_pause(message: &CanonicalMessage) -> bool {
    message.role == Role::Assistant
        && message.calls.is_empty()
        && message.refusal.is_none()
        && server_tools::last_call(parts_of(message)).is_some()
}

/// Reasoning stays in the turn in which the model produced it.
///
/// The API joins neighbouring messages, and refuses signed blocks of another response, or blocks that
/// come after text of another message.
fn neighbours(open: &Turn, next: &Turn) -> Neighbours {
    if !open.fields.is_empty() || !next.fields.is_empty() {
        return Neighbours::Apart;
    }
    let has_reasoning = next.blocks.iter().any(is_reasoning);
    if has_reasoning { Neighbours::Separated } else { Neighbours::Joined }
}

fn is_reasoning(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        self.write_paused(Some(&message), rendered);
        if may_pause(&message) {
            self.paused = Some(message);
        } else {
            self.write_next(message, false, rendered);
        }
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_paused(None, rendered);
        self.turns.finish(rendered);
    }
}

impl MessagesWriter {
    /// Writes a message; `pauses` tells whether the call of the server at its end stays.
    fn write_next(&mut self, mut message: CanonicalMessage, pauses: bool, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let (origin, block) = (message.origin, write_result(&mut message));
            message.report_repairs(rendered);
            let turn = Turn::of_results(origin, vec![block]);
            self.turns.add(turn, rendered);
            return;
        }
        let changes_tools = parts_of(&message).iter().any(user_blocks::is_tool_change);
        let fields = take_fields_of_turn(&mut message);
        let blocks = self.write_speech(&mut message, pauses);
        if blocks.iter().all(is_reasoning) && !user_blocks::is_config(&fields) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let role = match message.role {
            // A change of the tools, or of one turn, has a meaning only where it stands.
            Role::System if changes_tools || !fields.is_empty() => "system",
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
        let turn = Turn { fields, ..Turn::of_speech(&message, role, blocks) };
        self.turns.add(turn, rendered);
    }

    fn write_speech(&mut self, message: &mut CanonicalMessage, pauses: bool) -> Vec<Value> {
        let mut reasoning = message.take_placed_reasoning().unwrap_or_default();
        let places = call_places::take(message);
        let own = take_own_fields(message, is_of_media);
        let pieces = self.take_blocks(message, pauses);
        // Positions count the stored parts.
        for placed in &mut reasoning {
            let before = pieces.iter().take(placed.position);
            placed.position = before.filter(|piece| !piece.is_blank()).count();
        }
        let (mut pieces, own) = remove_blank(message, pieces, own, |_| false);
        prefix_with_name(message, &mut pieces, &self.default_user_name);
        remove_last_reasoning(message, &mut reasoning, pieces.len());
        let pieces = pieces.into_iter().zip(own);
        let parts = pieces.map(|(piece, own)| write_piece(message, piece, own)).collect();
        let blocks = interleave(reasoning, parts, Value::from);
        let calls = message.calls.iter_mut().map(write_call).collect();
        // The API refuses an answer that ends with reasoning.
        let is_behind = |after: &usize| *after >= blocks.len();
        let ends = blocks.last().is_some_and(is_reasoning) && !places.last().is_some_and(is_behind);
        call_places::place(blocks, calls, if ends { &[] } else { &places })
    }

    /// Takes the content; what only Anthropic has stays as it is.
    fn take_blocks(&mut self, message: &mut CanonicalMessage, pauses: bool) -> Vec<Piece> {
        let kept = match message.role {
            Role::Assistant => self.keep_blocks_of_model(message, pauses),
            Role::User => {
                user_blocks::clean(message);
                let parts = parts_of(message).iter().enumerate();
                parts.filter(|(_, part)| user_blocks::is_of_user(part)).map(|(at, _)| at).collect()
            }
            Role::System => {
                user_blocks::clean(message);
                let parts = parts_of(message).iter().enumerate();
                let kept = parts.filter(|(_, part)| user_blocks::is_tool_change(part));
                kept.map(|(at, _)| at).collect()
            }
            _ => HashSet::new(),
        };
        take_pieces_at(message, |at, _| kept.contains(&at))
    }

    /// Returns the positions of the parts that the model wrote as blocks of Anthropic, and removes the callers of calls that
    /// are not among them.
    fn keep_blocks_of_model(
        &mut self,
        message: &mut CanonicalMessage,
        pauses: bool,
    ) -> HashSet<usize> {
        let parts = message.content.as_array().map(Vec::as_slice).unwrap_or_default();
        let fields = message.calls.iter().filter_map(|call| call.anthropic_fields.get(CALLER));
        let callers = fields.filter_map(server_tools::caller_id).collect();
        let surroundings = Surroundings { callers, is_last: pauses };
        let kept = self.server_calls.kept(parts, &surroundings);
        let is_kept = |id: &str| {
            self.server_calls.contains(id) || kept.iter().any(|at| parts[*at]["id"] == id)
        };
        for call in &mut message.calls {
            let caller = call.anthropic_fields.get(CALLER).and_then(server_tools::caller_id);
            if caller.is_some_and(|id| !is_kept(id)) {
                call.anthropic_fields.shift_remove(CALLER);
                call.repairs.push(Repair::CallFieldsRemoved);
            }
        }
        let cited = parts.iter().enumerate().filter(|(_, part)| is_cited(part));
        cited.map(|(at, _)| at).chain(kept.iter().copied()).collect()
    }
}

/// Takes the fields of an instruction that says something of one turn.
fn take_fields_of_turn(message: &mut CanonicalMessage) -> JsonObject {
    if message.role != Role::System {
        return JsonObject::new();
    }
    let stored = mem::take(&mut message.provider);
    let count = stored.len();
    let fields: JsonObject =
        stored.into_iter().filter(|(field, value)| user_blocks::is_of_turn(field, value)).collect();
    if fields.len() < count {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    fields
}

/// The field of a call with the call of the server that makes it.
const CALLER: &str = "caller";

/// The field of an image with what is done to it.
const TRANSFORMATIONS: &str = "transformations";

fn write_call(call: &mut Call) -> Value {
    let input = call.take_arguments();
    let (id, name) = (&call.id, &call.target.name);
    let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    for (field, value) in mem::take(&mut call.anthropic_fields) {
        block[field] = value;
    }
    block
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

/// Returns whether a field of a part is one that only a document has: whether it may be cited, and what it is about; or one that
/// only an image has: what is done to it before the model sees it.
fn is_of_media(part: &Value, field: &str, value: &Value) -> bool {
    let is_flag = |value: &Value| {
        value.as_object().is_some_and(|it| it.len() == 1) && value["enabled"].is_boolean()
    };
    match field {
        "citations" => part["type"] == "file" && is_flag(value),
        TRANSFORMATIONS => part["type"] != "text" && value.is_object(),
        "context" => part["type"] == "file" && value.as_str().is_some_and(|it| !it.is_empty()),
        _ => false,
    }
}

fn write_piece(message: &mut CanonicalMessage, piece: Piece, own: JsonObject) -> Value {
    let mut block = match piece {
        Piece::Kept(block) => return block,
        Piece::Content(part) => write_part(message, part),
    };
    let is_document = block["type"] == "document";
    let fits = |field: &str| match field {
        TRANSFORMATIONS => block["type"] == "image",
        _ => is_document,
    };
    if own.keys().any(|field| !fits(field)) {
        message.repairs.push(Repair::PartFieldsRemoved);
    }
    let own = own.into_iter().filter(|(field, _)| fits(field)).collect();
    add_missing(&mut block, own);
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
    write_block(&media).unwrap_or_else(|| text_block(&message.part_text(ContentPart::Media(media))))
}

fn write_result(message: &mut CanonicalMessage) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": message.call_id});
    let is_list = message.content.as_array().is_some_and(|parts| are_parts(parts));
    if message.content == json!([]) {
        block["content"] = message.content.take();
    }
    let is_error = message.is_error;
    let mut own = take_own_fields(message, is_of_media);
    user_blocks::clean(message);
    // A failed call has only text.
    let mut pieces =
        take_pieces_at(message, |_, part| !is_error && user_blocks::is_of_result(part));
    if pieces.len() > 1 {
        (pieces, own) = remove_blank(message, pieces, own, |_| false);
    }
    match &pieces[..] {
        [] => {}
        [Piece::Content(ContentPart::Text(text))] if !is_list || text.trim().is_empty() => {
            block["content"] = text.as_str().into();
        }
        _ => {
            let own = own.into_iter().chain(iter::repeat_with(JsonObject::new));
            let write = |(piece, own)| write_piece(message, piece, own);
            block["content"] = pieces.into_iter().zip(own).map(write).collect();
        }
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    add_result_fields(&mut block, message);
    block
}

/// Adds the fields of a result that the API accepts again.
pub(in crate::dialect) fn add_result_fields(block: &mut Value, message: &mut CanonicalMessage) {
    if let Some(Value::Object(own)) = message.result_fields.get_mut("anthropic").map(Value::take) {
        add_missing(block, own);
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

use std::collections::VecDeque;
use std::mem;

use chrono::SecondsFormat;
use records::JsonObject;
use serde_json::{Value, json};

use super::answer::{write_again, write_anew};
use super::block::{is_kept, single_text, write_piece, write_result};
use super::chain::{Chain, digest, is_sidechain, is_time, uuid_from};
use super::own::{OwnEntry, OwnFields, add_fields};
use crate::canonical::{CanonicalMessage, Role, are_parts};
use crate::dialect::instructions;
use crate::dialect::pieces::take_pieces;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Options, Repair};

/// Writes entries one by one; delays the last one of the user, to which more results may belong.
#[derive(Debug)]
pub(super) struct EntriesWriter {
    default_user_name: String,
    chain: Chain,
    has_begun: bool,
    /// The session of the last entry that named one.
    session_id: Option<String>,
    /// The time of the last entry that has one.
    timestamp: Option<String>,
    open: Option<Draft>,
    /// Results that come before the messages that were between them and their calls.
    moved: VecDeque<(CanonicalMessage, OwnFields)>,
    /// The entries of the last answer that come after entries of other messages.
    delayed: VecDeque<Draft>,
}

/// An entry before it is written.
#[derive(Debug)]
struct Draft {
    origin: Origin,
    /// The id from which its UUID is made, unless it has one.
    id: String,
    /// When the message was said or stored, if its fields do not say it.
    timestamp: Option<String>,
    own: OwnEntry,
    /// Whether the own fields are those that the SDK gave the entry.
    is_own: bool,
    kind: &'static str,
    content: Value,
}

impl EntriesWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            default_user_name: options.default_user_name.clone(),
            chain: Chain::default(),
            has_begun: false,
            session_id: None,
            timestamp: None,
            open: None,
            moved: VecDeque::new(),
            delayed: VecDeque::new(),
        }
    }

    fn write_answer(
        &mut self,
        mut message: CanonicalMessage,
        mut entries: Vec<OwnEntry>,
        rendered: &mut Rendered,
    ) {
        let again = write_again(&mut message, &mut entries);
        let mut contents = match again {
            Some(contents) => contents,
            None => {
                let blocks = write_anew(&mut message, &self.default_user_name);
                if blocks.iter().all(|block| block["type"].as_str().is_none_or(is_thinking)) {
                    rendered.drop(message.origin, DropReason::BlankContent);
                    return;
                }
                entries.truncate(1);
                vec![blocks]
            }
        };
        message.report_repairs(rendered);
        if entries.is_empty() {
            let calls = contents[0].iter().any(|block| block["type"] == "tool_use");
            let draft = Draft::new(&mut message, None, "assistant", contents.remove(0).into());
            let own = OwnEntry { message: new_answer(&draft.id, calls), ..OwnEntry::default() };
            self.emit(Draft { own, ..draft }, rendered);
            return;
        }
        for (own, mut blocks) in entries.into_iter().zip(contents) {
            let content = match own.is_text.then(|| single_text(&mut blocks)).flatten() {
                Some(text) => text,
                None => blocks.into(),
            };
            let draft = Draft::new(&mut message, Some(own), "assistant", content);
            self.delayed.push_back(draft);
        }
        self.emit_due(false, rendered);
    }

    fn write_user(
        &mut self,
        mut message: CanonicalMessage,
        mut own: OwnFields,
        rendered: &mut Rendered,
    ) {
        let is_own = !own.entries.is_empty();
        let mut own_entry = own.entries.pop().unwrap_or_default();
        let own_blocks = mem::take(&mut own_entry.blocks);
        self.emit_call(&message.call_id, rendered);
        let content = if message.role == Role::Tool {
            vec![write_result(&mut message, own_blocks.into_iter().next().unwrap_or_default())]
                .into()
        } else {
            write_speech(&mut message, own_blocks, is_own, &self.default_user_name)
        };
        if content.as_array().is_some_and(Vec::is_empty) || content == "" && !is_own {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        message.report_repairs(rendered);
        if let Some(Draft { content: Value::Array(blocks), .. }) = &mut self.open
            && own.continues
            && content.is_array()
        {
            if let Value::Array(more) = content {
                blocks.extend(more);
            }
            return;
        }
        self.close(rendered);
        if message.role != Role::Tool {
            self.emit_due(true, rendered);
        }
        let own = is_own.then_some(own_entry);
        self.open = Some(Draft::new(&mut message, own, "user", content));
    }

    fn write_note(
        &mut self,
        message: &CanonicalMessage,
        note: JsonObject,
        rendered: &mut Rendered,
    ) {
        self.close(rendered);
        let note = Value::Object(note);
        if !is_note(&note) {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        let Value::Object(fields) = note else { return };
        self.push(message.origin, &message.event_id, fields, rendered);
    }

    /// Writes the open entry of the user.
    fn close(&mut self, rendered: &mut Rendered) {
        let Some(mut draft) = self.open.take() else { return };
        let order = mem::take(&mut draft.own.order);
        if let Value::Array(blocks) = &mut draft.content {
            reorder(blocks, &order);
        }
        self.emit(draft, rendered);
    }

    /// Writes the delayed entries whose turn has come, or all of them.
    fn emit_due(&mut self, all: bool, rendered: &mut Rendered) {
        while let Some(draft) = self.delayed.pop_front_if(|draft| all || draft.own.after == 0) {
            self.emit_one(draft, rendered);
        }
    }

    /// Writes the delayed entries up to the one that makes a call: its result comes next.
    fn emit_call(&mut self, call_id: &str, rendered: &mut Rendered) {
        let makes_call = |draft: &Draft| {
            let mut blocks = draft.content.as_array().into_iter().flatten();
            blocks.any(|block| block["type"] == "tool_use" && block["id"] == call_id)
        };
        while self.delayed.iter().any(makes_call) {
            self.close(rendered);
            if let Some(draft) = self.delayed.pop_front() {
                self.emit_one(draft, rendered);
            }
        }
    }

    fn emit(&mut self, draft: Draft, rendered: &mut Rendered) {
        self.emit_one(draft, rendered);
        self.count_passed(rendered);
    }

    fn count_passed(&mut self, rendered: &mut Rendered) {
        if let Some(next) = self.delayed.front_mut() {
            next.own.after = next.own.after.saturating_sub(1);
        }
        self.emit_due(false, rendered);
    }

    fn emit_one(&mut self, draft: Draft, rendered: &mut Rendered) {
        let Draft { origin, id, timestamp, own, is_own, kind, content } = draft;
        let mut message = json!({"role": kind});
        if let Some(role) = own.message.get("role").filter(|role| role.is_string()) {
            message["role"] = role.clone();
        }
        message["content"] = content;
        add_fields(&mut message, own.message);
        let mut fields = own.fields;
        fields.insert("type".to_owned(), kind.into());
        fields.entry("uuid").or_insert_with(|| uuid_from(&id).into());
        if !own.is_unlinked && !fields.contains_key("parentUuid") {
            let last = self.chain.last(is_sidechain(&fields));
            fields.insert("parentUuid".to_owned(), last);
        }
        if !is_own {
            fields.insert("isSidechain".to_owned(), false.into());
            fields.insert("userType".to_owned(), "external".into());
            let session_id = self.session_id.get_or_insert_with(|| new_session_id(&id));
            fields.insert("sessionId".to_owned(), session_id.as_str().into());
        }
        // A result that was added has no time of its own.
        let timestamp = timestamp.or_else(|| self.timestamp.clone().filter(|_| !is_own));
        if let Some(timestamp) = timestamp {
            fields.entry("timestamp").or_insert_with(|| timestamp.into());
        }
        fields.insert("message".to_owned(), message);
        self.push(origin, &id, fields, rendered);
    }

    /// Adds an entry to the rendering; its UUID is new, and its parent is an entry before it.
    fn push(&mut self, origin: Origin, id: &str, mut fields: JsonObject, rendered: &mut Rendered) {
        let uuid = fields.get("uuid").and_then(Value::as_str).unwrap_or_default();
        if self.chain.contains(uuid) {
            let seeds = (1..).map(|number| uuid_from(&format!("{id}_{number}")));
            let new = seeds.into_iter().find(|uuid| !self.chain.contains(uuid));
            fields.insert("uuid".to_owned(), new.into());
            rendered.repair(origin, Repair::FieldRemoved { field: "uuid" });
        }
        let last = self.chain.last(is_sidechain(&fields));
        if let Some(Value::String(parent)) = fields.get("parentUuid")
            && !self.chain.contains(parent)
            && !last.is_null()
        {
            fields.insert("parentUuid".to_owned(), last);
            rendered.repair(origin, Repair::FieldRemoved { field: "parentUuid" });
        }
        if let Some(Value::String(session_id)) = fields.get("sessionId") {
            self.session_id = Some(session_id.clone());
        }
        if let Some(Value::String(timestamp)) = fields.get("timestamp") {
            self.timestamp = Some(timestamp.clone());
        }
        self.chain.add(&fields);
        self.has_begun = true;
        rendered.messages.push(fields.into());
    }
}

impl MessageWriter for EntriesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        self.write_moved(message.origin.sequence, rendered);
        let own = OwnFields::take(&mut message);
        let is_moved = |repair: &Repair| matches!(repair, Repair::ResultMoved { .. });
        if !own.entries.is_empty() && message.repairs.iter().any(is_moved) {
            message.repairs.retain(|repair| !is_moved(repair));
            self.moved.push_back((message, own));
            return;
        }
        self.write_next(message, own, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_moved(u64::MAX, rendered);
        self.close(rendered);
        self.emit_due(true, rendered);
    }
}

impl EntriesWriter {
    /// Writes the results that were moved from where the SDK wrote them: a session may have them there.
    fn write_moved(&mut self, before: u64, rendered: &mut Rendered) {
        while let Some((message, own)) =
            self.moved.pop_front_if(|(message, _)| message.origin.sequence < before)
        {
            self.write_next(message, own, rendered);
        }
    }

    fn write_next(
        &mut self,
        mut message: CanonicalMessage,
        mut own: OwnFields,
        rendered: &mut Rendered,
    ) {
        if !own.note.is_empty() && message.is_note() {
            self.write_note(&message, mem::take(&mut own.note), rendered);
            self.count_passed(rendered);
            return;
        }
        if message.is_note() && own.entries.is_empty() {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        match message.role {
            Role::System | Role::Developer => {
                let has_begun = self.has_begun || self.open.is_some();
                instructions::write_apart(&mut message, has_begun, rendered);
            }
            Role::Assistant => {
                self.close(rendered);
                self.emit_due(true, rendered);
                self.write_answer(message, own.entries, rendered);
            }
            _ => self.write_user(message, own, rendered),
        }
    }
}

impl Draft {
    fn new(
        message: &mut CanonicalMessage,
        own: Option<OwnEntry>,
        kind: &'static str,
        content: Value,
    ) -> Self {
        let id = match (message.event_id.as_str(), message.call_id.as_str()) {
            ("", call_id) => format!("result_{call_id}"),
            (event_id, _) => event_id.to_owned(),
        };
        let is_own = own.is_some();
        let timestamp = message.timestamp.take().filter(|it| is_time(it));
        let stored_at =
            || message.created_at.map(|it| it.to_rfc3339_opts(SecondsFormat::Millis, true));
        let timestamp = if is_own { timestamp } else { timestamp.or_else(stored_at) };
        let own = own.unwrap_or_default();
        Self { origin: message.origin, id, timestamp, own, is_own, kind, content }
    }
}

/// Returns whether an entry may stay as it is: it is no message of the conversation.
fn is_note(entry: &Value) -> bool {
    let content = &entry["message"]["content"];
    let is_message = entry["type"] == "user" || entry["type"] == "assistant";
    let may_be_empty = content.as_array().is_some_and(Vec::is_empty);
    let blocks = content.as_array().filter(|_| entry["isSidechain"] == true);
    let has_types = blocks.is_some_and(|blocks| are_parts(blocks));
    let is_text = content.is_string() && entry["isSidechain"] == true;
    let is_readable = entry["uuid"].is_string() && (may_be_empty || has_types || is_text);
    entry["type"].is_string() && (!is_message || is_readable)
}

/// Writes what the user says: a text, or blocks.
fn write_speech(
    message: &mut CanonicalMessage,
    own: Vec<Value>,
    is_own: bool,
    default_user_name: &str,
) -> Value {
    let list = message.content.as_array().filter(|list| !list.is_empty() && are_parts(list));
    let count = list.map(Vec::len);
    let fits = is_own && count == Some(own.len());
    let keeps = if fits { is_kept } else { |_: &Value| false };
    let mut pieces = take_pieces(message, keeps, default_user_name);
    let mut own = own.into_iter().map(|own| if fits { own } else { Value::Null });
    if !is_own {
        let before = pieces.len();
        pieces.retain(|piece| !piece.is_blank());
        if pieces.len() < before {
            message.repairs.push(Repair::BlankTextRemoved);
        }
    }
    let written =
        pieces.into_iter().map(|piece| write_piece(message, piece, own.next().unwrap_or_default()));
    let mut blocks: Vec<_> = written.collect();
    let text = count.is_none().then(|| single_text(&mut blocks)).flatten();
    text.unwrap_or_else(|| blocks.into())
}

/// Returns the fields of the message of an answer that another system gave.
fn new_answer(id: &str, makes_calls: bool) -> JsonObject {
    let id = format!("msg_{}", &digest(id)[..24]);
    let reason = if makes_calls { "tool_use" } else { "end_turn" };
    let fields = json!({
        "id": id, "type": "message", "model": "<synthetic>", "stop_reason": reason,
        "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
    });
    fields.as_object().cloned().unwrap_or_default()
}

fn new_session_id(first_id: &str) -> String {
    uuid_from(&format!("session_{first_id}"))
}

fn is_thinking(kind: &str) -> bool {
    kind == "thinking" || kind == "redacted_thinking"
}

/// Puts each block where it was: `order` holds the places of all.
fn reorder(blocks: &mut [Value], order: &[usize]) {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if sorted.into_iter().eq(0..blocks.len()) {
        let mut placed: Vec<_> = order.iter().zip(blocks.iter_mut().map(Value::take)).collect();
        placed.sort_by_key(|(at, _)| **at);
        for (block, (_, value)) in blocks.iter_mut().zip(placed) {
            *block = value;
        }
    }
}

use std::collections::HashSet;
use std::mem;

use records::{JsonObject, MessageBody, NewMessage};
use serde_json::Value;

use super::answer::ReadAnswer;
use super::chain::{Chain, is_sidechain, is_time, is_uuid};
use super::own::{OwnEntry, OwnFields};
use super::user::read_user;
use crate::DropReason;
use crate::canonical::take_field;
use crate::dialect::parsed::{Parsed, TranscriptPosition, as_object, event_id};

/// Parses entries; those that one answer was written as become one message.
pub(super) fn parse(system: Vec<Value>, entries: Vec<Value>) -> Parsed {
    let is_main = |entry: &Value| {
        entry["isSidechain"] != true && (entry["type"] == "user" || entry["type"] == "assistant")
    };
    let has_main = entries.iter().any(is_main);
    let parsed = Parsed::from_system(system);
    let mut reader = Reader { parsed, has_main, ..Reader::default() };
    for (index, entry) in entries.into_iter().enumerate() {
        if let Err(reason) = reader.read(index, entry) {
            reader.parsed.drop(index, reason);
        }
    }
    reader.end_answer();
    reader.parsed
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// Whether there are messages of the main conversation; otherwise, a sub-agent speaks.
    has_main: bool,
    chain: Chain,
    /// The event ids of all messages so far: two stored messages cannot have the same one.
    ids: HashSet<String>,
    answer: Option<OpenAnswer>,
}

/// An answer that may get further entries.
struct OpenAnswer {
    id: Option<String>,
    /// The position of its message among those that were parsed.
    at: usize,
    /// How many other entries came after its last one.
    passed: usize,
    read: ReadAnswer,
    entries: Vec<OwnEntry>,
}

impl Reader {
    fn read(&mut self, index: usize, entry: Value) -> Result<(), DropReason> {
        let mut fields = as_object(entry)?;
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => return Err(DropReason::MissingRole),
        };
        if kind != "user" && kind != "assistant" {
            self.read_note(index, fields);
            return Ok(());
        }
        let content = fields.get("message").and_then(|message| message.get("content"));
        let says_nothing = match content {
            Some(Value::Array(blocks)) => blocks.is_empty(),
            Some(Value::String(_)) => false,
            _ => return Err(DropReason::NullContent),
        };
        if says_nothing || is_sidechain(&fields) && self.has_main {
            self.read_note(index, fields);
            return Ok(());
        }
        let mut message = fields.remove("message").unwrap_or_default();
        let content = take_field(&mut message, "content");
        let own = self.read_fields(fields, message);
        if kind == "assistant" {
            self.read_answer(index, content, own);
        } else {
            self.read_user(index, content, own);
        }
        Ok(())
    }

    /// Reads an entry that is no message: it is stored as a message that says nothing.
    fn read_note(&mut self, index: usize, fields: JsonObject) {
        self.chain.add(&fields);
        let uuid = fields.get("uuid").and_then(Value::as_str).map(str::to_owned);
        let id = self.new_id(uuid);
        let own = OwnFields { note: fields, ..OwnFields::default() };
        self.add(index, id, MessageBody::new("assistant", None, Value::Null), own);
        self.count_passed();
    }

    /// Separates what is rendered anyway from what only this format has.
    fn read_fields(&mut self, mut fields: JsonObject, message: Value) -> OwnEntry {
        let last = self.chain.last(is_sidechain(&fields));
        self.chain.add(&fields);
        let is_unlinked = !fields.contains_key("parentUuid");
        if fields.get("parentUuid") == Some(&last) {
            fields.remove("parentUuid");
        }
        let kind = fields.remove("type");
        let Value::Object(mut message) = message else { return OwnEntry::default() };
        message.remove("content");
        if message.get("role") == kind.as_ref() {
            message.remove("role");
        }
        OwnEntry { fields, message, is_unlinked, ..OwnEntry::default() }
    }

    fn read_answer(&mut self, index: usize, content: Value, mut own: OwnEntry) {
        let id = own.message.get("id").and_then(Value::as_str).map(str::to_owned);
        if !self.answer.as_ref().is_some_and(|open| open.id.is_some() && open.id == id) {
            self.end_answer();
            let event_id = self.take_id(&mut own.fields);
            let timestamp = take_time(&mut own.fields);
            let at = self.parsed.messages.len();
            let body = MessageBody { timestamp, ..MessageBody::default() };
            self.add(index, event_id, body, OwnFields::default());
            let (read, entries) = (ReadAnswer::default(), Vec::new());
            self.answer = Some(OpenAnswer { id, at, passed: 0, read, entries });
        }
        if let Some(open) = &mut self.answer {
            own.after = mem::take(&mut open.passed);
            open.read.read_content(content, &mut own);
            open.entries.push(own);
        }
    }

    fn read_user(&mut self, index: usize, content: Value, mut own: OwnEntry) {
        let id = self.take_id(&mut own.fields);
        let mut timestamp = take_time(&mut own.fields);
        let messages = read_user(content, own);
        let answers = messages.iter().all(|(message, _)| message.body.role == "tool");
        // Results may come between the entries of an answer; anything else ends it.
        if answers {
            self.count_passed();
        } else {
            self.end_answer();
        }
        for (number, (message, own)) in messages.into_iter().enumerate() {
            let body = MessageBody { timestamp: timestamp.take(), ..message.body };
            let further = id.as_ref().filter(|_| number > 0).map(|id| format!("{id}_{number}"));
            let id = if number == 0 { id.clone() } else { self.new_id(further) };
            self.add(index, id, body, own);
        }
    }

    fn count_passed(&mut self) {
        if let Some(open) = &mut self.answer {
            open.passed += 1;
        }
    }

    fn end_answer(&mut self) {
        if let Some(OpenAnswer { at, read, entries, .. }) = self.answer.take() {
            let mut body = read.into_body();
            OwnFields { entries, ..OwnFields::default() }.keep(&mut body);
            body.timestamp = self.parsed.messages[at].body.timestamp.take();
            self.parsed.messages[at].body = body;
        }
    }

    /// Takes the id of an entry, if it may be an event id from which the same id is made again.
    fn take_id(&mut self, fields: &mut JsonObject) -> Option<String> {
        let id = fields.get("uuid").and_then(Value::as_str).filter(|id| is_uuid(id));
        let id = self.new_id(id.map(str::to_owned))?;
        fields.remove("uuid");
        Some(id)
    }

    /// Returns an id that no earlier message has.
    fn new_id(&mut self, id: Option<String>) -> Option<String> {
        let id = id.filter(|id| event_id(Some(id.clone())).is_some())?;
        self.ids.insert(id.clone()).then_some(id)
    }

    fn add(&mut self, index: usize, id: Option<String>, mut body: MessageBody, own: OwnFields) {
        own.keep(&mut body);
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        self.parsed.add(TranscriptPosition::Message(index), message);
    }
}

/// Takes the time of an entry, unless it is not a time.
fn take_time(fields: &mut JsonObject) -> Option<String> {
    let time = fields.get("timestamp")?.as_str().filter(|text| is_time(text))?.to_owned();
    fields.remove("timestamp");
    Some(time)
}

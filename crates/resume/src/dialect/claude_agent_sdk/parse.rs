use std::collections::HashSet;

use records::{JsonObject, Message, MessageBody, NewMessage};
use serde_json::{Value, json};

use super::NAME;
use super::answer::ReadAnswer;
use super::chain::{is_sidechain, is_time, is_uuid};
use super::own::{OwnEntry, OwnFields};
use super::user::read_user;
use crate::DropReason;
use crate::canonical::take_field;
use crate::dialect::parsed::{Parsed, TranscriptPosition, as_object, event_id};

/// Parses entries; each becomes a message, but for those of the user with several results.
pub(super) fn parse(system: Vec<Value>, entries: Vec<Value>) -> Parsed {
    let mut reader = Reader { parsed: Parsed::from_system(system), ..Reader::default() };
    for (index, entry) in entries.into_iter().enumerate() {
        if let Err(reason) = reader.read(index, entry) {
            reader.parsed.drop(index, reason);
        }
    }
    reader.parsed
}

/// Returns whether an entry is one of a sub-agent.
pub(super) fn is_of_sub_agent(entry: &Value) -> bool {
    entry["isSidechain"] == true
}

/// Returns what must be read before a piece that begins with an entry of a sub-agent: an entry of the main conversation, if
/// the log has one.
pub(super) fn context_of(log: &[Message]) -> Vec<Value> {
    let is_of_main = |message: &Message| {
        let own = message.body.extra.get(MessageBody::PROVIDER).map(|it| &it[NAME]);
        let own = own.unwrap_or(&Value::Null);
        match own.get("note") {
            // An entry of a sub-agent is a note only in the session of another agent.
            Some(note) => is_of_sub_agent(note),
            None => message.body.role != "system" && !is_of_sub_agent(&own["entry"]["fields"]),
        }
    };
    let has_main = log.iter().any(is_of_main);
    has_main.then(|| json!({"type": "user", "message": {"content": ""}})).into_iter().collect()
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// Whether there was a message of the main conversation; until then, a sub-agent speaks in a session of its own.
    has_main: bool,
    /// The event ids of all messages so far: two stored messages cannot have the same one.
    ids: HashSet<String>,
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
        self.has_main |= !is_sidechain(&fields);
        let mut message = fields.remove("message").unwrap_or_default();
        let content = take_field(&mut message, "content");
        let own = read_fields(fields, message);
        if kind == "assistant" {
            self.read_answer(index, content, own);
        } else {
            self.read_user(index, content, own);
        }
        Ok(())
    }

    /// Reads an entry that is no message: it is stored as a message that says nothing.
    fn read_note(&mut self, index: usize, fields: JsonObject) {
        let uuid = fields.get("uuid").and_then(Value::as_str).map(str::to_owned);
        let id = self.new_id(uuid);
        let own = OwnFields { note: fields, ..OwnFields::default() };
        self.add(index, id, MessageBody::new("assistant", None, Value::Null), own);
    }

    fn read_answer(&mut self, index: usize, content: Value, mut entry: OwnEntry) {
        let id = self.take_id(&mut entry.fields);
        let timestamp = take_time(&mut entry.fields);
        let has_id = entry.message.get("id").is_some_and(Value::is_string);
        let answer = if has_id { entry.message.remove("id") } else { None };
        let mut read = ReadAnswer::default();
        read.read_content(content, &mut entry);
        let body = MessageBody { timestamp, ..read.into_body() };
        self.add(index, id, body, OwnFields { answer, entry: Some(entry), ..OwnFields::default() });
    }

    fn read_user(&mut self, index: usize, content: Value, mut own: OwnEntry) {
        let id = self.take_id(&mut own.fields);
        let mut timestamp = take_time(&mut own.fields);
        for (number, (message, own)) in read_user(content, own).into_iter().enumerate() {
            let body = MessageBody { timestamp: timestamp.take(), ..message.body };
            let further = id.as_ref().filter(|_| number > 0).map(|id| format!("{id}_{number}"));
            let id = if number == 0 { id.clone() } else { self.new_id(further) };
            self.add(index, id, body, own);
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

/// Separates what is rendered anyway from what only this format has.
fn read_fields(mut fields: JsonObject, message: Value) -> OwnEntry {
    let is_unlinked = !fields.contains_key("parentUuid");
    let kind = fields.remove("type");
    let Value::Object(mut message) = message else { return OwnEntry::default() };
    message.remove("content");
    if message.get("role") == kind.as_ref() {
        message.remove("role");
    }
    OwnEntry { fields, message, is_unlinked, ..OwnEntry::default() }
}

/// Takes the time of an entry, unless it is not a time.
fn take_time(fields: &mut JsonObject) -> Option<String> {
    let time = fields.get("timestamp")?.as_str().filter(|text| is_time(text))?.to_owned();
    fields.remove("timestamp");
    Some(time)
}

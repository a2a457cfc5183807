use records::{EventId, MessageBody, NewMessage};
use serde_json::{Map, Value};

use super::content::read_content;
use super::own::OwnFields;
use super::reasoning::stored_block;
use crate::DropReason;
use crate::canonical::is_empty_value;
use crate::dialect::parsed::{
    self, EventIds, Parsed, TranscriptPosition, as_object, set_extra, take_text,
};
use crate::dialect::thinking;

/// Parses messages; reasoning is a piece of the answer that follows it.
pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    let parsed = Parsed::from_system(system);
    let mut reader = Reader { parsed, ..Reader::default() };
    for (index, message) in messages.into_iter().enumerate() {
        if let Err(reason) = reader.read(index, message) {
            reader.parsed.drop(index, reason);
        }
    }
    reader.parsed
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// The ids of all messages so far.
    ids: EventIds,
}

impl Reader {
    fn read(&mut self, index: usize, message: Value) -> Result<(), DropReason> {
        let mut fields = as_object(message)?;
        let role = take_text(&mut fields, "role").ok_or(DropReason::MissingRole)?;
        fields.retain(|_, value| !value.is_null());
        match role.as_str() {
            "reasoning" => self.read_reasoning(index, fields),
            "assistant" => self.read_answer(index, fields),
            "tool" => self.read_result(index, fields),
            "user" | "system" | "developer" => self.read_other(index, &role, fields),
            other => return Err(DropReason::unsupported_role(other)),
        }
        Ok(())
    }

    fn read_answer(&mut self, index: usize, mut fields: Map<String, Value>) {
        let calls = match fields.remove("toolCalls") {
            Some(Value::Array(calls)) => calls.into_iter().map(read_call).collect(),
            _ => Vec::new(),
        };
        let name = take_text(&mut fields, "name");
        let content = fields.remove("content").unwrap_or_default();
        let mut body = MessageBody::new("assistant", name.as_deref(), content);
        set_extra(&mut body, "tool_calls", calls);
        let id = self.take_id(&mut fields);
        self.add(index, id, body.into(), OwnFields { fields, ..OwnFields::default() });
    }

    fn read_result(&mut self, index: usize, mut fields: Map<String, Value>) {
        let mut parts = Vec::new();
        let mut content = read_content(fields.remove("content").unwrap_or_default(), &mut parts);
        let call_id = take_text(&mut fields, "toolCallId").unwrap_or_default();
        let failed = fields.get("error").is_some_and(Value::is_string);
        if fields.get("error") == Some(&content) {
            fields.remove("error");
        } else if failed && is_empty_value(&content) {
            // Other formats have no place for an error beside the content.
            let error = fields.get("error").cloned().unwrap_or_default();
            fields.insert("content".to_owned(), std::mem::replace(&mut content, error));
        }
        let id = self.take_id(&mut fields);
        // A result is rendered without its event id, so that its own id is stored beside it.
        fields.extend(id.as_ref().map(|id| ("id".to_owned(), id.as_str().into())));
        let message = parsed::stored_result(&call_id, content, failed);
        self.add(index, id, message, OwnFields { fields, parts, ..OwnFields::default() });
    }

    fn read_other(&mut self, index: usize, role: &str, mut fields: Map<String, Value>) {
        let mut parts = Vec::new();
        let content = read_content(fields.remove("content").unwrap_or_default(), &mut parts);
        let name = take_text(&mut fields, "name");
        let id = self.take_id(&mut fields);
        let body = MessageBody::new(role, name.as_deref(), content);
        self.add(index, id, body.into(), OwnFields { fields, parts, ..OwnFields::default() });
    }

    fn read_reasoning(&mut self, index: usize, mut fields: Map<String, Value>) {
        let id = self.take_id(&mut fields);
        let mut body = MessageBody::new("assistant", None, Value::Null);
        let reasoning = thinking::into_stored(vec![stored_block(fields)]);
        set_extra(&mut body, "reasoning_content", reasoning);
        let own = OwnFields { is_piece: true, ..OwnFields::default() };
        self.add(index, id, body.into(), own);
    }

    /// Takes the id of a message; one that cannot be its event id is left out.
    fn take_id(&mut self, fields: &mut Map<String, Value>) -> Option<EventId> {
        let id = self.ids.take(fields, "id");
        fields.shift_remove("id");
        id
    }

    fn add(&mut self, index: usize, id: Option<EventId>, message: NewMessage, own: OwnFields) {
        let mut message = NewMessage { event_id: id, ..message };
        own.keep(&mut message.body);
        self.parsed.add(TranscriptPosition::Message(index), message);
    }
}

/// Returns the call to store; its fields that only this format has are in `extra_content`.
fn read_call(call: Value) -> Value {
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let arguments = call.pointer("/function/arguments").cloned().unwrap_or_default();
    let mut stored = parsed::stored_call(text("/id"), text("/function/name"), &arguments);
    if let Value::Object(mut own) = call {
        own.retain(|field, value| {
            !["id", "type", "function"].contains(&field.as_str()) && !value.is_null()
        });
        if !own.is_empty() {
            stored["extra_content"] = serde_json::json!({"ag_ui": own});
        }
    }
    stored
}

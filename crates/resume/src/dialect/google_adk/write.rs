use std::collections::HashMap;
use std::mem;

use serde_json::{Map, Value, json};

use super::LONG_RUNNING;
use super::own::{LeftPart, OwnFields};
use super::result;
use super::write_parts::write_parts;
use crate::canonical::{CanonicalMessage, Role};
use crate::dialect::instructions;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Repair};

/// Writes events; delays one with results, because further parts may join it.
#[derive(Debug, Default)]
pub(super) struct EventsWriter {
    has_begun: bool,
    results: Option<OpenResults>,
    /// The author of the last calls.
    caller: String,
    /// The names of the functions of the last calls, by the ids of the calls.
    functions: HashMap<String, String>,
    /// The same of the calls that may have further results later.
    repeatable: HashMap<String, String>,
    /// The invocation of the last event.
    invocation: Option<Value>,
}

/// An event with results.
#[derive(Debug)]
struct OpenResults {
    origin: Origin,
    fields: Map<String, Value>,
    role: &'static str,
    parts: Vec<Value>,
    /// What is left of the results.
    left: Vec<LeftPart>,
}

impl MessageWriter for EventsWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if matches!(message.role, Role::System | Role::Developer) {
            instructions::write_apart(&mut message, self.has_begun, rendered);
            return;
        }
        self.has_begun = true;
        let own = OwnFields::take(&mut message);
        if message.role == Role::Tool {
            self.write_result(&mut message, own, rendered);
        } else {
            self.write_speech(&mut message, own, rendered);
        }
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.end_results(rendered);
    }
}

impl EventsWriter {
    fn write_result(
        &mut self,
        message: &mut CanonicalMessage,
        own: OwnFields,
        rendered: &mut Rendered,
    ) {
        let is_next = |open: &OpenResults| open.origin.sequence == message.origin.sequence;
        let mut open = match self.results.take_if(|open| is_next(open)) {
            Some(open) => open,
            None => self.open_results(message, own, rendered),
        };
        let is_own =
            |left: &LeftPart| left.payload.get("id") == Some(&message.call_id.as_str().into());
        let position = open.left.iter().position(is_own);
        let left = position.map(|position| open.left.remove(position));
        let function = self.functions.get(&message.call_id);
        let function = function.or_else(|| self.repeatable.get(&message.call_id));
        let function = function.map_or("", String::as_str);
        open.parts.push(result::write_part(message, function, left.as_ref()));
        self.results = Some(open);
        message.report_repairs(rendered);
    }

    fn open_results(
        &mut self,
        message: &mut CanonicalMessage,
        own: OwnFields,
        rendered: &mut Rendered,
    ) -> OpenResults {
        self.end_results(rendered);
        let mut id = mem::take(&mut message.event_id);
        if id.is_empty() {
            // Only the first result of a message has its id.
            id = format!("result_{}", message.call_id);
        }
        let role = if own.is_model { "model" } else { "user" };
        let author = self.caller.as_str().into();
        let fields = self.event_fields(author, id, own.event, false);
        let left = own.parts.unwrap_or_default();
        OpenResults { origin: message.origin, fields, role, parts: Vec::new(), left }
    }

    fn write_speech(
        &mut self,
        message: &mut CanonicalMessage,
        mut own: OwnFields,
        rendered: &mut Rendered,
    ) {
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        let has_parts = own.parts.is_some();
        let parts = write_parts(message, own.parts);
        let joins = |open: &mut OpenResults| {
            own.is_joined && open.origin.sequence + 1 == message.origin.sequence
        };
        if let Some(mut open) = self.results.take_if(joins) {
            // The role says whose the joined parts are.
            open.role = role;
            open.parts.extend(parts);
            self.results = Some(open);
            message.report_repairs(rendered);
            return;
        }
        self.end_results(rendered);
        rename_long_running(message, &mut own.event);
        if parts.is_empty() && !has_parts && own.event.is_empty() {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let default_author = message.role.as_str().to_owned();
        let author = message.name.take().unwrap_or(default_author);
        if !message.calls.is_empty() {
            self.caller.clone_from(&author);
            let called = message.calls.iter();
            self.functions =
                called.map(|call| (call.id.clone(), call.target.name.clone())).collect();
            if message.repeats_results {
                self.repeatable.extend(self.functions.clone());
            }
        }
        let begins = message.role == Role::User;
        let id = mem::take(&mut message.event_id);
        let mut event = self.event_fields(author.into(), id, own.event, begins);
        if has_parts || !parts.is_empty() {
            event.insert("content".to_owned(), json!({"role": role, "parts": parts}));
        }
        message.report_repairs(rendered);
        rendered.messages.push(event.into());
    }

    /// Writes the event with the results so far.
    fn end_results(&mut self, rendered: &mut Rendered) {
        if let Some(open) = self.results.take() {
            if !open.left.is_empty() {
                rendered.repair(open.origin, Repair::ProviderFieldsRemoved);
            }
            let mut event = open.fields;
            event.insert("content".to_owned(), json!({"role": open.role, "parts": open.parts}));
            rendered.messages.push(event.into());
        }
    }

    /// Returns the fields of an event but for its content.
    fn event_fields(
        &mut self,
        author: Value,
        id: String,
        own: Map<String, Value>,
        begins_invocation: bool,
    ) -> Map<String, Value> {
        let current = self.invocation.take().filter(|_| !begins_invocation);
        let invocation = own.get("invocationId").cloned().or(current);
        let invocation = invocation.unwrap_or_else(|| format!("e-{id}").into());
        self.invocation = Some(invocation.clone());
        let fields = [("id", id.into()), ("author", author), ("invocationId", invocation)];
        let mut event: Map<_, _> =
            fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
        event.extend(own);
        event
    }
}

/// Gives the long-running calls of an event the ids that they are rendered with.
fn rename_long_running(message: &CanonicalMessage, event: &mut Map<String, Value>) {
    let Some(Value::Array(ids)) = event.get_mut(LONG_RUNNING) else { return };
    for id in mem::take(ids) {
        let calls = message.calls.iter().filter(|call| id == call.stored_id.as_str());
        let renamed: Vec<_> = calls.map(|call| Value::from(call.id.as_str())).collect();
        ids.extend(if renamed.is_empty() { vec![id] } else { renamed });
    }
}

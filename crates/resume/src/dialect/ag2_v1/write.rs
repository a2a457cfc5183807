use std::collections::HashMap;
use std::mem;

use serde_json::Value;

use super::events;
use super::own::{Kind, OwnFields};
use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, Role};
use crate::dialect::instructions;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes events; delays the event that repeats all results until the last result is written.
#[derive(Debug, Default)]
pub(super) struct EventsWriter {
    has_begun: bool,
    /// The name of the function of each call that still gets a result.
    functions: HashMap<String, String>,
    results: Vec<Value>,
}

impl MessageWriter for EventsWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let mut own = OwnFields::take(&mut message);
        if let Some(event) = own.whole.take() {
            // The library closes the calls as soon as the last result is there.
            if self.results.len() >= self.functions.len() {
                self.finish(rendered);
            }
            self.has_begun = true;
            message.report_repairs(rendered);
            rendered.messages.push(event);
            return;
        }
        if message.role == Role::Tool {
            let event = self.write_result(&mut message, own);
            message.report_repairs(rendered);
            self.results.push(event.clone());
            rendered.messages.push(event);
            return;
        }
        self.finish(rendered);
        match message.role {
            Role::System | Role::Developer => {
                instructions::write_apart(&mut message, self.has_begun, rendered);
            }
            Role::Assistant => self.write_response(&mut message, own, rendered),
            _ => self.write_request(&mut message, own, rendered),
        }
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        if !self.results.is_empty() {
            rendered.messages.push(events::results(&mem::take(&mut self.results)));
        }
    }
}

impl EventsWriter {
    fn write_request(
        &mut self,
        message: &mut CanonicalMessage,
        mut own: OwnFields,
        rendered: &mut Rendered,
    ) {
        self.has_begun = true;
        let name = message.name.take();
        let parts = message.take_parts();
        if name.is_some() && !parts.iter().any(|part| matches!(part, ContentPart::Text(_))) {
            message.repairs.push(Repair::FieldRemoved { field: "name" });
        }
        let parts = parts.into_iter().map(|part| write_input(part, name.as_deref()));
        let mut parts: Vec<_> = parts.collect();
        own.add_to_items(&mut parts, &Kind::INPUT);
        let mut event = events::request(&parts);
        own.add_to_event(&mut event, &Kind::REQUEST);
        rendered.messages.push(event);
        message.report_repairs(rendered);
    }

    fn write_response(
        &mut self,
        message: &mut CanonicalMessage,
        mut own: OwnFields,
        rendered: &mut Rendered,
    ) {
        self.has_begun = true;
        let name = message.name.take();
        let content = message.take_joined_text();
        if content.is_none() && name.is_some() {
            message.repairs.push(Repair::FieldRemoved { field: "name" });
        }
        let mut calls = self.write_calls(message);
        own.add_to_items(&mut calls, &Kind::CALL);
        let mut event = events::response(content.as_deref(), name.as_deref(), &calls);
        own.add_to_event(&mut event, &Kind::RESPONSE);
        let announced = event["tool_calls"].clone();
        rendered.messages.push(event);
        if !calls.is_empty() {
            rendered.messages.push(announced);
            rendered.messages.extend(calls);
        }
        message.report_repairs(rendered);
    }

    fn write_calls(&mut self, message: &mut CanonicalMessage) -> Vec<Value> {
        // All results of earlier calls are written: the calls of this message replace theirs.
        self.functions.clear();
        let mut calls = Vec::new();
        for call in &mut message.calls {
            let arguments = call.take_arguments().to_string();
            let (id, name) = (&call.id, &call.target.name);
            calls.push(events::call(id, name, &arguments));
            self.functions.insert(id.clone(), name.clone());
        }
        calls
    }

    fn write_result(&mut self, message: &mut CanonicalMessage, mut own: OwnFields) -> Value {
        let name = self.functions.get(&message.call_id).cloned().unwrap_or_default();
        let error = message.is_error.then(|| events::error_text(&message.content));
        let parts = message.take_parts().into_iter().map(|part| write_input(part, None));
        let mut parts: Vec<_> = parts.collect();
        own.add_to_items(&mut parts, &Kind::INPUT);
        let mut event = events::result(&message.call_id, &name, &parts, error.as_deref());
        own.add_to_event(&mut event, &Kind::RESULT);
        event
    }
}

fn write_input(part: ContentPart, name: Option<&str>) -> Value {
    match part {
        ContentPart::Text(text) => events::text(&text, name),
        ContentPart::Media(media) => events::media(media),
    }
}

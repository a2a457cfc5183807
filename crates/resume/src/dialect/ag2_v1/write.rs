use std::collections::HashMap;
use std::mem;

use serde_json::Value;

use super::events;
use crate::Repair;
use crate::canonical::{Canonical, Part, Role};
use crate::dialect::instructions;
use crate::dialect::pipeline::Writer;
use crate::rendered::Rendered;

/// Writes events; holds back the one that settles the calls under way.
#[derive(Debug, Default)]
pub(super) struct Events {
    has_begun: bool,
    /// The function that each call under way is of.
    called: HashMap<String, String>,
    results: Vec<Value>,
}

impl Writer for Events {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let event = self.result(&mut message);
            message.report(rendered);
            self.results.push(event.clone());
            rendered.messages.push(event);
            return;
        }
        self.finish(rendered);
        match message.role {
            Role::System | Role::Developer => {
                instructions::write(&mut message, self.has_begun, rendered);
            }
            Role::Assistant => self.respond(&mut message, rendered),
            _ => self.request(&mut message, rendered),
        }
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        if !self.results.is_empty() {
            rendered.messages.push(events::results(&mem::take(&mut self.results)));
        }
    }
}

impl Events {
    fn request(&mut self, message: &mut Canonical, rendered: &mut Rendered) {
        self.has_begun = true;
        let name = message.name.take();
        let parts = message.take_parts();
        if name.is_some() && !parts.iter().any(|part| matches!(part, Part::Text(_))) {
            message.repairs.push(Repair::FieldRemoved { field: "name" });
        }
        let parts = parts.into_iter().map(|part| input(part, name.as_deref()));
        rendered.messages.push(events::request(&parts.collect::<Vec<_>>()));
        message.report(rendered);
    }

    fn respond(&mut self, message: &mut Canonical, rendered: &mut Rendered) {
        self.has_begun = true;
        if message.take_reasoning().is_none_or(|blocks| !blocks.is_empty()) {
            message.repairs.push(Repair::ReasoningRemoved);
        }
        let name = message.name.take();
        let content = said(message);
        if content.is_none() && name.is_some() {
            message.repairs.push(Repair::FieldRemoved { field: "name" });
        }
        let calls = self.calls(message);
        rendered.messages.push(events::response(content.as_deref(), name.as_deref(), &calls));
        if !calls.is_empty() {
            rendered.messages.push(events::calls(&calls));
            rendered.messages.extend(calls);
        }
        message.report(rendered);
    }

    fn calls(&mut self, message: &mut Canonical) -> Vec<Value> {
        self.called.clear();
        let mut calls = Vec::new();
        for call in &mut message.calls {
            let arguments = call.take_arguments().to_string();
            let (id, name) = (&call.id, &call.target.name);
            calls.push(events::call(id, name, &arguments));
            self.called.insert(id.clone(), name.clone());
        }
        calls
    }

    fn result(&mut self, message: &mut Canonical) -> Value {
        let name = self.called.get(&message.call_id).cloned().unwrap_or_default();
        let error = message.is_error.then(|| match &message.content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let parts = message.take_parts().into_iter().map(|part| input(part, None));
        let parts: Vec<_> = parts.collect();
        events::result(&message.call_id, &name, &parts, error.as_deref())
    }
}

fn input(part: Part, name: Option<&str>) -> Value {
    match part {
        Part::Text(text) => events::text(&text, name),
        Part::Media(media) => events::media(media),
    }
}

/// Returns what an agent says as one text.
fn said(message: &mut Canonical) -> Option<String> {
    let parts = message.take_parts();
    if parts.len() > 1 {
        message.repairs.push(Repair::PartsJoined);
    }
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        texts.push(match part {
            Part::Text(text) => text,
            Part::Media(media) => {
                message.repairs.push(Repair::PartSerialised);
                Value::from(media).to_string()
            }
        });
    }
    (!texts.is_empty()).then(|| texts.join("\n"))
}

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::canonical::{Canonical, MediaSource, Part, Role};
use crate::dialect::pipeline::Writer;
use crate::dialect::speaker;
use crate::dialect::turns::{Kind, Turn, Turns};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Stands for a signature that is not known.
pub(super) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Writes contents turn by turn.
#[derive(Debug)]
pub(super) struct Contents {
    turns: Turns,
    user: String,
    /// The function that each call being answered is of.
    called: HashMap<String, String>,
}

impl Contents {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            turns: Turns::new("parts", text, |open, next| open.kind == next.kind),
            user: options.default_user_name.clone(),
            called: HashMap::new(),
        }
    }

    fn result(&mut self, message: &mut Canonical) -> Value {
        let name = self.called.get(&message.call_id).cloned().unwrap_or_default();
        let field = if message.is_error { "error" } else { "output" };
        let said = match &message.content {
            Value::Null => Value::Null,
            _ => message.take_text().into(),
        };
        let id = &message.call_id;
        json!({"functionResponse": {"id": id, "name": name, "response": {field: said}}})
    }

    fn said(&mut self, message: &mut Canonical) -> Vec<Value> {
        if message.take_reasoning().is_none_or(|blocks| !blocks.is_empty()) {
            message.repairs.push(Repair::ReasoningRemoved);
        }
        let mut parts = message.take_parts();
        message.remove_blank(&mut parts);
        speaker::fold(message, &mut parts, &self.user);
        let parts: Vec<_> = parts.into_iter().map(|it| part(message, it)).collect();
        let calls: Vec<_> = self.calls(message);
        parts.into_iter().chain(calls).collect()
    }

    fn calls(&mut self, message: &mut Canonical) -> Vec<Value> {
        self.called.clear();
        let mut calls = Vec::new();
        for call in &mut message.calls {
            let arguments = call.take_arguments();
            let (id, name) = (&call.id, &call.target.name);
            self.called.insert(id.clone(), name.clone());
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
            if calls.is_empty() {
                let signature = call.signature.take();
                part["thoughtSignature"] =
                    signature.unwrap_or_else(|| NO_SIGNATURE.to_owned()).into();
            }
            calls.push(part);
        }
        calls
    }
}

impl Writer for Contents {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        let origin = message.origin;
        if message.role == Role::Tool {
            let blocks = vec![self.result(&mut message)];
            message.report(rendered);
            self.turns.add(Turn { origin, role: "user", kind: Kind::Results, blocks }, rendered);
            return;
        }
        let blocks = self.said(&mut message);
        if blocks.is_empty() {
            rendered.drop(origin, DropReason::BlankContent);
            return;
        }
        let is_instruction = matches!(message.role, Role::System | Role::Developer);
        if is_instruction && self.turns.has_begun() {
            message.repairs.push(Repair::InstructionHoisted);
        }
        message.report(rendered);
        if is_instruction {
            rendered.system.extend(blocks);
            return;
        }
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        self.turns.add(Turn { origin, role, kind: Kind::Said, blocks }, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.turns.finish(rendered);
    }
}

fn part(message: &mut Canonical, part: Part) -> Value {
    let media = match part {
        Part::Text(said) => return text(&said),
        Part::Media(media) => media,
    };
    let is_instruction = matches!(message.role, Role::System | Role::Developer);
    match &media.source {
        MediaSource::Data { media_type, data } if !is_instruction => {
            let mut inline = json!({"mimeType": media_type, "data": data});
            if let Some(name) = media.name {
                inline["displayName"] = name.into();
            }
            json!({"inlineData": inline})
        }
        MediaSource::Url(url) if !is_instruction => json!({"fileData": {"fileUri": url}}),
        _ => {
            message.repairs.push(Repair::PartSerialised);
            text(&Value::from(media).to_string())
        }
    }
}

fn text(said: &str) -> Value {
    json!({"text": said})
}

use serde_json::{Value, json};

use super::source;
use crate::canonical::{Canonical, Part, Reasoning, Role};
use crate::dialect::pipeline::Writer;
use crate::dialect::speaker;
use crate::dialect::turns::{Kind, Turn, Turns};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes messages turn by turn.
#[derive(Debug)]
pub(super) struct Messages {
    turns: Turns,
    user: String,
}

impl Messages {
    pub(super) fn new(options: &Options) -> Self {
        Self { turns: Turns::new("content", text, joins), user: options.default_user_name.clone() }
    }
}

/// Reasoning begins a message: it must stay in front of the text and the calls it led to.
fn joins(_open: &Turn, next: &Turn) -> bool {
    !next.blocks.first().is_some_and(is_reasoning)
}

fn is_reasoning(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

impl Writer for Messages {
    fn write(&mut self, mut message: Canonical, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let (origin, block) = (message.origin, result(&mut message));
            message.report(rendered);
            let turn = Turn { origin, role: "user", kind: Kind::Results, blocks: vec![block] };
            self.turns.add(turn, rendered);
            return;
        }
        let blocks = said(&mut message, &self.user);
        if blocks.iter().all(is_reasoning) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let role = match message.role {
            Role::System | Role::Developer => {
                if self.turns.has_begun() {
                    message.repairs.push(Repair::InstructionHoisted);
                }
                message.report(rendered);
                rendered.system.extend(blocks);
                return;
            }
            Role::Assistant => "assistant",
            _ => "user",
        };
        message.report(rendered);
        let turn = Turn { origin: message.origin, role, kind: Kind::Said, blocks };
        self.turns.add(turn, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.turns.finish(rendered);
    }
}

fn said(message: &mut Canonical, user: &str) -> Vec<Value> {
    let mut parts = message.take_parts();
    message.remove_blank(&mut parts);
    speaker::fold(message, &mut parts, user);
    let mut blocks = reasoning(message);
    for part in parts {
        blocks.push(block(message, part));
    }
    for call in &mut message.calls {
        let input = call.take_arguments();
        let (id, name) = (&call.id, &call.target.name);
        blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    blocks
}

fn reasoning(message: &mut Canonical) -> Vec<Value> {
    let blocks = message.take_reasoning();
    let is_signed = |block: &Reasoning| match block {
        Reasoning::Text { signature, .. } => signature.is_some(),
        Reasoning::Redacted(_) => true,
    };
    if let Some(blocks) = blocks
        && blocks.iter().all(is_signed)
    {
        return blocks.into_iter().map(Value::from).collect();
    }
    message.repairs.push(Repair::ReasoningRemoved);
    Vec::new()
}

fn block(message: &mut Canonical, part: Part) -> Value {
    let media = match part {
        Part::Text(said) => return text(&said),
        Part::Media(media) => media,
    };
    let has_place = matches!(message.role, Role::User | Role::Tool);
    source::block(&media).filter(|_| has_place).unwrap_or_else(|| {
        message.repairs.push(Repair::PartSerialised);
        text(&Value::from(media).to_string())
    })
}

fn result(message: &mut Canonical) -> Value {
    let mut parts = message.take_parts();
    if parts.len() > 1 {
        message.remove_blank(&mut parts);
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": message.call_id});
    match &parts[..] {
        [] => {}
        [Part::Text(said)] => block["content"] = said.as_str().into(),
        _ => block["content"] = parts.into_iter().map(|part| self::block(message, part)).collect(),
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn text(said: &str) -> Value {
    json!({"type": "text", "text": said})
}

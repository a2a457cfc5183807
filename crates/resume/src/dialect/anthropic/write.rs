use serde_json::{Value, json};

use super::source;
use crate::canonical::{CanonicalMessage, ContentPart, Reasoning, Role};
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::speaker;
use crate::dialect::turns::{Turn, TurnKind, TurnMerger};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes messages turn by turn.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    turns: TurnMerger,
    default_user_name: String,
}

impl MessagesWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            turns: TurnMerger::new("content", text_block, may_join),
            default_user_name: options.default_user_name.clone(),
        }
    }
}

/// Reasoning must begin a message, before the text and the calls to which it led.
fn may_join(_open: &Turn, next: &Turn) -> bool {
    !next.blocks.first().is_some_and(is_reasoning)
}

fn is_reasoning(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            let (origin, block) = (message.origin, write_result(&mut message));
            message.report_repairs(rendered);
            let turn = Turn { origin, role: "user", kind: TurnKind::Results, blocks: vec![block] };
            self.turns.add(turn, rendered);
            return;
        }
        let blocks = write_speech(&mut message, &self.default_user_name);
        if blocks.iter().all(is_reasoning) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let role = match message.role {
            Role::System | Role::Developer => {
                if self.turns.has_begun() {
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
        let turn = Turn { origin: message.origin, role, kind: TurnKind::Speech, blocks };
        self.turns.add(turn, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.turns.finish(rendered);
    }
}

fn write_speech(message: &mut CanonicalMessage, default_user_name: &str) -> Vec<Value> {
    let mut parts = message.take_parts();
    message.remove_blank_texts(&mut parts);
    speaker::prefix_with_name(message, &mut parts, default_user_name);
    let mut blocks = write_reasoning(message);
    for part in parts {
        blocks.push(write_part(message, part));
    }
    for call in &mut message.calls {
        let input = call.take_arguments();
        let (id, name) = (&call.id, &call.target.name);
        blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    blocks
}

/// Returns the reasoning, unless a block lacks the signature without which the API refuses it.
fn write_reasoning(message: &mut CanonicalMessage) -> Vec<Value> {
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

fn write_part(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let media = match part {
        ContentPart::Text(text) => return text_block(&text),
        ContentPart::Media(media) => media,
    };
    let may_have_media = matches!(message.role, Role::User | Role::Tool);
    source::write_block(&media).filter(|_| may_have_media).unwrap_or_else(|| {
        message.repairs.push(Repair::PartSerialised);
        text_block(&Value::from(media).to_string())
    })
}

fn write_result(message: &mut CanonicalMessage) -> Value {
    let mut parts = message.take_parts();
    if parts.len() > 1 {
        message.remove_blank_texts(&mut parts);
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": message.call_id});
    match &parts[..] {
        [] => {}
        [ContentPart::Text(text)] => block["content"] = text.as_str().into(),
        _ => block["content"] = parts.into_iter().map(|part| write_part(message, part)).collect(),
    }
    if message.is_error {
        block["is_error"] = true.into();
    }
    block
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

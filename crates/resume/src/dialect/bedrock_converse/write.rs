use std::mem;

use serde_json::{Value, json};

use super::documents::DocumentNames;
use super::layout::Layout;
use super::rules;
use super::write_blocks::{self, is_reasoning};
use crate::canonical::{CanonicalMessage, Role};
use crate::dialect::call_places;
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::turns::{Neighbours, Turn, TurnMerger};
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Options, Repair};

/// Writes messages turn by turn.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    turns: TurnMerger,
    default_user_name: String,
    documents: DocumentNames,
    /// The marks after the results so far, with the last of these: nothing may come between results.
    marks: Option<(Origin, Vec<Value>)>,
}

impl MessagesWriter {
    pub(super) fn new(options: &Options) -> Self {
        let turns = rules::BEDROCK_CONVERSE.turns;
        Self {
            turns: TurnMerger::new("content", text_block, neighbours, turns),
            default_user_name: options.default_user_name.clone(),
            documents: DocumentNames::default(),
            marks: None,
        }
    }

    fn write_result(
        &mut self,
        message: &mut CanonicalMessage,
        layout: Layout,
        rendered: &mut Rendered,
    ) {
        let origin = message.origin;
        let block = write_blocks::write_result(message, layout.result, &mut self.documents);
        message.report_repairs(rendered);
        self.add_results(origin, vec![block], rendered);
        if !layout.marks.is_empty() {
            let marks = self.marks.get_or_insert_with(|| (origin, Vec::new()));
            marks.1.extend(layout.marks);
        }
    }

    fn end_results(&mut self, rendered: &mut Rendered) {
        if let Some((origin, marks)) = self.marks.take() {
            self.add_results(origin, marks, rendered);
        }
    }

    fn add_results(&mut self, origin: Origin, blocks: Vec<Value>, rendered: &mut Rendered) {
        self.turns.add(Turn::of_results(origin, blocks), rendered);
    }
}

/// Reasoning stays in the turn in which the model produced it, as in Anthropic's own API.
fn neighbours(_open: &Turn, next: &Turn) -> Neighbours {
    let has_reasoning = next.blocks.iter().any(is_reasoning);
    if has_reasoning { Neighbours::Separated } else { Neighbours::Joined }
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let places = call_places::take(&mut message);
        let (mut layout, removes_any) = Layout::take(&mut message);
        if removes_any {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
        if message.role == Role::Tool {
            self.write_result(&mut message, layout, rendered);
            return;
        }
        self.end_results(rendered);
        let marks = mem::take(&mut layout.marks);
        let name = &self.default_user_name;
        let mut blocks = write_blocks::write_speech(
            &mut message,
            layout.blocks,
            &places,
            name,
            &mut self.documents,
        );
        if blocks.iter().all(|block| block.get("cachePoint").is_some() || is_reasoning(block)) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        let role = match message.role {
            Role::System | Role::Developer => {
                if self.turns.observe_instruction(message.origin) {
                    message.repairs.push(Repair::InstructionHoisted);
                }
                message.report_repairs(rendered);
                blocks.extend(marks);
                rendered.system.extend(blocks);
                return;
            }
            Role::Assistant => "assistant",
            _ => "user",
        };
        message.report_repairs(rendered);
        let turn = Turn::of_speech(&message, role, blocks);
        self.turns.add(turn, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.end_results(rendered);
        self.turns.finish(rendered);
    }
}

pub(super) fn text_block(text: &str) -> Value {
    json!({"text": text})
}

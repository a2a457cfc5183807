use serde_json::Value;

use super::anthropic::read_media;
use super::message::{CanonicalMessage, is_empty_value};
use super::reasoning::{PlacedReasoning, Reasoning};
use super::role::Role;
use crate::Repair;

/// The field of a stored message with its content as the blocks of Anthropic.
pub(super) const CONTENT_BLOCKS: &str = "content_blocks";

/// The blocks that other fields of a stored message have.
const OF_OTHER_FIELDS: [&str; 2] = ["tool_use", "tool_result"];

impl CanonicalMessage {
    /// Takes over what the content blocks of a message say and its other fields do not.
    ///
    /// An agent's reasoning comes from them unless the message has `reasoning_content`. The content comes from them if the
    /// message has none, or only their text. An edited content therefore stays, without the other blocks.
    pub(super) fn read_blocks(&mut self, blocks: Value) {
        let Value::Array(blocks) = blocks else {
            if !is_empty_value(&blocks) {
                self.repairs.push(Repair::FieldRemoved { field: CONTENT_BLOCKS });
            }
            return;
        };
        let (mut parts, mut reasoning) = (Vec::new(), Vec::new());
        for block in blocks {
            let kind = block["type"].as_str().unwrap_or_default();
            if OF_OTHER_FIELDS.contains(&kind) {
                continue;
            }
            match Reasoning::read(&block) {
                Some(read) => reasoning.push(PlacedReasoning::after(parts.len(), read)),
                None => parts.push(read_block(block)),
            }
        }
        if is_empty_value(&self.content) || self.content.as_str() == Some(&text_of(&parts)) {
            if !parts.is_empty() {
                self.content = content_from(parts);
            }
        } else {
            for placed in &mut reasoning {
                placed.position = 0;
            }
            if !parts.is_empty() {
                self.repairs.push(Repair::FieldRemoved { field: CONTENT_BLOCKS });
            }
        }
        if self.role == Role::Assistant && self.reasoning.is_null() {
            self.reasoning = PlacedReasoning::into_stored(reasoning);
        }
    }
}

/// Returns the content part of a block; a block that is no part of a content stays, and is reported where it is rendered.
fn read_block(block: Value) -> Value {
    let media = block.as_object().and_then(read_media);
    media.map_or(block, Value::from)
}

/// Returns the text of all parts.
fn text_of(parts: &[Value]) -> String {
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

/// Returns the content of parts: the text alone for one plain text.
fn content_from(mut parts: Vec<Value>) -> Value {
    match &mut parts[..] {
        [Value::Object(part)] if part.len() == 2 && part.contains_key("text") => {
            part.remove("text").unwrap_or_default()
        }
        _ => parts.into(),
    }
}

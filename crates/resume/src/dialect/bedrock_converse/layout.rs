use records::MessageBody;
use serde_json::{Map, Value};

use super::NAME;
use super::kept::CITATIONS;
use crate::canonical::{CanonicalMessage, is_empty_value, take_list, take_object};
use crate::dialect::parsed::keep_own;
use crate::dialect::shapes::{Shape, Table, fits};

/// What only this format has, of one stored message.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// What is left of its blocks, in order; empty if nothing is left.
    pub(super) blocks: Vec<LeftBlock>,
    /// What is left of a result.
    pub(super) result: Map<String, Value>,
    /// The marks that follow a result or an instruction.
    pub(super) marks: Vec<Value>,
    /// Further fields of the message, which the API does not accept.
    pub(super) message: Map<String, Value>,
}

/// What is left of a block once its payload was stored.
#[derive(Debug)]
pub(super) struct LeftBlock {
    pub(super) kind: BlockKind,
    pub(super) fields: Map<String, Value>,
}

/// How a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// As reasoning.
    Reasoning,
    /// As a content part.
    Content,
    /// As a call.
    Call,
    /// Only here: it says nothing to a model.
    Mark,
}

impl BlockKind {
    const ALL: [Self; 4] = [Self::Reasoning, Self::Content, Self::Call, Self::Mark];

    fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Content => "content",
            Self::Call => "call",
            Self::Mark => "mark",
        }
    }
}

/// The field with which Strands Agents keeps Gemini's signature of a call; its own formatters leave it out for Bedrock.
pub(super) const CALL_SIGNATURE: &str = "reasoningSignature";

const CACHE_POINT: &str = "cachePoint";

/// The blocks that say nothing to a model.
const MARKS: Table = &[
    (CACHE_POINT, Shape::Fields(&[("ttl", Shape::Text), ("type", Shape::Text)])),
    // Without a text; Nova has such blocks between those with its texts.
    ("citationsContent", Shape::Fields(CITATIONS)),
    ("toolAddition", Shape::Fields(TOOL)),
    ("toolRemoval", Shape::Fields(TOOL)),
];

const TOOL: Table = &[("tool", Shape::Fields(TOOL_FIELDS))];

const TOOL_FIELDS: Table =
    &[("name", Shape::Text), ("serverName", Shape::Text), ("type", Shape::Text)];

/// Returns whether a block is one that says nothing to a model.
pub(super) fn is_mark(block: &Value) -> bool {
    let has_text = !is_empty_value(&block["citationsContent"]["content"]);
    block.as_object().is_some_and(|it| {
        it.len() == 1 && it.keys().all(|name| MARKS.iter().any(|(known, _)| known == name))
    }) && !has_text
}

/// Returns whether the API accepts a mark.
fn is_valid_mark(block: &Value) -> bool {
    let is_short = |text: &Value| text.as_str().is_some_and(|it| (1..=64).contains(&it.len()));
    block.as_object().is_some_and(|it| it.len() == 1 && fits(it, MARKS))
        && block.get("cachePoint").is_none_or(|it| {
            it["type"] == "default" && it.get("ttl").is_none_or(|ttl| ttl == "5m" || ttl == "1h")
        })
        && ["toolAddition", "toolRemoval"]
            .iter()
            .filter_map(|name| block.get(*name))
            .all(|it| it["tool"].as_object().is_some_and(|tool| tool.values().all(is_short)))
}

impl Layout {
    /// Takes the fields that a message came with; returns also whether there are some that the API does not accept.
    pub(super) fn take(message: &mut CanonicalMessage) -> (Self, bool) {
        let mut stored = std::mem::take(&mut message.provider);
        let mut blocks = Vec::new();
        let mut removes_any = !take_object(&mut stored, "message").is_empty();
        for block in take_list(&mut stored, "blocks") {
            match LeftBlock::read(block) {
                Some(block) => blocks.push(block),
                None => removes_any = true,
            }
        }
        let mut marks = take_list(&mut stored, "marks");
        let count = marks.len();
        marks.retain(is_valid_mark);
        removes_any |= marks.len() < count;
        let result = take_object(&mut stored, "result");
        (Self { blocks, result, marks, message: Map::new() }, removes_any)
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = Map::new();
        let blocks: Vec<_> = self.blocks.into_iter().map(LeftBlock::write).collect();
        for (field, list) in [("blocks", blocks), ("marks", self.marks)] {
            if !list.is_empty() {
                stored.insert(field.to_owned(), list.into());
            }
        }
        for (field, object) in [("result", self.result), ("message", self.message)] {
            if !object.is_empty() {
                stored.insert(field.to_owned(), object.into());
            }
        }
        keep_own(body, NAME, stored);
    }
}

/// Removes the points of a cache: a client moves them to its newest message.
pub(super) fn remove_cache_points(body: &mut MessageBody) {
    let mut stored = take_object(&mut take_object(&mut body.extra, MessageBody::PROVIDER), NAME);
    let mut marks = take_list(&mut stored, "marks");
    marks.retain(|mark| mark.get(CACHE_POINT).is_none());
    let blocks = take_list(&mut stored, "blocks").into_iter().filter_map(LeftBlock::read);
    let is_point =
        |left: &LeftBlock| left.kind == BlockKind::Mark && left.fields.contains_key(CACHE_POINT);
    let blocks = without_clear(blocks.filter(|left| !is_point(left)).collect());
    let [result, message] = ["result", "message"].map(|field| take_object(&mut stored, field));
    Layout { blocks, result, marks, message }.keep(body);
}

/// Returns what is left of blocks, unless their order is clear without.
pub(super) fn without_clear(left: Vec<LeftBlock>) -> Vec<LeftBlock> {
    let is_whole = |left: &LeftBlock| left.kind != BlockKind::Mark && left.fields.is_empty();
    let is_clear =
        left.iter().all(is_whole) && left.is_sorted_by_key(|left| left.kind == BlockKind::Call);
    if is_clear { Vec::new() } else { left }
}

impl LeftBlock {
    fn read(stored: Value) -> Option<Self> {
        let Value::Object(mut stored) = stored else { return None };
        let kind = stored.remove("kind")?;
        let kind = BlockKind::ALL.into_iter().find(|known| kind == known.as_str())?;
        let fields = take_object(&mut stored, "fields");
        let is_valid = kind != BlockKind::Mark || is_valid_mark(&fields.clone().into());
        is_valid.then_some(Self { kind, fields })
    }

    fn write(self) -> Value {
        let mut stored = Map::new();
        stored.insert("kind".to_owned(), self.kind.as_str().into());
        if !self.fields.is_empty() {
            stored.insert("fields".to_owned(), self.fields.into());
        }
        stored.into()
    }
}

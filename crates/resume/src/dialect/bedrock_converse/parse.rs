use std::collections::HashSet;

use records::NewMessage;
use serde_json::{Map, Value, json};

use super::kept::{SERVED, SERVED_BLOCKS};
use super::layout::{BlockKind, CALL_SIGNATURE, Layout, LeftBlock, is_mark, without_clear};
use super::media;
use super::read_result::read_result;
use crate::DropReason;
use crate::canonical::{Reasoning, take_field};
use crate::dialect::parsed::{
    self, MessageBuilder, Parsed, TranscriptPosition, as_object, take_text, text_part,
};

pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    let mut parsed = read_system(system);
    for (index, message) in messages.into_iter().enumerate() {
        match read(message) {
            Ok(read) => {
                for message in read {
                    parsed.add(TranscriptPosition::Message(index), message);
                }
            }
            Err(reason) => parsed.drop(index, reason),
        }
    }
    parsed
}

/// Parses the instructions: each is a text, or a block; marks belong to the instruction before them.
fn read_system(system: Vec<Value>) -> Parsed {
    let mut read: Vec<(usize, Value, Layout)> = Vec::new();
    for (index, mut block) in system.into_iter().enumerate() {
        if let Some((_, _, layout)) = read.last_mut().filter(|_| is_mark(&block)) {
            layout.marks.push(block);
            continue;
        }
        let guarded = block.get("guardContent").and_then(|it| read_content("guardContent", it));
        let (text, layout) = if let Some((mut part, fields)) = guarded {
            let left = LeftBlock { kind: BlockKind::Content, fields };
            (take_field(&mut part, "text"), Layout { blocks: vec![left], ..Layout::default() })
        } else {
            let text = take_field(&mut block, "text");
            (if text.is_null() { block } else { text }, Layout::default())
        };
        read.push((index, text, layout));
    }
    let mut parsed = Parsed::default();
    for (index, text, layout) in read {
        let mut body = records::MessageBody::new("system", None, text);
        layout.keep(&mut body);
        parsed.add(TranscriptPosition::System(index), body.into());
    }
    parsed
}

/// Reads a message; the results in it become messages before it.
fn read(message: Value) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
    if !["user", "assistant", "system"].contains(&role.as_str()) {
        return Err(DropReason::unsupported_role(&role));
    }
    let Some(Value::Array(blocks)) = object.remove("content") else {
        return Err(DropReason::NullContent);
    };
    let mut results: Vec<(NewMessage, Layout)> = Vec::new();
    let mut reader = BlockReader { served: served(&role, &blocks), ..BlockReader::default() };
    for mut block in blocks {
        let is_served = reader.is_served(&block);
        match block.get_mut("toolResult").filter(|_| !is_served) {
            Some(result) => results.push(read_result(result.take())),
            None => reader.read(&block),
        }
    }
    if let Some((_, layout)) = results.last_mut().filter(|_| reader.has_only_marks()) {
        layout.marks = reader.left.drain(..).map(|left| left.fields.into()).collect();
    }
    if !reader.left.is_empty() || results.is_empty() {
        let layout = Layout { blocks: reader.take_left(), ..Layout::default() };
        results.push((reader.builder.into_body(&role, None).into(), layout));
    }
    if let Some((_, layout)) = results.last_mut() {
        object.retain(|_, value| !value.is_null());
        layout.message = object;
    }
    let keep = |(mut message, layout): (NewMessage, Layout)| {
        layout.keep(&mut message.body);
        message
    };
    Ok(results.into_iter().map(keep).collect())
}

/// Returns the ids of the calls that the provider has served itself: their results are in the same message.
fn served(role: &str, blocks: &[Value]) -> HashSet<String> {
    let results = blocks.iter().filter_map(|block| block["toolResult"]["toolUseId"].as_str());
    let results: HashSet<&str> = results.filter(|_| role == "assistant").collect();
    let calls = blocks.iter().map(|block| &block["toolUse"]).filter(|call| call["type"] == SERVED);
    let ids = calls.filter_map(|call| call["toolUseId"].as_str());
    ids.filter(|id| results.contains(id)).map(str::to_owned).collect()
}

/// Reads the blocks of a message but for results.
#[derive(Default)]
struct BlockReader {
    /// The ids of the calls that the provider has served itself. They and their results stay as they are.
    served: HashSet<String>,
    builder: MessageBuilder,
    left: Vec<LeftBlock>,
}

impl BlockReader {
    fn has_only_marks(&self) -> bool {
        self.left.iter().all(|left| left.kind == BlockKind::Mark)
    }

    /// Returns whether a block is a call that the provider has served itself, or its result.
    fn is_served(&self, block: &Value) -> bool {
        let id = SERVED_BLOCKS.iter().find_map(|name| block[*name]["toolUseId"].as_str());
        id.is_some_and(|id| self.served.contains(id))
    }

    fn read(&mut self, block: &Value) {
        let (kind, fields) = match self.read_payload(block) {
            Ok(read) => read,
            Err(part) => {
                self.builder.parts.push(part);
                (BlockKind::Content, Map::new())
            }
        };
        self.left.push(LeftBlock { kind, fields });
    }

    /// Reads a block; returns the content part for one that stays as it is.
    fn read_payload(&mut self, block: &Value) -> Result<(BlockKind, Map<String, Value>), Value> {
        if is_mark(block) {
            return Ok((BlockKind::Mark, block.as_object().cloned().unwrap_or_default()));
        }
        let single = block.as_object().filter(|fields| fields.len() == 1);
        let Some((name, payload)) = single.and_then(|fields| fields.iter().next()) else {
            return Err(text_part(block.to_string()));
        };
        match (name.as_str(), payload) {
            ("text", Value::String(text)) => {
                self.builder.parts.push(text_part(text.as_str()));
                Ok((BlockKind::Content, Map::new()))
            }
            ("toolUse", Value::Object(call)) if !self.is_served(block) => {
                Ok((BlockKind::Call, self.read_call(call)))
            }
            ("reasoningContent", payload) => {
                let (reasoning, left) =
                    read_reasoning(payload).ok_or_else(|| kept(name, payload))?;
                self.builder.push_reasoning(reasoning);
                Ok((BlockKind::Reasoning, left))
            }
            (name, payload) => {
                let (part, left) =
                    read_content(name, payload).ok_or_else(|| kept(name, payload))?;
                self.builder.parts.push(part);
                Ok((BlockKind::Content, left))
            }
        }
    }

    fn read_call(&mut self, call: &Map<String, Value>) -> Map<String, Value> {
        let text = |field: &str| call.get(field).and_then(Value::as_str).unwrap_or_default();
        let input = call.get("input").cloned().unwrap_or_else(|| json!({}));
        let mut stored = parsed::stored_call(text("toolUseId"), text("name"), &input);
        let mut left = call.clone();
        if let Some(signature) = left.get_mut(CALL_SIGNATURE).filter(|it| it.is_string()) {
            stored["extra_content"] = json!({"google": {"thought_signature": signature.take()}});
        }
        self.builder.calls.push(stored);
        left.retain(|field, _| !["toolUseId", "name", "input"].contains(&field.as_str()));
        left
    }

    /// Returns what is left of the blocks, unless it is clear without.
    fn take_left(&mut self) -> Vec<LeftBlock> {
        without_clear(std::mem::take(&mut self.left))
    }
}

/// Reads reasoning, and what it has besides.
fn read_reasoning(payload: &Value) -> Option<(Reasoning, Map<String, Value>)> {
    if let Some(data) = payload.get("redactedContent") {
        return Some((Reasoning::Redacted(data.as_str()?.to_owned()), Map::new()));
    }
    let mut left = payload.get("reasoningText")?.as_object()?.clone();
    let Some(Value::String(text)) = left.shift_remove("text") else { return None };
    let signature = match left.shift_remove("signature") {
        Some(Value::String(signature)) => Some(signature).filter(|it| !it.is_empty()),
        _ => None,
    };
    Some((Reasoning::Text { text, signature }, left))
}

/// Reads a block that has a content part; returns it, and what it does not hold.
pub(super) fn read_content(name: &str, payload: &Value) -> Option<(Value, Map<String, Value>)> {
    let (text, mut left) = match name {
        "image" | "document" | "video" | "audio" => return media::take(name, payload),
        "guardContent" => {
            let mut left = payload.get("text")?.as_object()?.clone();
            (left.shift_remove("text")?, left)
        }
        "citationsContent" => {
            let mut left = payload.as_object()?.clone();
            let content = left.shift_remove("content")?;
            let [only] = content.as_array()?.as_slice() else { return None };
            (only.get("text")?.clone(), left)
        }
        _ => return None,
    };
    left.insert("block".to_owned(), name.into());
    text.is_string().then(|| (text_part(text), left))
}

/// Returns the content part of a block that stays as it is; its type is its name.
pub(super) fn kept(name: &str, payload: &Value) -> Value {
    let mut part = json!({"type": name});
    part[name] = payload.clone();
    part
}

use std::collections::VecDeque;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::documents::DocumentNames;
use super::kept::{CITATIONS, GUARD, SERVED, is_kept, is_kept_in_result, is_served};
use super::layout::{BlockKind, CALL_SIGNATURE, LeftBlock};
use super::media;
use super::write::text_block;
use crate::Repair;
use crate::canonical::{
    CanonicalMessage, ContentPart, PlacedReasoning, Reasoning, Role, interleave, take_list,
};
use crate::dialect::call_places;
use crate::dialect::pieces::{Piece, take_unnamed_pieces};
use crate::dialect::shapes::retain;
use crate::dialect::speaker;
use crate::dialect::turns::CONTINUE_PROMPT;
use crate::dropped::shorten;

pub(super) fn is_reasoning(block: &Value) -> bool {
    block.get("reasoningContent").is_some()
}

/// Writes what a message says and calls; its blocks are in the order in which they came, if there are still as many. `places` are
/// those of the calls of a message that came in another format.
pub(super) fn write_speech(
    message: &mut CanonicalMessage,
    left: Vec<LeftBlock>,
    places: &[usize],
    default_user_name: &str,
    documents: &mut DocumentNames,
) -> Vec<Value> {
    let count = |kind| left.iter().filter(|left: &&LeftBlock| left.kind == kind).count();
    let counts = [BlockKind::Reasoning, BlockKind::Content, BlockKind::Call].map(count);
    let reasoning = message.take_placed_reasoning().unwrap_or_default();
    let is_kept = if message.role == Role::User { is_kept } else { is_served };
    let pieces = take_unnamed_pieces(message, is_kept);
    let fits = counts == [reasoning.len(), pieces.len(), message.calls.len()];
    let mut writer = BlockWriter { message, documents, removes_any: !fits && !left.is_empty() };
    let left = if fits { left } else { Vec::new() };
    let mut of_content = left.iter().filter(|left| left.kind == BlockKind::Content);
    let content = pieces.into_iter().map(|piece| {
        let left = of_content.next().map(|left| left.fields.clone());
        writer.write_piece(piece, left.unwrap_or_default())
    });
    let mut content: Vec<_> = content.collect();
    let first_text = content.iter_mut().flatten().find_map(text_of);
    speaker::prefix_text_with_name(writer.message, first_text, default_user_name);
    let calls = writer.write_calls(&left);
    let mut blocks = if left.is_empty() {
        let blocks = interleave(reasoning, content, |reasoning| writer.write_reasoning(reasoning));
        let calls = calls.into_iter().map(Some).collect();
        call_places::place(blocks, calls, places).into_iter().flatten().collect()
    } else {
        let reasoning: VecDeque<_> = reasoning.into_iter().collect();
        writer.arrange(left, reasoning, content.into(), calls.into())
    };
    writer.remove_last_reasoning(&mut blocks);
    writer.add_text_to_documents(&mut blocks);
    if writer.removes_any {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    blocks
}

/// Writes the result of a call.
pub(super) fn write_result(
    message: &mut CanonicalMessage,
    mut left: Map<String, Value>,
    documents: &mut DocumentNames,
) -> Value {
    let mut of_parts = take_list(&mut left, "content").into_iter();
    let mut writer = BlockWriter { message, documents, removes_any: false };
    let mut content = Vec::new();
    if writer.message.content.is_object() {
        content.push(json!({"json": writer.message.content.take()}));
    } else {
        for piece in take_unnamed_pieces(writer.message, is_kept_in_result) {
            let left = match of_parts.next() {
                Some(Value::Object(left)) => left,
                _ => Map::new(),
            };
            content.extend(writer.write_result_piece(piece, left));
        }
    }
    let mut block = json!({"toolUseId": writer.message.call_id, "content": content});
    if writer.message.is_error {
        block["status"] = "error".into();
    } else if left.get("status").is_some_and(|it| it == "success") {
        block["status"] = "success".into();
    }
    if let Some(kind @ Value::String(_)) = left.get("type") {
        block["type"] = kind.clone();
    }
    if writer.removes_any {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    json!({"toolResult": block})
}

/// Writes the blocks of one message.
struct BlockWriter<'a> {
    message: &'a mut CanonicalMessage,
    documents: &'a mut DocumentNames,
    /// Whether fields that were stored for this format are left out.
    removes_any: bool,
}

impl BlockWriter<'_> {
    /// Writes a piece of the content; `None` for a text that says nothing.
    fn write_piece(&mut self, piece: Piece, left: Map<String, Value>) -> Option<Value> {
        if piece.is_blank() {
            self.message.repairs.push(Repair::BlankTextRemoved);
            return None;
        }
        Some(match piece {
            Piece::Kept(part) => self.write_kept(part),
            Piece::Content(ContentPart::Text(text)) => self.write_text(text, left),
            Piece::Content(ContentPart::Media(media)) => match media::write(&media, left) {
                Some(written) => self.write_media(written, media.name.as_deref()),
                None => text_block(&self.message.part_text(ContentPart::Media(media))),
            },
        })
    }

    /// Writes a piece of a result, which has no sounds.
    fn write_result_piece(&mut self, piece: Piece, left: Map<String, Value>) -> Option<Value> {
        match piece {
            Piece::Content(ContentPart::Media(media))
                if media::write(&media, left.clone()).is_none_or(|it| it.kind == "audio") =>
            {
                Some(text_block(&self.message.part_text(ContentPart::Media(media))))
            }
            piece => self.write_piece(piece, left),
        }
    }

    fn write_media(&mut self, written: media::WrittenMedia, name: Option<&str>) -> Value {
        let media::WrittenMedia { kind, payload, removes_any } = written;
        self.removes_any |= removes_any;
        if kind == "document" {
            return self.write_document(payload, name);
        }
        Value::from_iter([(kind, payload)])
    }

    /// Writes a document with its name; a text stands for one that the request cannot have.
    fn write_document(&mut self, mut document: Value, name: Option<&str>) -> Value {
        if !self.documents.admits(&document) {
            let name = shorten(name.unwrap_or("document"));
            self.message.repairs.push(Repair::DocumentLeftOut { name: name.clone() });
            return json!({"text": format!("[The document {name:?} is left out.]")});
        }
        let (name, repair) = self.documents.name(name);
        self.message.repairs.extend(repair);
        document["name"] = name.into();
        json!({"document": document})
    }

    /// Writes a part that no other format has: its payload, without the type.
    fn write_kept(&mut self, mut part: Value) -> Value {
        if let Some(fields) = part.as_object_mut() {
            fields.shift_remove("type");
        }
        if let Some(document) = part.get_mut("document").map(Value::take) {
            let name = document["name"].as_str().map(str::to_owned);
            return self.write_document(document, name.as_deref());
        }
        part
    }

    /// Writes a text, in the block in which it came.
    fn write_text(&mut self, text: String, mut left: Map<String, Value>) -> Value {
        let block = left.shift_remove("block");
        let role = self.message.role;
        let (mut payload, name) = match block.as_ref().and_then(Value::as_str) {
            Some("guardContent") if role != Role::Assistant => {
                self.removes_any |= retain(&mut left, GUARD);
                let mut payload = json!({"text": {"text": text}});
                merge(&mut payload["text"], left);
                (payload, "guardContent")
            }
            Some("citationsContent") if role == Role::Assistant => {
                self.removes_any |= retain(&mut left, CITATIONS);
                let mut payload = json!({"content": [{"text": text}]});
                merge(&mut payload, left);
                (payload, "citationsContent")
            }
            other => {
                self.removes_any |= other.is_some() || !left.is_empty();
                (text.into(), "text")
            }
        };
        Value::from_iter([(name, payload.take())])
    }

    fn write_calls(&mut self, left: &[LeftBlock]) -> Vec<Value> {
        let mut left = left.iter().filter(|left| left.kind == BlockKind::Call);
        let mut blocks = Vec::new();
        for call in &mut self.message.calls {
            let input = call.take_arguments();
            let mut signature = call.gemini_signature().map(str::to_owned);
            let mut block = json!({"toolUseId": call.id, "name": call.target.name, "input": input});
            for (field, value) in left.next().into_iter().flat_map(|left| &left.fields) {
                if field == "type" && value == SERVED {
                    block["type"] = value.clone();
                } else if field == CALL_SIGNATURE && value.is_null() {
                    block[CALL_SIGNATURE] = signature.take().into();
                } else {
                    self.removes_any = true;
                }
            }
            if signature.is_some() {
                call.repairs.push(Repair::CallFieldsRemoved);
            }
            blocks.push(json!({"toolUse": block}));
        }
        blocks
    }

    /// Writes reasoning; `None` if what a provider encrypted is no base64.
    fn write_reasoning(&mut self, reasoning: Reasoning) -> Option<Value> {
        let block = match reasoning {
            Reasoning::Redacted(data) if BASE64_STANDARD.decode(&data).is_ok() => {
                json!({"redactedContent": data})
            }
            Reasoning::Text { text, signature: Some(signature) } => {
                json!({"reasoningText": {"text": text, "signature": signature}})
            }
            _ => {
                self.message.repairs.push(Repair::ReasoningRemoved);
                return None;
            }
        };
        Some(json!({"reasoningContent": block}))
    }

    /// Puts the blocks into the order in which they came, with the marks between them.
    fn arrange(
        &mut self,
        left: Vec<LeftBlock>,
        mut reasoning: VecDeque<PlacedReasoning>,
        mut content: VecDeque<Option<Value>>,
        mut calls: VecDeque<Value>,
    ) -> Vec<Value> {
        let mut blocks = Vec::with_capacity(left.len());
        for left in left {
            blocks.extend(match left.kind {
                BlockKind::Reasoning => {
                    self.removes_any |= !left.fields.is_empty();
                    reasoning.pop_front().and_then(|it| self.write_reasoning(it.reasoning))
                }
                BlockKind::Content => content.pop_front().flatten(),
                BlockKind::Call => calls.pop_front(),
                BlockKind::Mark => Some(left.fields.into()),
            });
        }
        blocks
    }

    /// Removes reasoning after which nothing follows: Claude refuses a message that ends with it.
    fn remove_last_reasoning(&mut self, blocks: &mut Vec<Value>) {
        let says_something = blocks.iter().any(|block| !is_reasoning(block));
        while says_something && blocks.last().is_some_and(is_reasoning) {
            blocks.pop();
            self.message.repairs.push(Repair::ReasoningRemoved);
        }
    }

    /// Adds a text to a message with documents alone, which the API refuses: archestra-ai/archestra#4220.
    fn add_text_to_documents(&mut self, blocks: &mut Vec<Value>) {
        let has = |name: &str| blocks.iter().any(|block| block.get(name).is_some());
        if has("document") && !has("text") {
            self.message.repairs.push(Repair::TurnAdded);
            blocks.push(text_block(CONTINUE_PROMPT));
        }
    }
}

/// Returns the text of a block, to which the name of the speaker may be added.
fn text_of(block: &mut Value) -> Option<&mut String> {
    let place = ["/text", "/guardContent/text/text", "/citationsContent/content/0/text"];
    let found = place.into_iter().find(|place| block.pointer(place).is_some())?;
    match block.pointer_mut(found)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn merge(payload: &mut Value, left: Map<String, Value>) {
    for (field, value) in left {
        payload[field] = value;
    }
}

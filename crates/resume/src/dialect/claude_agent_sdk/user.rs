use records::{MessageBody, NewMessage};
use serde_json::Value;

use super::block::{is_kept, read_part, read_result, single_text, write_piece};
use super::own::{OwnEntry, OwnFields};
use crate::Repair;
use crate::canonical::{CanonicalMessage, are_parts};
use crate::dialect::parsed::stored_result;
use crate::dialect::pieces::take_pieces;

/// Reads the content of an entry of the user: each result becomes a message, and what else is said becomes one after them.
pub(super) fn read_user(content: Value, mut own: OwnEntry) -> Vec<(NewMessage, OwnFields)> {
    let Value::Array(blocks) = content else {
        let body = MessageBody::new("user", None, content);
        let own = OwnFields { entry: Some(own), ..OwnFields::default() };
        return vec![(body.into(), own)];
    };
    let numbered = blocks.into_iter().enumerate();
    let (results, others): (Vec<_>, Vec<_>) =
        numbered.partition(|(_, block)| block["type"] == "tool_result");
    let order: Vec<_> = results.iter().chain(&others).map(|(at, _)| *at).collect();
    if !order.is_sorted() {
        own.order = order;
    }
    let mut messages: Vec<(NewMessage, Vec<Value>)> = Vec::with_capacity(results.len() + 1);
    for (_, result) in results {
        let (call_id, content, failed, own) = read_result(result);
        messages.push((stored_result(&call_id, content, failed), vec![own]));
    }
    if !others.is_empty() {
        let (parts, own): (Vec<_>, Vec<_>) =
            others.into_iter().map(|(_, block)| read_part(block)).unzip();
        messages.push((MessageBody::new("user", None, parts).into(), own));
    }
    let mut own = Some(own);
    let with_own = |(message, blocks): (NewMessage, Vec<Value>)| {
        let continues = own.is_none();
        let entry = OwnEntry { blocks, ..own.take().unwrap_or_default() };
        (message, OwnFields { entry: Some(entry), continues, ..OwnFields::default() })
    };
    messages.into_iter().map(with_own).collect()
}

/// Writes what the user says: a text, or blocks with their own fields if the SDK wrote them.
pub(super) fn write_speech(
    message: &mut CanonicalMessage,
    own: Option<Vec<Value>>,
    default_user_name: &str,
) -> Value {
    let list = message.content.as_array().filter(|list| !list.is_empty() && are_parts(list));
    let count = list.map(Vec::len);
    let is_own = own.is_some();
    let own = own.filter(|own| Some(own.len()) == count);
    let keeps = if own.is_some() { is_kept } else { |_: &Value| false };
    let mut pieces = take_pieces(message, keeps, default_user_name);
    if !is_own {
        let before = pieces.len();
        pieces.retain(|piece| !piece.is_blank());
        if pieces.len() < before {
            message.repairs.push(Repair::BlankTextRemoved);
        }
    }
    let mut own = own.into_iter().flatten();
    let mut blocks = Vec::with_capacity(pieces.len());
    for piece in pieces {
        blocks.push(write_piece(message, piece, own.next().unwrap_or_default()));
    }
    let text = count.is_none().then(|| single_text(&mut blocks)).flatten();
    text.unwrap_or_else(|| blocks.into())
}

/// Puts each block where it was: `order` holds the places of all.
pub(super) fn put_in_order(blocks: &mut [Value], order: &[usize]) {
    let mut places = order.to_vec();
    places.sort_unstable();
    if places.into_iter().eq(0..blocks.len()) {
        let taken: Vec<_> = blocks.iter_mut().map(Value::take).collect();
        for (at, block) in order.iter().zip(taken) {
            blocks[*at] = block;
        }
    }
}

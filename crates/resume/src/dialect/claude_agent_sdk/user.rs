use records::{MessageBody, NewMessage};
use serde_json::Value;

use super::block::{read_part, read_result};
use super::own::{OwnEntry, OwnFields};
use crate::dialect::parsed::stored_result;

/// Reads the content of an entry of the user: each result becomes a message, and what else is said becomes one after them.
pub(super) fn read_user(content: Value, mut own: OwnEntry) -> Vec<(NewMessage, OwnFields)> {
    let Value::Array(blocks) = content else {
        let body = MessageBody::new("user", None, content);
        let own = OwnFields { entries: vec![own], ..OwnFields::default() };
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
        (message, OwnFields { entries: vec![entry], continues, ..OwnFields::default() })
    };
    messages.into_iter().map(with_own).collect()
}

use records::{MessageBody, NewMessage};
use serde_json::{Map, Value};

use super::own::{OwnFields, remove_empty};
use super::{request, response};
use crate::DropReason;
use crate::dialect::parsed::{Parsed, TranscriptPosition, as_object, take_text};

/// Parses messages; each part of a request becomes a message, and a response becomes one.
pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    let mut parsed = Parsed::from_system(system);
    for (index, message) in messages.into_iter().enumerate() {
        if let Err(reason) = read(&mut parsed, index, message) {
            parsed.drop(index, reason);
        }
    }
    parsed
}

fn read(parsed: &mut Parsed, index: usize, message: Value) -> Result<(), DropReason> {
    let mut fields = as_object(message)?;
    let kind = take_text(&mut fields, "kind").ok_or(DropReason::MissingRole)?;
    let Some(Value::Array(parts)) = fields.remove("parts") else {
        return Err(DropReason::NullContent);
    };
    let fields = remove_empty(fields);
    match kind.as_str() {
        "response" => {
            let (body, own) = response::read_parts(parts);
            let own = OwnFields { message: Some(fields), ..own };
            add(parsed, index, body.into(), own);
        }
        "request" => read_request(parsed, index, parts, fields),
        other => return Err(DropReason::unsupported_role(other)),
    }
    Ok(())
}

/// Reads a request; its first message keeps the fields of the request. One without parts, as a run without a prompt begins,
/// is a message that says nothing.
fn read_request(parsed: &mut Parsed, index: usize, parts: Vec<Value>, fields: Map<String, Value>) {
    if parts.is_empty() {
        let own = OwnFields { message: Some(fields), is_empty: true, ..OwnFields::default() };
        return add(parsed, index, MessageBody::new("user", None, Value::Null).into(), own);
    }
    let mut fields = Some(fields);
    for part in parts {
        match request::read_part(part) {
            Ok((message, own)) => {
                add(parsed, index, message, OwnFields { message: fields.take(), ..own });
            }
            Err(reason) => parsed.drop(index, reason),
        }
    }
}

fn add(parsed: &mut Parsed, index: usize, mut message: NewMessage, own: OwnFields) {
    own.keep(&mut message.body);
    parsed.add(TranscriptPosition::Message(index), message);
}

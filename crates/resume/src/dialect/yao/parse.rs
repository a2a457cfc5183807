use records::{AssistantId, EventId, JsonObject, MessageBody, NewMessage};
use serde_json::Value;

use super::NAME;
use super::stored::{self, TEXT_FIELDS};
use crate::DropReason;
use crate::dialect::parsed::{EventIds, Parsed, as_object, keep_unread, take_text};

/// Fields that the store itself gives a message, and those of a stream in flight.
const NOT_STORED: [&str; 7] =
    ["id", "chat_id", "sequence", "updated_at", "chunk_id", "delta", "delta_path"];

/// Parses typed messages, each into one message.
pub(super) fn parse(system: Vec<Value>, messages: Vec<Value>) -> Parsed {
    let mut ids = EventIds::default();
    Parsed::from_transcript(system, messages, |message| read(message, &mut ids).map(Some))
}

fn read(message: Value, ids: &mut EventIds) -> Result<NewMessage, DropReason> {
    let mut fields = as_object(message)?;
    let role = match fields.remove("role") {
        None | Some(Value::Null) => return Err(DropReason::MissingRole),
        Some(Value::String(role)) if role == "user" || role == "assistant" => role,
        Some(Value::String(other)) => return Err(DropReason::unsupported_role(&other)),
        Some(other) => return Err(DropReason::unsupported_role(&other.to_string())),
    };
    let (kind, props) = (take_text(&mut fields, "type"), fields.shift_remove("props"));
    let (Some(kind), Some(Value::Object(props))) = (kind, props) else {
        return Err(DropReason::MissingProps);
    };
    if kind == "event" {
        return Err(DropReason::Transient);
    }
    let metadata = match fields.shift_remove("metadata") {
        Some(Value::Object(metadata)) => Some(metadata),
        _ => None,
    };
    let answered = metadata.as_ref().filter(|_| kind == "text" && role == "assistant");
    let answered = answered.and_then(answered_call);
    let timestamp = take_text(&mut fields, "created_at");
    let mut body = MessageBody { role, metadata, timestamp, ..MessageBody::default() };
    for field in ["message_id"].into_iter().chain(TEXT_FIELDS) {
        if let Some(text) = take_text(&mut fields, field) {
            body.extra.insert(field.to_owned(), text.into());
        }
    }
    body.name = speaker(&body, &props);
    fields.retain(|field, _| !NOT_STORED.contains(&field.as_str()));
    let mut own = MessageBody::default();
    keep_unread(&mut own, NAME, fields);
    body.extra.append(&mut own.extra);
    stored::keep_props(&mut body, &kind, props);
    if let Some(call_id) = answered {
        "tool".clone_into(&mut body.role);
        body.extra.insert("tool_call_id".to_owned(), call_id.into());
    }
    body.extra.insert(MessageBody::TYPE.to_owned(), kind.into());
    Ok(NewMessage { event_id: event_id(&body, ids), ..body.into() })
}

/// Returns the id of a message in its chat: its own id is unique in its request only. So a second message of the request with
/// the id is a repeat, or in conflict with the first one.
fn event_id(body: &MessageBody, ids: &mut EventIds) -> Option<EventId> {
    let id = body.extra_text("message_id")?;
    if let Some(request_id) = body.extra_text(MessageBody::REQUEST_ID) {
        let [answered, said] = stored_ids(request_id, id);
        return if body.role == "user" { said } else { answered };
    }
    let mut fields = JsonObject::from_iter([("id".to_owned(), id.into())]);
    ids.take(&mut fields, "id")
}

/// Returns the ids in its chat that a message of a request has if an agent sends it, which a caller with `say` alone cannot take
/// before, and if a person says it.
pub(super) fn stored_ids(request_id: &str, id: &str) -> [Option<EventId>; 2] {
    let answered = EventId::of_answer(&[("request_id", request_id), ("message_id", id)]);
    [Some(answered), EventId::parse(format!("{request_id}:{id}")).ok()]
}

/// Returns the call whose result a text with these metadata is.
fn answered_call(metadata: &JsonObject) -> Option<String> {
    let is_result = metadata.get("is_tool_result") != Some(&Value::Bool(false));
    let id = metadata.get("tool_call_id")?.as_str()?;
    (is_result && !id.is_empty()).then(|| id.to_owned())
}

fn speaker(body: &MessageBody, props: &JsonObject) -> Option<String> {
    let name = match body.role.as_str() {
        "user" => props.get("name").and_then(Value::as_str),
        _ => body.extra_text("assistant_id"),
    };
    // What is no name of a speaker is kept as it is in `props`, or refused as an `assistant_id`.
    name.filter(|name| AssistantId::parse(*name).is_ok()).map(str::to_owned)
}

use records::{ChatId, JsonObject};
use serde::Serialize;

use crate::live::Delivery;

/// The first fields of an event's frame.
#[derive(Serialize)]
struct FrameHead<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    chat_id: &'a ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<bool>,
}

/// Writes an event as a frame: its type (`chat.` and the name of the event), the chat, and its data.
///
/// `is_replay` tells whether the client is catching up.
pub(super) fn event_frame(chat_id: &ChatId, delivery: &Delivery, is_replay: bool) -> String {
    let event = &delivery.event;
    let kind = if event.is_message() {
        "chat.text".to_owned()
    } else {
        format!("chat.{}", event.name.replace('-', "_"))
    };
    let id = delivery.position.map(|position| position.to_string());
    let replay = event.is_message().then_some(is_replay);
    let head = to_json(&FrameHead { kind: &kind, chat_id, id, replay });
    if let Some(fields) = &event.frame_fields {
        // A message may be large and have many subscribers: its JSON was written once, and is joined as
        // text here instead of being parsed for each of them.
        return join_objects([&head, fields, &event.data]);
    }
    let mut fields: JsonObject = serde_json::from_str(&event.data).unwrap_or_default();
    fields.shift_remove("type");
    fields.shift_remove("chat_id");
    join_objects([&head, &to_json(&fields)])
}

/// Joins JSON objects without common fields into one, as text.
fn join_objects<const N: usize>(objects: [&str; N]) -> String {
    let fields = objects.map(|object| object.trim_start_matches('{'));
    let fields = fields.map(|fields| fields.strip_suffix('}').unwrap_or(fields));
    let fields: Vec<_> = fields.into_iter().filter(|fields| !fields.is_empty()).collect();
    format!("{{{}}}", fields.join(","))
}

fn to_json(fields: &impl Serialize) -> String {
    // Plain structs and JSON values always serialize.
    serde_json::to_string(fields).unwrap_or_default()
}

use records::{ChatId, JsonObject};
use serde::Serialize;

use crate::live::event::Delivery;

/// What the frame of a message begins with.
#[derive(Serialize)]
struct Opening<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    chat_id: &'a ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<bool>,
}

/// Writes an event as a frame: its data, and before that its type, `chat.` and its name, and the chat.
///
/// `is_replay` tells whether the client catches up.
pub(super) fn text(chat_id: &ChatId, delivery: &Delivery, is_replay: bool) -> String {
    let event = &delivery.event;
    let kind = if event.is_message() {
        "chat.text".to_owned()
    } else {
        format!("chat.{}", event.name.replace('-', "_"))
    };
    let id = delivery.position.map(|position| position.to_string());
    let replay = event.is_message().then_some(is_replay);
    let opening = written(&Opening { kind: &kind, chat_id, id, replay });
    if let Some(lead) = &event.lead {
        // A message may be large: it was written once, and is not read here.
        return joined([&opening, lead, &event.data]);
    }
    let mut fields: JsonObject = serde_json::from_str(&event.data).unwrap_or_default();
    fields.shift_remove("type");
    fields.shift_remove("chat_id");
    joined([&opening, &written(&fields)])
}

/// Writes objects, which have no field in common, as one.
fn joined<const N: usize>(objects: [&str; N]) -> String {
    let fields = objects.map(|object| object.trim_start_matches('{'));
    let fields = fields.map(|fields| fields.strip_suffix('}').unwrap_or(fields));
    let fields: Vec<_> = fields.into_iter().filter(|fields| !fields.is_empty()).collect();
    format!("{{{}}}", fields.join(","))
}

fn written(fields: &impl Serialize) -> String {
    // Plain structs and JSON cannot fail to be written.
    serde_json::to_string(fields).unwrap_or_default()
}

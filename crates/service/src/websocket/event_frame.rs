use records::ChatId;
use serde::Serialize;

use crate::live::{Delivery, Event, MessageEvent, fields_of};

/// The first fields of an event's frame; the data of the event follows.
#[derive(Serialize)]
struct FrameHead<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Missing where the data begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<&'a ChatId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<bool>,
    #[serde(flatten)]
    message: Option<MessageFields<'a>>,
}

/// The fields that a frame has besides those of its message.
#[derive(Serialize)]
struct MessageFields<'a> {
    /// The sequence, by its name in frames.
    index: u64,
    /// The speaker.
    agent: &'a str,
    /// The `type` of the message, which the frame has itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_type: Option<&'a str>,
    /// Null where the message has no metadata; otherwise the message has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<()>,
}

/// Writes an event as a frame: its type, the chat, and its data.
///
/// `is_replay` tells whether the client is catching up.
pub(super) fn event_frame(chat_id: &ChatId, delivery: &Delivery, is_replay: bool) -> String {
    let event = &delivery.event;
    let head = FrameHead {
        kind: kind(event),
        chat_id: (!names_chat(event)).then_some(chat_id),
        id: delivery.position.map(|position| position.to_string()),
        replay: matches!(event, Event::Message(_)).then_some(is_replay),
        message: message(event).map(MessageFields::from),
    };
    format!("{{{},{}}}", fields_of(&head), event.fields())
}

fn kind(event: &Event) -> &'static str {
    match event {
        Event::Message(_) => "chat.text",
        Event::Edit(message) if message.is_deleted => "chat.message_deleted",
        Event::Edit(_) => "chat.message_updated",
        Event::CaughtUp(_) => "chat.caught_up",
        Event::InputRequest(_) => "chat.input_request",
        Event::InputResponse(_) => "chat.input_response",
        Event::Status(_) => "chat.status",
        Event::Context(_) => "chat.context",
        Event::Artifact(_) => "chat.artifact",
        Event::Chat(_) => "chat.changed",
        Event::Presence(_) => "chat.presence",
        Event::Usage(_) => "chat.usage",
        Event::StreamStarted(_) => "chat.stream_started",
        Event::StreamChunk(_) => "chat.stream_chunk",
        Event::StreamStalled(_) => "chat.stream_stalled",
        Event::StreamFinished(_) => "chat.stream_finished",
    }
}

/// Tells whether the data of an event begins with the id of the chat.
fn names_chat(event: &Event) -> bool {
    matches!(
        event,
        Event::InputRequest(_)
            | Event::InputResponse(_)
            | Event::Presence(_)
            | Event::StreamStarted(_)
            | Event::StreamStalled(_)
            | Event::StreamFinished(_)
    )
}

fn message(event: &Event) -> Option<&MessageEvent> {
    match event {
        Event::Message(message) | Event::Edit(message) => Some(message),
        _ => None,
    }
}

impl<'a> From<&'a MessageEvent> for MessageFields<'a> {
    fn from(message: &'a MessageEvent) -> Self {
        let metadata = (!message.has_metadata).then_some(());
        let message_type = message.message_type.as_deref();
        Self { index: message.sequence, agent: &message.speaker, message_type, metadata }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use records::{EventId, Message, MessageBody};
    use serde_json::json;

    use super::*;
    use crate::live::Position;
    use crate::wire::VersionResponse;

    fn frame(event: Event, position: Option<Position>) -> String {
        let chat_id = ChatId::parse("chat_1").unwrap();
        event_frame(&chat_id, &Delivery { event, position }, true)
    }

    fn message() -> Message {
        let (role, content) = ("user".to_owned(), json!("Hi"));
        Message {
            sequence: 4,
            event_id: EventId::parse("evt_4").unwrap(),
            body: MessageBody { role, content, ..MessageBody::default() },
            author: None,
            created_at: DateTime::UNIX_EPOCH,
            edited_at: None,
            edited_by: None,
            deleted_at: None,
            deleted_by: None,
            is_text_kept: false,
        }
    }

    #[test]
    fn a_frame_has_its_own_fields_before_those_of_the_message() {
        let position = Some(Position { next: 5, revision: 2 });
        let data = r#""sequence":4,"event_id":"evt_4","role":"user","name":null,"content":"Hi","timestamp":"1970-01-01T00:00:00.000Z","created_at":"1970-01-01T00:00:00.000Z"}"#;
        let head = r#"{"type":"chat.text","chat_id":"chat_1","id":"4.2","replay":true,"index":4,"agent":"user","metadata":null,"#;
        assert_eq!(frame(Event::Message(message().into()), position), format!("{head}{data}"));
        let head = r#"{"type":"chat.message_updated","chat_id":"chat_1","index":4,"agent":"user","metadata":null,"#;
        assert_eq!(frame(Event::Edit(message().into()), None), format!("{head}{data}"));
    }

    #[test]
    fn the_type_of_a_message_is_not_the_type_of_its_frame() {
        let mut message = message();
        message.body.extra.insert(MessageBody::TYPE.to_owned(), json!("image"));
        let frame = frame(Event::Message(message.into()), None);
        assert_eq!(frame.matches(r#""type":"#).count(), 1, "{frame}");
        let frame: serde_json::Value = serde_json::from_str(&frame).unwrap();
        assert_eq!(
            (&frame["type"], &frame["message_type"]),
            (&json!("chat.text"), &json!("image"))
        );
    }

    #[test]
    fn a_frame_of_another_event_has_its_data() {
        let event = Event::Context(VersionResponse { version: 3 });
        assert_eq!(frame(event, None), r#"{"type":"chat.context","chat_id":"chat_1","version":3}"#);
    }
}

//! Messages of the AI SDK, with the field `content` that its older clients know.

use records::{EventId, Location, Message};
use resume::dialect::{Parsed, TranscriptPosition, UiMessage};
use resume::ingest::Check;
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};

use crate::adapters::sent_fields::{SentNames, sent_place};
use crate::api::messages::{OWN_ID, read_checked};
use crate::problem::Problem;

/// Reads messages: a call may wait for its result. Their text may be in `content` instead of `parts`.
pub(super) async fn read(mut messages: Vec<Value>) -> Result<Parsed, Problem> {
    messages.iter_mut().for_each(move_content);
    read_checked(&UiMessage, Check::Lenient, messages).await
}

/// Makes the `content` of a message its only part, unless it has parts.
fn move_content(message: &mut Value) {
    let Some(fields) = message.as_object_mut() else { return };
    let content = fields.shift_remove("content");
    let has_parts = fields.get("parts").is_some_and(|parts| !parts.is_null());
    if let (false, Some(Value::String(text))) = (has_parts, content) {
        let is_empty = text.is_empty() && fields.get("role").is_some_and(|it| it == "assistant");
        let parts = if is_empty { json!([]) } else { json!([{"type": "text", "text": text}]) };
        fields.insert("parts".to_owned(), parts);
    }
}

/// Returns where in a request the value is that an error names in one of its messages.
pub(super) fn place(at: Location, positions: &[TranscriptPosition]) -> Location {
    const NAMES: &SentNames = &[
        ("content", "/parts"),
        ("event_id", "/id"),
        ("message_id", "/id"),
        ("reasoning_content", "/parts"),
        ("tool_calls", "/parts"),
        ("tool_call_id", "/parts"),
    ];
    sent_place(at, positions, NAMES)
}

/// Returns the text of a message: that of its parts.
pub(super) fn content_of(message: &Value) -> String {
    let parts = message["parts"].as_array().into_iter().flatten();
    parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect()
}

/// How stored messages are shown: with calls that have no result yet, as the AI SDK shows them, too.
pub(super) fn as_stored() -> Options {
    Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() }
}

/// Returns a stored message under the id that its client gave it.
pub(super) fn under_own_id(mut message: Message) -> Message {
    let own = message.body.extra_text(OWN_ID).and_then(|id| EventId::parse(id).ok());
    if let Some(own) = own {
        message.event_id = own;
    }
    message
}

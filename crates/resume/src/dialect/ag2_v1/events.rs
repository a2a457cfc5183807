use serde_json::{Value, json};

use crate::canonical::{Media, MediaKind, MediaSource, serialise};

/// Creates the event for a message of the user.
pub(super) fn request(parts: &[Value]) -> Value {
    json!({"__event__": "ag2.events.input_events.ModelRequest", "parts": parts})
}

/// Creates the text of a user, or of a result.
pub(super) fn text(content: &str, name: Option<&str>) -> Value {
    json!({
        "__event__": "ag2.events.input_events.TextInput", "content": content,
        "metadata": metadata(name),
    })
}

/// Creates the event for a message of an agent.
pub(super) fn response(content: Option<&str>, name: Option<&str>, calls: &[Value]) -> Value {
    let message = content.map(|content| {
        json!({
            "__event__": "ag2.events.types.ModelMessage", "content": content,
            "metadata": metadata(name),
        })
    });
    json!({
        "__event__": "ag2.events.types.ModelResponse", "message": message,
        "tool_calls": self::calls(calls),
    })
}

/// Creates the event that lists all calls of a message.
pub(super) fn calls(calls: &[Value]) -> Value {
    json!({"__event__": "ag2.events.tool_events.ToolCallsEvent", "calls": calls})
}

/// Creates the event for one call.
pub(super) fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({
        "__event__": "ag2.events.tool_events.ToolCallEvent", "id": id, "name": name,
        "arguments": arguments,
    })
}

/// Creates the event for the result of a call; `error` is the message of a failed call.
pub(super) fn result(id: &str, name: &str, parts: &[Value], error: Option<&str>) -> Value {
    let class = if error.is_some() { "ToolErrorEvent" } else { "ToolResultEvent" };
    let mut event = json!({
        "__event__": format!("ag2.events.tool_events.{class}"), "parent_id": id, "name": name,
        "result": {
            "__dataclass__": "ag2.events.tool_events.ToolResult", "data": {"parts": parts},
        },
    });
    if let Some(message) = error {
        event["error"] = json!({"__exception__": "Exception", "message": message});
    }
    event
}

/// Reads the arguments of a call. The library takes a text without anything for an object without anything.
pub(super) fn read_arguments(text: &str) -> Option<Value> {
    if text.is_empty() { Some(json!({})) } else { serde_json::from_str(text).ok() }
}

/// Returns the message of an error, for a result that does not tell it apart from its content.
pub(super) fn error_text(content: &Value) -> String {
    // The parts of the result hold the data, so nothing is lost that would be reported.
    let text = || serialise(content.clone(), &mut Vec::new());
    content.as_str().map_or_else(text, str::to_owned)
}

/// Creates the event that lists all results of a message, and so closes its calls.
pub(super) fn results(results: &[Value]) -> Value {
    json!({"__event__": "ag2.events.tool_events.ToolResultsEvent", "results": results})
}

/// Creates the input for an image, a sound or a file.
pub(super) fn media(media: Media) -> Value {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::File if media.media_type().is_some_and(|it| it.starts_with("video/")) => "video",
        MediaKind::File => "document",
    };
    let kind = json!({"__enum__": "ag2.events.input_events.BinaryType", "value": kind});
    match media.source {
        MediaSource::Data { media_type, data } => {
            let filename = media.name.map(|name| json!({"filename": name}));
            json!({
                "__event__": "ag2.events.input_events.BinaryInput", "data": {"__bytes__": data},
                "media_type": media_type, "kind": kind,
                "vendor_metadata": filename.unwrap_or_else(|| json!({})),
            })
        }
        MediaSource::Url(url) => {
            json!({"__event__": "ag2.events.input_events.UrlInput", "url": url, "kind": kind})
        }
        MediaSource::Id { id, .. } => json!({
            "__event__": "ag2.events.input_events.FileIdInput", "file_id": id,
            "filename": media.name,
        }),
    }
}

fn metadata(name: Option<&str>) -> Value {
    name.map_or_else(|| json!({}), |name| json!({"name": name}))
}

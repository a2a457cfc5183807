use serde_json::{Value, json};

use crate::canonical::take_field;
use crate::dialect::prepare::without_null_fields;

/// What the library writes besides `messages_to_dict`: constructors, as `dumpd` writes them, and chunks of a stream, which
/// are messages, too.
pub(super) fn prepare(messages: &mut [Value]) {
    without_null_fields(messages);
    for message in messages {
        if message["lc"].is_u64() && message["type"] == "constructor" {
            let mut data = take_field(message, "kwargs");
            let kind = take_field(&mut data, "type");
            *message = json!({"type": kind, "data": data});
        }
        let whole = match message["type"].as_str() {
            Some("AIMessageChunk") => "ai",
            Some("HumanMessageChunk") => "human",
            Some("SystemMessageChunk") => "system",
            Some("ToolMessageChunk") => "tool",
            Some("FunctionMessageChunk") => "function",
            Some("ChatMessageChunk") => "chat",
            _ => continue,
        };
        message["type"] = whole.into();
        let fields = if message["data"].is_object() { &mut message["data"] } else { message };
        if let Some(fields) = fields.as_object_mut() {
            // The pieces of its calls, which `tool_calls` holds as calls.
            fields.retain(|field, _| field != "tool_call_chunks" && field != "chunk_position");
        }
    }
}

use records::{MessageBody, NewMessage};
use serde_json::{Value, json};

use super::own_fields::{AUDIO, transcript};
use crate::DropReason;
use crate::canonical::is_empty_value;
use crate::dialect::parsed::read_stored_fields;
use crate::dialect::pipeline::is_word;
use crate::dialect::prepare::{rename, without_null_fields};

/// What the libraries of providers with this format write: fields that are null or an empty list, and `reasoning` for the
/// reasoning.
pub(super) fn prepare(messages: &mut [Value]) {
    without_null_fields(messages);
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        message.retain(|field, value| field == "content" || *value != json!([]));
        if message.get("reasoning").is_some_and(Value::is_string) {
            rename(message, "reasoning", "reasoning_content");
        }
    }
}

/// Reads a message. Its fields are those of a stored message.
pub(super) fn read(message: Value) -> Result<NewMessage, DropReason> {
    let mut message = read_stored_fields("openai", message)?;
    keep_tool_name(&mut message.body);
    read_transcript(&mut message.body);
    Ok(message)
}

/// Stores the transcript of what a model spoke as the content, unless it wrote another text beside it.
fn read_transcript(body: &mut MessageBody) {
    let provider = body.extra.get(MessageBody::PROVIDER);
    let audio = provider.map(|provider| &provider["openai"][AUDIO]);
    let transcript = audio.and_then(transcript).filter(|_| body.role == "assistant");
    if let Some(transcript) = transcript
        && is_empty_value(&body.content)
    {
        body.content = transcript.into();
    }
}

/// Notes that a result has the name of its tool, which other sources of results do not mean by their names.
fn keep_tool_name(body: &mut MessageBody) {
    let is_word = |name: &String| name.len() <= 64 && name.chars().all(is_word);
    let name = body.name.clone().filter(|name| body.role == "tool" && is_word(name));
    let Some(name) = name else { return };
    let provider = body.extra.entry(MessageBody::PROVIDER);
    let provider = provider.or_insert_with(|| json!({}));
    provider["openai"]["name"] = name.into();
}

use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::own_fields::{AUDIO, transcript};
use crate::DropReason;
use crate::canonical::is_empty_value;
use crate::dialect::parsed::{read_stored_fields, text_part};
use crate::dialect::pipeline::is_word;
use crate::dialect::prepare::{items_of, rename, without_null_fields};

/// What the libraries of providers with this format write: fields that are null or an empty list, and `reasoning` for the
/// reasoning.
pub(super) fn prepare(messages: &mut [Value]) {
    without_null_fields(messages);
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        message.retain(|field, value| field == "content" || *value != json!([]));
        if message.get("reasoning").is_some_and(Value::is_string) {
            rename(message, "reasoning", "reasoning_content");
        }
        if let Some(Value::Array(parts)) = message.get_mut("content") {
            parts.iter_mut().for_each(prepare_part);
        }
        let is_result = message.get("role").is_some_and(|role| role == "tool");
        if let Some(content @ (Value::Object(_) | Value::Number(_) | Value::Bool(_))) =
            message.get_mut("content").filter(|_| is_result)
        {
            *content = content.to_string().into();
        }
    }
    items_of("tool_calls", messages).for_each(prepare_call);
}

/// A text alone, the parts of the Responses API, and the address of an image alone are parts that this API has, too.
fn prepare_part(part: &mut Value) {
    if part.is_string() {
        *part = text_part(part.take());
        return;
    }
    let Some(fields) = part.as_object_mut() else { return };
    match fields.get("type").and_then(Value::as_str) {
        Some("input_text" | "output_text") if fields.get("text").is_some_and(Value::is_string) => {
            fields.insert("type".to_owned(), "text".into());
        }
        Some("image_url") => {
            if let Some(url @ Value::String(_)) = fields.get_mut("image_url") {
                *url = json!({"url": url.take()});
            }
        }
        _ => {}
    }
}

/// A call without its type is one of a function, and its arguments may be an object, or missing if there are none.
fn prepare_call(call: &mut Map<String, Value>) {
    if !call.contains_key("type") && call.contains_key("function") {
        call.insert("type".to_owned(), "function".into());
    }
    let Some(function) = call.get_mut("function").and_then(Value::as_object_mut) else { return };
    match function.get_mut("arguments") {
        None | Some(Value::Null) => _ = function.insert("arguments".to_owned(), "{}".into()),
        Some(arguments @ Value::Object(_)) => *arguments = arguments.to_string().into(),
        Some(_) => {}
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

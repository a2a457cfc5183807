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
        read_thinking(message);
        let is_result = message.get("role").is_some_and(|role| role == "tool");
        if let Some(content @ (Value::Object(_) | Value::Number(_) | Value::Bool(_))) =
            message.get_mut("content").filter(|_| is_result)
        {
            *content = content.to_string().into();
        }
    }
    items_of("tool_calls", messages).for_each(prepare_call);
}

/// Mistral has its reasoning among the parts of an answer: its texts become the reasoning.
///
/// Thinking that has more than texts, such as a signature, is kept beside them.
fn read_thinking(message: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = message.get_mut("content") else { return };
    let is_thinking = |part: &mut Value| part["type"] == "thinking" && part["thinking"].is_array();
    let thinking: Vec<Value> = parts.extract_if(.., is_thinking).collect();
    if thinking.is_empty() {
        return;
    }
    if parts.is_empty() {
        message.insert("content".to_owned(), "".into());
    }
    let texts = thinking.iter().flat_map(|it| it["thinking"].as_array().into_iter().flatten());
    let text: String = texts.filter_map(|text| text["text"].as_str()).collect();
    let is_whole =
        thinking.iter().all(is_plain_thinking) && !message.contains_key("reasoning_content");
    if !is_whole {
        message.insert("thinking".to_owned(), thinking.into());
    }
    if !text.is_empty() {
        message.entry("reasoning_content").or_insert_with(|| text.into());
    }
}

/// Returns whether thinking of Mistral has nothing but texts.
fn is_plain_thinking(part: &Value) -> bool {
    let is_plain = |(field, value): (&String, &Value)| match field.as_str() {
        "type" | "closed" => true,
        "thinking" => {
            value.as_array().is_some_and(|list| list.iter().all(|it| it["type"] == "text"))
        }
        _ => value.is_null(),
    };
    part.as_object().is_some_and(|fields| fields.iter().all(is_plain))
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
    // The built-in functions of Kimi have a mark before their names.
    let plain = |name: &str| name.strip_prefix('$').unwrap_or(name).chars().all(is_word);
    let is_word = |name: &String| name.len() <= 64 && plain(name);
    let name = body.name.clone().filter(|name| body.role == "tool" && is_word(name));
    let Some(name) = name else { return };
    let provider = body.extra.entry(MessageBody::PROVIDER);
    let provider = provider.or_insert_with(|| json!({}));
    provider["openai"]["name"] = name.into();
}

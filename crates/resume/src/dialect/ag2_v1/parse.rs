use std::collections::HashSet;

use records::{MessageBody, NewMessage};
use serde_json::Value;

use super::own::OwnFields;
use super::{NAME, events};
use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, take_field};
use crate::dialect::parsed::{self, Parsed, content_from_parts, keep_own, set_extra, text_part};

/// Parses events; events that only repeat calls or results are skipped, and others that are no messages are stored as they are.
pub(super) fn parse(system: Vec<Value>, events: Vec<Value>) -> Parsed {
    let mut reader = EventReader::default();
    Parsed::from_transcript(system, events, |event| reader.read(event))
}

/// Reads events one by one, and knows which calls and results it has read.
///
/// AG2 writes each call up to three times and each result up to twice, in several events. Only the
/// first occurrence becomes a message.
#[derive(Default)]
struct EventReader {
    /// The ids of the calls that were read.
    called: HashSet<String>,
    /// The ids of the calls whose results were read.
    answered: HashSet<String>,
}

impl EventReader {
    fn read(&mut self, mut event: Value) -> Result<Vec<NewMessage>, DropReason> {
        if !event.is_object() {
            return Err(DropReason::NotAnObject);
        }
        let class = event["__event__"].as_str().unwrap_or_default().to_owned();
        let unknown = || Err(DropReason::unsupported_role(&class));
        match class.rsplit('.').next().unwrap_or_default() {
            "ModelRequest" | "DrainedModelRequest" => Ok(vec![read_request(event)]),
            "ModelResponse" => Ok(vec![self.read_response(event)]),
            "ToolCallsEvent" => {
                let calls = event["calls"].as_array().into_iter().flatten();
                let is_repetition = calls.into_iter().all(|call| self.has_read_call(call));
                if is_repetition { Ok(Vec::new()) } else { unknown() }
            }
            "ToolCallEvent" if self.has_read_call(&event) => Ok(Vec::new()),
            "ToolResultsEvent" => match take_field(&mut event, "results") {
                Value::Array(results) => {
                    Ok(results.into_iter().filter_map(|result| self.read_result(result)).collect())
                }
                _ => unknown(),
            },
            "ToolResultEvent" | "ToolErrorEvent" | "ToolNotFoundEvent" => {
                Ok(self.read_result(event).into_iter().collect())
            }
            "" | "ToolCallEvent" => unknown(),
            _ => Ok(vec![kept_whole(event)]),
        }
    }

    fn has_read_call(&self, call: &Value) -> bool {
        call["id"].as_str().is_some_and(|id| self.called.contains(id))
    }

    fn read_response(&mut self, mut event: Value) -> NewMessage {
        let calls = event.pointer_mut("/tool_calls/calls").map(Value::take).unwrap_or_default();
        let mut stored_calls = Vec::new();
        let mut written_calls = Vec::new();
        for call in calls.as_array().into_iter().flatten() {
            let text = |field: &str| call[field].as_str().unwrap_or_default();
            self.called.insert(text("id").to_owned());
            let (id, name, said) = (text("id"), text("name"), text("arguments"));
            let read = events::read_arguments(said);
            let written = read.map_or_else(|| said.to_owned(), |read| read.to_string());
            written_calls.push(events::call(id, name, &written));
            let is_empty = call["arguments"] == "";
            let arguments = if is_empty { &written.into() } else { &call["arguments"] };
            stored_calls.push(parsed::stored_call(id, name, arguments));
        }
        let message = &event["message"];
        let name = message["metadata"]["name"].as_str();
        let content = &message["content"];
        let written = events::response(content.as_str(), name, &[]);
        let mut body = MessageBody::new("assistant", name, content.clone());
        let items = written_calls.into_iter().zip(calls.as_array().into_iter().flatten().cloned());
        let own = OwnFields::of((&written, &event), items);
        set_extra(&mut body, "tool_calls", stored_calls);
        keep_own(&mut body, NAME, own);
        body.into()
    }

    /// Reads a result, unless it was read before.
    fn read_result(&mut self, mut event: Value) -> Option<NewMessage> {
        let call_id = event["parent_id"].as_str().unwrap_or_default().to_owned();
        if !self.answered.insert(call_id.clone()) {
            return None;
        }
        let class = event["__event__"].as_str().unwrap_or_default();
        let failed = !class.ends_with(".ToolResultEvent");
        let parts = event.pointer_mut("/result/data/parts").map(Value::take).unwrap_or_default();
        let inputs = read_inputs(&parts);
        let mut content = content_from_parts(inputs.clone());
        if content.is_null() && failed {
            content = event["error"]["message"].clone();
        }
        let name = event["name"].as_str().unwrap_or_default();
        let error = failed.then(|| events::error_text(&content));
        let written = events::result(&call_id, name, &[], error.as_deref());
        let own = OwnFields::of((&written, &event), written_inputs(inputs, &parts, None));
        let mut message = parsed::stored_result(&call_id, content, failed);
        keep_own(&mut message.body, NAME, own);
        Some(message)
    }
}

fn read_request(mut event: Value) -> NewMessage {
    let parts = take_field(&mut event, "parts");
    let mut names = parts.as_array().into_iter().flatten();
    let name = names.find_map(|part| part["metadata"]["name"].as_str());
    let inputs = read_inputs(&parts);
    let written = events::request(&[]);
    let own = OwnFields::of((&written, &event), written_inputs(inputs.clone(), &parts, name));
    let mut body = MessageBody::new("user", name, content_from_parts(inputs));
    keep_own(&mut body, NAME, own);
    body.into()
}

/// Returns the message to store for an event that is none of the conversation.
fn kept_whole(event: Value) -> NewMessage {
    let mut body = MessageBody::new("assistant", None, Value::Null);
    keep_own(&mut body, NAME, OwnFields::of_whole(event));
    body.into()
}

fn read_inputs(parts: &Value) -> Vec<Value> {
    parts.as_array().into_iter().flatten().cloned().map(read_input).collect()
}

/// Returns what would be written of each stored content part, beside what it came as.
fn written_inputs<'a>(
    inputs: Vec<Value>,
    parts: &'a Value,
    name: Option<&'a str>,
) -> impl Iterator<Item = (Value, Value)> + 'a {
    let write = move |part: &Value| match (Media::read(part), part["text"].as_str()) {
        (Some(media), _) => events::media(media),
        (None, Some(text)) => events::text(text, name),
        (None, None) => Value::Null,
    };
    let parts = parts.as_array().into_iter().flatten().cloned();
    inputs.into_iter().map(move |part| write(&part)).zip(parts)
}

/// Returns the content part to store for an input; an unknown input stays unchanged.
fn read_input(mut part: Value) -> Value {
    let class = part["__event__"].as_str().unwrap_or_default();
    match class.rsplit('.').next().unwrap_or_default() {
        "TextInput" => text_part(part["content"].take()),
        "DataInput" => text_part(part["data"].to_string()),
        _ => read_media(&part).map_or(part, Value::from),
    }
}

fn read_media(part: &Value) -> Option<Media> {
    let text = |pointer: &str| part.pointer(pointer)?.as_str().map(str::to_owned);
    let class = text("/__event__")?;
    let kind = match part["kind"]["value"].as_str() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        _ => MediaKind::File,
    };
    let (source, name) = match class.rsplit('.').next()? {
        "BinaryInput" => {
            let (media_type, data) = (text("/media_type")?, text("/data/__bytes__")?);
            (MediaSource::Data { media_type, data }, text("/vendor_metadata/filename"))
        }
        "UrlInput" => (MediaSource::Url(text("/url")?), None),
        "FileIdInput" => (MediaSource::from_id(text("/file_id")?, None), text("/filename")),
        _ => return None,
    };
    Some(Media::new(kind, source, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::events;
    use super::*;

    #[test]
    fn a_repeated_result_is_read_once() {
        let call = events::call("a", "f", "{}");
        let response = events::response(None, None, std::slice::from_ref(&call));
        let result = events::result("a", "f", &[events::text("x", None)], None);
        let settled = events::results(std::slice::from_ref(&result));
        let calls = events::calls(std::slice::from_ref(&call));
        let all = [&response, &calls, &call, &result, &settled].map(Clone::clone);
        let whole = parse(Vec::new(), all.to_vec());
        assert_eq!((whole.messages.len(), &whole.dropped[..]), (2, &[][..]));
        let wrapped = parse(Vec::new(), vec![response, settled]);
        assert_eq!(wrapped.messages, whole.messages);
    }

    #[test]
    fn a_result_without_known_fields_is_empty() {
        let odd = json!({"parent_id": "a", "error": "gone"});
        for result in [json!(true), odd] {
            let parsed = parse(Vec::new(), vec![events::results(&[result])]);
            assert_eq!(parsed.messages.len(), 1);
        }
    }

    #[test]
    fn events_that_are_not_messages_are_reported() {
        let parsed = parse(Vec::new(), vec![json!({}), events::call("a", "f", "{}")]);
        assert_eq!(parsed.dropped.len(), 2);
    }

    #[test]
    fn data_becomes_its_json_text() {
        let data = json!({"__event__": "ag2.events.input_events.DataInput", "data": {"a": 1}});
        let parsed = parse(Vec::new(), vec![events::request(&[data])]);
        assert_eq!(parsed.messages[0].body.content, r#"{"a":1}"#);
    }
}

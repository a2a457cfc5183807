use std::collections::HashSet;

use records::{MessageBody, NewMessage};
use serde_json::Value;

use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, taken};
use crate::dialect::parsed::{self, Parsed, content, put, text_part};

/// Reads events; those that say once more what others have said are passed over.
pub(super) fn parse(system: Vec<Value>, events: Vec<Value>) -> Parsed {
    let mut known = Known::default();
    Parsed::of(system, events, |event| known.read(event))
}

/// The calls that have been read, and those whose results have been.
#[derive(Default)]
struct Known {
    called: HashSet<String>,
    answered: HashSet<String>,
}

impl Known {
    fn read(&mut self, mut event: Value) -> Result<Vec<NewMessage>, DropReason> {
        if !event.is_object() {
            return Err(DropReason::NotAnObject);
        }
        let class = event["__event__"].as_str().unwrap_or_default().to_owned();
        let unknown = || Err(DropReason::unsupported_role(&class));
        match class.rsplit('.').next().unwrap_or_default() {
            "ModelRequest" | "DrainedModelRequest" => Ok(vec![request(event)]),
            "ModelResponse" => Ok(vec![self.response(event)]),
            "ToolCallsEvent" => {
                let calls = event["calls"].as_array().into_iter().flatten();
                let repeats = calls.into_iter().all(|call| self.has_read(call));
                if repeats { Ok(Vec::new()) } else { unknown() }
            }
            "ToolCallEvent" if self.has_read(&event) => Ok(Vec::new()),
            "ToolResultsEvent" => match taken(&mut event, "results") {
                Value::Array(results) => {
                    Ok(results.into_iter().filter_map(|result| self.result(result)).collect())
                }
                _ => unknown(),
            },
            "ToolResultEvent" | "ToolErrorEvent" | "ToolNotFoundEvent" => {
                Ok(self.result(event).into_iter().collect())
            }
            _ => unknown(),
        }
    }

    fn has_read(&self, call: &Value) -> bool {
        call["id"].as_str().is_some_and(|id| self.called.contains(id))
    }

    fn response(&mut self, mut event: Value) -> NewMessage {
        let mut said = taken(&mut event, "message");
        let calls = event["tool_calls"]["calls"].as_array().into_iter().flatten();
        let mut made = Vec::new();
        for call in calls {
            let text = |field: &str| call[field].as_str().unwrap_or_default();
            self.called.insert(text("id").to_owned());
            made.push(parsed::call(text("id"), text("name"), &call["arguments"]));
        }
        let name = said["metadata"]["name"].as_str().map(str::to_owned);
        let mut body = MessageBody::new("assistant", name.as_deref(), taken(&mut said, "content"));
        put(&mut body, "tool_calls", made);
        body.into()
    }

    /// Reads a result, unless it has been read.
    fn result(&mut self, mut event: Value) -> Option<NewMessage> {
        let call_id = event["parent_id"].as_str().unwrap_or_default().to_owned();
        if !self.answered.insert(call_id.clone()) {
            return None;
        }
        let class = event["__event__"].as_str().unwrap_or_default();
        let failed = !class.ends_with(".ToolResultEvent");
        let parts = event.pointer_mut("/result/data/parts").map(Value::take);
        let mut said = content(inputs(parts.unwrap_or_default()));
        if said.is_null() && failed {
            said = event.pointer_mut("/error/message").map(Value::take).unwrap_or_default();
        }
        Some(parsed::result(&call_id, said, failed))
    }
}

fn request(mut event: Value) -> NewMessage {
    let parts = taken(&mut event, "parts");
    let mut names = parts.as_array().into_iter().flatten();
    let name = names.find_map(|part| part["metadata"]["name"].as_str().map(str::to_owned));
    MessageBody::new("user", name.as_deref(), content(inputs(parts))).into()
}

fn inputs(parts: Value) -> Vec<Value> {
    match parts {
        Value::Array(parts) => parts.into_iter().map(input).collect(),
        _ => Vec::new(),
    }
}

/// Returns the stored form of what is put in; what has none is kept as it is.
fn input(mut part: Value) -> Value {
    let class = part["__event__"].as_str().unwrap_or_default();
    match class.rsplit('.').next().unwrap_or_default() {
        "TextInput" => text_part(part["content"].take()),
        "DataInput" => text_part(part["data"].to_string()),
        _ => media(&part).map_or(part, Value::from),
    }
}

fn media(part: &Value) -> Option<Media> {
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
        "FileIdInput" => (MediaSource::Id(text("/file_id")?), text("/filename")),
        _ => return None,
    };
    Some(Media { kind, source, name })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::events;
    use super::*;

    #[test]
    fn a_result_is_read_once_wherever_it_stands() {
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
    fn a_result_without_the_fields_of_one_says_nothing() {
        let odd = json!({"parent_id": "a", "error": "gone"});
        for result in [json!(true), odd] {
            let parsed = parse(Vec::new(), vec![events::results(&[result])]);
            assert_eq!(parsed.messages.len(), 1);
        }
    }

    #[test]
    fn what_is_no_part_of_a_conversation_is_reported() {
        let usage = json!({"__event__": "ag2.events.types.UsageEvent"});
        let parsed = parse(Vec::new(), vec![usage, events::call("a", "f", "{}")]);
        assert_eq!(parsed.dropped.len(), 2);
    }

    #[test]
    fn data_becomes_its_json_text() {
        let data = json!({"__event__": "ag2.events.input_events.DataInput", "data": {"a": 1}});
        let parsed = parse(Vec::new(), vec![events::request(&[data])]);
        assert_eq!(parsed.messages[0].body.content, r#"{"a":1}"#);
    }
}

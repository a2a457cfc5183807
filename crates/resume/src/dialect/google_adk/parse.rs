use records::NewMessage;
use serde_json::{Map, Value};

use super::own::OwnFields;
use super::read_parts::PartReader;
use super::result::ResultReader;
use crate::DropReason;
use crate::dialect::gemini::call_ids::CallIdResolver;
use crate::dialect::parsed::{EventIds, Parsed, as_object, take_text};

/// Parses events; one that has results and other parts becomes two messages, any other one becomes one.
pub(super) fn parse(system: Vec<Value>, events: Vec<Value>) -> Parsed {
    let resolver = CallIdResolver::new(events.iter().map(|event| &event["content"]));
    let mut reader = Reader { resolver, ids: EventIds::default() };
    Parsed::from_transcript(system, events, |event| reader.read(event))
}

struct Reader {
    resolver: CallIdResolver,
    ids: EventIds,
}

impl Reader {
    fn read(&mut self, event: Value) -> Result<Vec<NewMessage>, DropReason> {
        let mut event = as_object(event)?;
        if event.get("partial") == Some(&Value::Bool(true)) {
            return Err(DropReason::unsupported_role("partial event"));
        }
        let author = take_text(&mut event, "author");
        let (content_role, parts) = take_content(&mut event)?;
        let role = match (content_role.as_deref(), author.as_deref()) {
            (Some("user"), _) | (None, Some("user")) => "user",
            (Some("model"), _) | (None, Some(_)) => "assistant",
            (Some(other), _) => return Err(DropReason::unsupported_role(other)),
            (None, None) => return Err(DropReason::MissingRole),
        };
        let id = self.ids.take(&mut event, "id");
        let has_content = parts.is_some();
        let parts = parts.unwrap_or_default();
        self.resolver.begin_content(role, &parts);
        let (mut others, mut results) = (PartReader::default(), ResultReader::default());
        for part in parts {
            match part {
                Value::Object(mut part) if part.contains_key("functionResponse") => {
                    let result = part.remove("functionResponse").unwrap_or_default();
                    results.read(part, result, &mut self.resolver);
                }
                part => others.read(part, &mut self.resolver),
            }
        }
        let mut read = ReadEvent { role, author, fields: event, messages: Vec::with_capacity(2) };
        // Calls come before their results, any other parts after them.
        let calls_first = !others.builder.calls.is_empty();
        let is_joined = !results.is_empty() && !calls_first;
        if calls_first || results.is_empty() {
            read.add_speech(&mut others, has_content, false);
        }
        if !results.is_empty() {
            read.add_results(results, content_role.as_deref() == Some("model"));
        }
        if is_joined && !others.is_empty() {
            read.add_speech(&mut others, has_content, true);
        }
        if let Some(first) = read.messages.first_mut() {
            first.event_id = id;
        }
        Ok(read.messages)
    }
}

/// Takes the role and the parts of the content; `None` for what it does not have.
fn take_content(
    event: &mut Map<String, Value>,
) -> Result<(Option<String>, Option<Vec<Value>>), DropReason> {
    let mut content = match event.remove("content") {
        None | Some(Value::Null) => return Ok((None, None)),
        Some(Value::Object(content)) => content,
        Some(_) => return Err(DropReason::NullContent),
    };
    let role = take_text(&mut content, "role");
    let parts = match content.remove("parts") {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    Ok((role, Some(parts)))
}

/// The messages of an event; the first one keeps the fields of the event.
struct ReadEvent {
    role: &'static str,
    author: Option<String>,
    fields: Map<String, Value>,
    messages: Vec<NewMessage>,
}

impl ReadEvent {
    fn add_results(&mut self, mut results: ResultReader, is_model: bool) {
        let mut event = std::mem::take(&mut self.fields);
        event.extend(self.author.clone().map(|author| ("author".to_owned(), author.into())));
        let own = OwnFields { event, parts: results.take_left(), is_model, ..OwnFields::default() };
        let mut message = results.into_message();
        own.keep(&mut message.body);
        self.messages.push(message);
    }

    fn add_speech(&mut self, parts: &mut PartReader, has_content: bool, is_joined: bool) {
        let event = std::mem::take(&mut self.fields);
        let left = if has_content { parts.take_left() } else { None };
        let own = OwnFields { event, parts: left, is_joined, ..OwnFields::default() };
        let name = self.author.as_deref().filter(|author| *author != self.role);
        let mut body = std::mem::take(&mut parts.builder).into_body(self.role, name);
        own.keep(&mut body);
        self.messages.push(body.into());
    }
}

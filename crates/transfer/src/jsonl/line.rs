use std::fmt;

use chrono::SecondsFormat;
use records::json::{self, ParseError, hex};
use records::{
    Author, ChatId, DisplayName, EventId, Invalid, JsonObject, Message, MessageBody, NewMessage,
    UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kept;

/// The name under which a message keeps the fields of its line that a message does not have.
pub(super) const DIALECT: &str = "jsonl";

/// The field of a line with what other readers of the layout do not need.
pub(super) const OWN: &str = "reprise";

pub(super) const TIMESTAMP: &str = "timestamp";
const TYPE: &str = "type";
const CONTENT: &str = "content";
const METADATA: &str = "metadata";

const AGENT: &str = "agent";
const USER_ID: &str = "userId";
const SESSION_ID: &str = "sessionId";

/// A message that was read from a line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReadLine {
    /// The message; it has an id.
    pub message: NewMessage,
    /// The size of the message in the store, in bytes.
    pub bytes: usize,
    /// What is not stored as it stands in the line.
    pub notes: Vec<LineNote>,
}

/// Something in a line that is not stored as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineNote {
    /// The line has no content.
    NoContent,
    /// The time is not a text; its JSON is kept as text.
    Timestamp,
    /// The line names another session than its file.
    OtherSession,
    /// The agent is not a valid name; it stays in the metadata only.
    Agent,
    /// The user is not a valid id; it stays in the metadata only.
    User,
}

impl fmt::Display for LineNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoContent => "has no content: the content is null",
            Self::Timestamp => "has a timestamp that is not a text: it is stored as text",
            Self::OtherSession => {
                "names another session in metadata.sessionId: it belongs to that of its file"
            }
            Self::Agent => "has a metadata.agent that is no valid name: it stays in the metadata",
            Self::User => "has a metadata.userId that is no valid id: it stays in the metadata",
        })
    }
}

/// The reason why a line is not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The line is not JSON, or not JSON that can be stored.
    #[error("cannot be read: {0}")]
    Json(#[from] ParseError),
    /// The line is JSON of another kind.
    #[error("is not a JSON object")]
    NotAnObject,
    /// A field is missing or has another type.
    #[error("`{0}` must be {1}")]
    Field(&'static str, &'static str),
    /// The field of Reprise has another form.
    #[error("`reprise` {0}")]
    Own(serde_json::Error),
    /// The message does not follow the rules of messages.
    #[error("cannot be stored: {0}")]
    Invalid(#[from] Invalid),
}

/// What a line has for Reprise alone: whatever does not follow from the other fields.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_id: Option<EventId>,
    /// The name of the speaker, or null if there is none although the metadata name an agent.
    #[serde(default, skip_serializing_if = "Stated::is_missing")]
    name: Stated<String>,
    /// The author, or null if there is none although the metadata name a user.
    #[serde(default, skip_serializing_if = "Stated::is_missing")]
    author: Stated<OwnAuthor>,
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    extra: JsonObject,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnAuthor {
    user_id: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    display_name: Option<DisplayName>,
}

/// A field that says that there is nothing if it is null, and says nothing if it is missing.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Stated<T> {
    #[default]
    #[serde(skip)]
    Missing,
    Value(Option<T>),
}

impl<T: PartialEq> Stated<T> {
    fn is_missing(&self) -> bool {
        *self == Self::Missing
    }
}

/// Reads a line of the file of a chat.
///
/// The id of the message follows from the number of the line and from the message, unless the line has one. So a file that is
/// read again, even with more lines at its end, gives the same ids.
pub fn read_line(text: &[u8], number: u64, chat_id: &ChatId) -> Result<ReadLine, LineError> {
    let Value::Object(line) = json::parse(text)? else { return Err(LineError::NotAnObject) };
    read_object(line, number, chat_id)
}

fn read_object(mut line: JsonObject, number: u64, chat_id: &ChatId) -> Result<ReadLine, LineError> {
    let mut notes = Vec::new();
    let Some(Value::String(role)) = line.shift_remove(TYPE) else {
        return Err(LineError::Field(TYPE, "a text"));
    };
    let timestamp = match line.shift_remove(TIMESTAMP) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => {
            notes.push(LineNote::Timestamp);
            Some(other.to_string())
        }
    };
    let content = line.shift_remove(CONTENT);
    if content.is_none() {
        notes.push(LineNote::NoContent);
    }
    let mut metadata = match line.shift_remove(METADATA) {
        None | Some(Value::Null) => JsonObject::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err(LineError::Field(METADATA, "an object")),
    };
    if metadata.shift_remove(SESSION_ID).is_some_and(|id| !names(&id, chat_id)) {
        notes.push(LineNote::OtherSession);
    }
    let own = line.shift_remove(OWN).map_or_else(|| Ok(Own::default()), serde_json::from_value);
    let own = own.map_err(LineError::Own)?;
    let name = match own.name {
        Stated::Value(name) => name,
        Stated::Missing => name_of(&role, &metadata, &mut notes),
    };
    let author = match own.author {
        Stated::Value(author) => {
            author.map(|OwnAuthor { user_id, display_name }| Author { user_id, display_name })
        }
        Stated::Missing => user_of(&role, &metadata, &mut notes)
            .map(|user_id| Author { user_id, display_name: None }),
    };
    let mut extra = own.extra;
    kept::keep(&mut extra, DIALECT, line);
    let metadata = (!metadata.is_empty()).then_some(metadata);
    let content = content.unwrap_or_default();
    let body = MessageBody { role, name, content, timestamp, metadata, extra };
    let bytes = body.check()?;
    let event_id = own.event_id.or_else(|| derived_id(number, &body));
    Ok(ReadLine { message: NewMessage { event_id, body, author }, bytes, notes })
}

/// Writes a message as the line with this number of the file of its chat, without a line break.
///
/// Reading the line gives the message back, with its time as `timestamp` if it had none.
#[must_use]
pub fn write_line(message: &Message, number: u64, chat_id: &ChatId) -> String {
    let body = &message.body;
    let mut metadata = body.metadata.clone().unwrap_or_default();
    if is_agent(&body.role)
        && let Some(name) = &body.name
        && !metadata.contains_key(AGENT)
    {
        metadata.insert(AGENT.to_owned(), name.as_str().into());
    }
    if is_user(&body.role)
        && let Some(author) = &message.author
        && !metadata.contains_key(USER_ID)
    {
        metadata.insert(USER_ID.to_owned(), author.user_id.as_str().into());
    }
    metadata.shift_remove(SESSION_ID);
    metadata.insert(SESSION_ID.to_owned(), chat_id.as_str().into());
    let mut line = JsonObject::new();
    line.insert(TIMESTAMP.to_owned(), timestamp_of(message).into());
    line.insert(TYPE.to_owned(), body.role.as_str().into());
    line.insert(CONTENT.to_owned(), body.content.clone());
    line.insert(METADATA.to_owned(), metadata.into());
    let mut extra = body.extra.clone();
    for (field, value) in kept::take(&mut extra, DIALECT) {
        line.entry(field).or_insert(value);
    }
    let own = own_of(message, extra, &line, number, chat_id);
    if own != Own::default() {
        // A struct of texts and JSON is always JSON.
        line.insert(OWN.to_owned(), serde_json::to_value(own).unwrap_or_default());
    }
    Value::Object(line).to_string()
}

/// Returns what a reader of the line would not find out.
fn own_of(
    message: &Message,
    extra: JsonObject,
    line: &JsonObject,
    number: u64,
    chat_id: &ChatId,
) -> Own {
    let mut own = Own { extra, ..Own::default() };
    let with = |own: &Own| {
        let mut line = line.clone();
        line.insert(OWN.to_owned(), serde_json::to_value(own).unwrap_or_default());
        read_object(line, number, chat_id).ok().map(|read| read.message)
    };
    let read = with(&own);
    let (name, author) = (&message.body.name, &message.author);
    if read.as_ref().is_none_or(|read| read.body.name != *name) {
        own.name = Stated::Value(name.clone());
    }
    if read.as_ref().is_none_or(|read| read.author != *author) {
        let author = author
            .clone()
            .map(|Author { user_id, display_name }| OwnAuthor { user_id, display_name });
        own.author = Stated::Value(author);
    }
    let event_id = Some(&message.event_id);
    if with(&own).is_none_or(|read| read.event_id.as_ref() != event_id) {
        own.event_id = event_id.cloned();
    }
    own
}

/// Returns the time of a message as text.
pub(super) fn timestamp_of(message: &Message) -> String {
    let stored = || message.created_at.to_rfc3339_opts(SecondsFormat::Millis, true);
    message.body.timestamp.clone().unwrap_or_else(stored)
}

/// Returns whether a value names the session of a chat, by its id or by its key in the index.
pub(super) fn names(id: &Value, chat_id: &ChatId) -> bool {
    let is_same = |id: &str| id == chat_id.as_str() || id == super::index_key(chat_id);
    id.as_str().is_some_and(is_same)
}

fn is_agent(role: &str) -> bool {
    role == "assistant"
}

fn is_user(role: &str) -> bool {
    role == "user"
}

fn name_of(role: &str, metadata: &JsonObject, notes: &mut Vec<LineNote>) -> Option<String> {
    let agent = metadata.get(AGENT).filter(|agent| is_agent(role) && !agent.is_null())?;
    // Names and the names that people see have the same rule.
    let name = agent.as_str().and_then(|agent| DisplayName::parse(agent).ok());
    if name.is_none() {
        notes.push(LineNote::Agent);
    }
    name.map(String::from)
}

fn user_of(role: &str, metadata: &JsonObject, notes: &mut Vec<LineNote>) -> Option<UserId> {
    let user = metadata.get(USER_ID).filter(|user| is_user(role) && !user.is_null())?;
    let user_id = user.as_str().and_then(|user| UserId::parse(user).ok());
    if user_id.is_none() {
        notes.push(LineNote::User);
    }
    user_id
}

fn derived_id(number: u64, body: &MessageBody) -> Option<EventId> {
    EventId::parse(format!("{DIALECT}:{number}:{}", hex(&body.digest()))).ok()
}

/// Returns the number of the line from which an id follows, and the digest of its message; `None` for an id of another origin.
#[must_use]
pub fn origin_of(event_id: &EventId) -> Option<(u64, &str)> {
    let (origin, rest) = event_id.as_str().split_once(':')?;
    let (number, digest) = rest.split_once(':')?;
    Some((number.parse().ok()?, digest)).filter(|_| origin == DIALECT)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn chat() -> ChatId {
        ChatId::parse("abc123").unwrap()
    }

    fn read(line: &Value) -> ReadLine {
        read_line(line.to_string().as_bytes(), 1, &chat()).unwrap()
    }

    fn stored(new: NewMessage) -> Message {
        Message {
            sequence: 0,
            event_id: new.event_id.unwrap_or_else(|| EventId::parse("evt_1").unwrap()),
            body: new.body,
            author: new.author,
            created_at: DateTime::from_timestamp_millis(1_750_932_000_000).unwrap(),
            edited_at: None,
            edited_by: None,
            deleted_at: None,
            deleted_by: None,
            is_text_kept: false,
        }
    }

    /// Writes a message, reads it, and writes it again.
    fn written(message: &Message) -> String {
        let line = write_line(message, 1, &chat());
        let again = read_line(line.as_bytes(), 1, &chat()).unwrap();
        assert!(again.notes.is_empty(), "{line}: {:?}", again.notes);
        assert_eq!(write_line(&stored(again.message), 1, &chat()), line);
        line
    }

    #[test]
    fn a_line_becomes_a_message() {
        let metadata = json!({ "agent": "Analyst", "confidence": 0.9, "sessionId": "abc123" });
        let time = "2025-06-26T10:00:01Z";
        let line = json!({ "timestamp": time, "type": "assistant", "content": "Hi", "metadata": metadata });
        let ReadLine { message, notes, .. } = read(&line);
        assert_eq!(notes, []);
        let body = &message.body;
        assert_eq!((body.role.as_str(), body.name.as_deref()), ("assistant", Some("Analyst")));
        assert_eq!(body.timestamp.as_deref(), Some(time));
        let kept = json!({ "agent": "Analyst", "confidence": 0.9 });
        assert_eq!(body.metadata.clone().map(Value::Object), Some(kept));
        assert!(message.event_id.as_ref().unwrap().as_str().starts_with("jsonl:1:"));
        assert_eq!(written(&stored(message)), line.to_string());
    }

    #[test]
    fn a_user_is_the_author() {
        let metadata = json!({ "userId": "user123", "sessionId": "session_abc123" });
        let ReadLine { message, notes, .. } =
            read(&json!({ "type": "user", "content": "Hello", "metadata": metadata }));
        assert_eq!(notes, []);
        assert_eq!(message.author.unwrap().user_id.as_str(), "user123");
    }

    #[test]
    fn an_instruction_keeps_its_place_and_its_role() {
        let read = read(&json!({ "type": "system", "content": "Be brief.", "metadata": {} }));
        assert_eq!(read.message.body.role, "system");
        assert_eq!(read.message.author, None);
    }

    #[test]
    fn what_is_not_stored_as_it_stands_is_noted() {
        for (line, note) in [
            (json!({ "type": "user" }), LineNote::NoContent),
            (json!({ "type": "user", "content": 1, "timestamp": 5 }), LineNote::Timestamp),
            (
                json!({ "type": "user", "content": 1, "metadata": { "sessionId": "x" } }),
                LineNote::OtherSession,
            ),
            (
                json!({ "type": "assistant", "content": 1, "metadata": { "agent": 5 } }),
                LineNote::Agent,
            ),
            (json!({ "type": "user", "content": 1, "metadata": { "userId": "" } }), LineNote::User),
        ] {
            assert_eq!(read(&line).notes, [note], "{line}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_a_message_is_an_error() {
        for (line, reason) in [
            ("{\"type\":\"us", "cannot be read: "),
            ("[]", "is not a JSON object"),
            ("{\"content\":\"a\"}", "`type` must be a text"),
            ("{\"type\":\"user\",\"metadata\":[]}", "`metadata` must be an object"),
            ("{\"type\":\"a\\u0000\",\"content\":1}", "cannot be stored: "),
            ("{\"type\":\"user\",\"content\":1,\"reprise\":{\"x\":1}}", "`reprise` unknown field"),
            ("{\"type\":\"user\",\"type\":\"user\"}", "cannot be read: "),
        ] {
            let error = read_line(line.as_bytes(), 1, &chat()).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{line}: {error}");
        }
    }

    #[test]
    fn the_id_depends_on_the_line_and_on_what_it_says() {
        let id = |text: &str, number| {
            let line = json!({ "type": "user", "content": text }).to_string();
            read_line(line.as_bytes(), number, &chat()).unwrap().message.event_id
        };
        assert_eq!(id("yes", 1), id("yes", 1));
        assert_ne!(id("yes", 1), id("yes", 2));
        assert_ne!(id("yes", 1), id("no", 1));
    }

    #[test]
    fn fields_that_a_message_does_not_have_come_back() {
        let line = json!({
            "timestamp": "t", "type": "user", "content": "a", "metadata": { "sessionId": "abc123" },
            "parentId": 7, "$oid": { "$date": null },
        });
        assert_eq!(written(&stored(read(&line).message)), line.to_string());
    }

    #[test]
    fn a_message_of_reprise_comes_back_whole() {
        let mut body =
            MessageBody::new("assistant", None, json!([{ "type": "text", "text": "a" }]));
        body.metadata = json!({ "agent": "Analyst" }).as_object().cloned();
        body.extra =
            json!({ "tool_calls": [], "provider": { "openai": { "x": 1 } }, "type": "text" })
                .as_object()
                .cloned()
                .unwrap();
        let user_id = UserId::parse("alice").unwrap();
        let display_name = Some(DisplayName::parse("Alice").unwrap());
        let author = Some(Author { user_id, display_name });
        let event_id = Some(EventId::parse("evt_7").unwrap());
        let message =
            stored(NewMessage { event_id: event_id.clone(), body, author: author.clone() });
        let line = written(&message);
        let read = read_line(line.as_bytes(), 9, &chat()).unwrap().message;
        let timestamp = Some("2025-06-26T10:00:00.000Z".to_owned());
        let body = MessageBody { timestamp, ..message.body };
        assert_eq!(read, NewMessage { event_id, body, author });
    }

    proptest! {
        #[test]
        fn writing_what_was_read_changes_nothing_the_second_time(
            role in "(user|assistant|system|tool)",
            content in "\\PC{0,12}",
            agent in proptest::option::of("[A-Za-z ]{0,6}"),
            user in proptest::option::of("[a-z]{1,6}"),
            other in "[a-z]{1,8}",
        ) {
            let mut metadata = json!({ "confidence": 0.5 });
            if let Some(agent) = agent {
                metadata["agent"] = agent.into();
            }
            if let Some(user) = user {
                metadata["userId"] = user.into();
            }
            let mut line = json!({ "type": role, "content": content, "metadata": metadata });
            line[format!("x_{other}")] = 1.into();
            let first = write_line(&stored(read(&line).message), 1, &chat());
            let again = read_line(first.as_bytes(), 1, &chat()).unwrap().message;
            prop_assert_eq!(write_line(&stored(again), 1, &chat()), first);
        }
    }
}

//! Chats in a dialect, one a line.

use chrono::{DateTime, Utc};
use records::json::{self, ParseError};
use records::{ChatId, Invalid, JsonObject, NewChatSession, UserId, WorkflowName};
use resume::Dropped;
use resume::dialect::{Dialect, Violation};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::ReadMessage;
use crate::in_dialect::{self, InDialect, MessagesError};

/// A chat that was read from a line.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadChat {
    /// The chat to create; it has an id if the line has one.
    pub new: NewChatSession,
    /// When the chat was created, if the line says so.
    pub created_at: Option<DateTime<Utc>>,
    /// The messages, each with an id and with its size in the store, in bytes.
    pub messages: Vec<ReadMessage>,
    /// The rules of the dialect that the messages break although they are stored.
    pub noted: Vec<Violation>,
    /// The messages that cannot be stored.
    pub dropped: Vec<Dropped>,
    /// The fields of the line that are left out.
    pub unknown: Vec<String>,
}

/// The reason why a chat is not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The line is not JSON, or not JSON that can be stored.
    #[error("cannot be read: {0}")]
    Json(#[from] ParseError),
    /// The line is not an object, or a field has another type.
    #[error("cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// The messages cannot be stored.
    #[error(transparent)]
    Messages(#[from] MessagesError),
    /// The chat does not follow the rules of chats.
    #[error("cannot be stored: {0}")]
    Chat(#[from] Invalid),
}

#[derive(Debug, Deserialize)]
struct Line {
    #[serde(alias = "id")]
    chat_id: Option<ChatId>,
    #[serde(alias = "history")]
    messages: Vec<Value>,
    #[serde(default, deserialize_with = "one_or_all")]
    system: Vec<Value>,
    workflow_name: Option<WorkflowName>,
    user_id: Option<UserId>,
    title: Option<String>,
    metadata: Option<JsonObject>,
    #[serde(default, deserialize_with = "creation_time")]
    created_at: Option<DateTime<Utc>>,
    #[serde(flatten)]
    others: JsonObject,
}

/// Reads a list of instructions, or one of them alone, as a request to a provider may have it.
fn one_or_all<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(all) => all,
        one => vec![one],
    })
}

/// Reads a time; the error names the field, which that of a time does not.
fn creation_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DateTime<Utc>>, D::Error> {
    let named = |error| D::Error::custom(format!("created_at must be a time in RFC 3339: {error}"));
    Option::deserialize(from).map_err(named)
}

/// Reads a line with a chat in a dialect; `workflow_name` is that of a chat that names none.
///
/// A message keeps the id that it has in the dialect, or gets one that follows from it and from all messages before it. So a
/// chat that is read again, even with more messages at its end, gives the same ids.
pub fn read_chat(
    text: &[u8],
    dialect: &dyn Dialect,
    workflow_name: &WorkflowName,
) -> Result<ReadChat, ChatError> {
    let line = Line::deserialize(json::parse(text)?)?;
    let read = in_dialect::read(dialect, line.system, line.messages, "")?;
    let InDialect { messages, noted, dropped } = read;
    let new = NewChatSession {
        chat_id: line.chat_id,
        user_id: line.user_id,
        title: line.title,
        metadata: line.metadata.unwrap_or_default(),
        ..NewChatSession::of(line.workflow_name.unwrap_or_else(|| workflow_name.clone()))
    };
    new.check()?;
    let unknown = line.others.into_iter().map(|(field, _)| field).collect();
    Ok(ReadChat { new, created_at: line.created_at, messages, noted, dropped, unknown })
}

#[cfg(test)]
mod tests {
    use resume::dialect;
    use serde_json::json;

    use super::*;

    fn read(name: &str, line: &Value) -> Result<ReadChat, ChatError> {
        let workflow = WorkflowName::parse("Chat").unwrap();
        read_chat(line.to_string().as_bytes(), dialect::named(name).unwrap(), &workflow)
    }

    #[test]
    fn a_chat_is_read_in_its_dialect() {
        let messages = json!([
            { "role": "user", "content": "Hello" },
            { "role": "tool", "tool_call_id": "1", "content": "42" },
        ]);
        let line = json!({ "id": "c1", "messages": messages, "title": "T", "question": 1 });
        let ReadChat { new, messages, noted, unknown, .. } = read("openai", &line).unwrap();
        assert_eq!((new.chat_id.unwrap().as_str(), new.title.as_deref()), ("c1", Some("T")));
        assert_eq!(messages.len(), 2);
        assert!(messages.iter().all(|it| it.bytes() > 0));
        assert_eq!(noted[0].rule, "orphan_result");
        assert_eq!(unknown, ["question"]);
    }

    #[test]
    fn a_time_that_is_none_is_named() {
        let line = json!({ "messages": [], "created_at": "yesterday" });
        let error = read("openai", &line).unwrap_err().to_string();
        assert!(error.contains("created_at must be a time in RFC 3339"), "{error}");
    }

    #[test]
    fn instructions_beside_the_messages_come_first() {
        let messages = json!([{ "role": "user", "content": "Hello" }]);
        let asked = json!([{ "role": "user", "parts": [{ "text": "Hello" }] }]);
        let line = json!({ "history": messages, "system": ["Be brief."] });
        let chat = read("anthropic", &line).unwrap();
        assert_eq!(chat.messages[0].message.body.role, "system");
        assert!(matches!(read("openai", &line), Err(ChatError::Messages(MessagesError::System))));
        for (name, messages, system) in [
            ("anthropic", &messages, json!("Be brief.")),
            ("anthropic", &messages, json!({ "type": "text", "text": "Be brief." })),
            ("gemini", &asked, json!({ "parts": [{ "text": "Be brief." }] })),
        ] {
            let alone = read(name, &json!({ "messages": messages, "system": system })).unwrap();
            let listed = read(name, &json!({ "messages": messages, "system": [system] })).unwrap();
            assert_eq!(alone.messages.len(), 2, "{name}: {system}");
            assert_eq!(alone.messages[0].message, listed.messages[0].message);
        }
        let none = read("anthropic", &json!({ "messages": messages, "system": null })).unwrap();
        assert_eq!(none.messages.len(), 1);
    }

    #[test]
    fn a_line_that_is_no_chat_is_an_error() {
        for (line, reason) in [
            (json!({}), "cannot be read: missing field `messages`"),
            (json!([]), "cannot be read: "),
            (json!({ "id": "../x", "messages": [] }), "cannot be read: chat_id must be"),
            (json!({ "messages": [{ "content": 5 }] }), "breaks rules of its dialect: message 0: "),
        ] {
            let error = read("openai", &line).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{line}: {error}");
        }
    }

    #[test]
    fn a_chat_that_has_grown_keeps_its_ids() {
        let line = |texts: &[&str]| {
            let message = |text: &&str| json!({ "role": "user", "content": text });
            json!({ "messages": texts.iter().map(message).collect::<Vec<_>>() })
        };
        let ids = |texts: &[&str]| -> Vec<_> {
            let read = read("openai", &line(texts)).unwrap();
            read.messages.into_iter().map(|it| it.into_message(None).event_id).collect()
        };
        assert_eq!(ids(&["a", "a", "b"])[..2], ids(&["a", "a"]));
    }
}

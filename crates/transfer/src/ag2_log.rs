//! The log that AG2 writes while agents talk (`runtime_logging` with the logger `file`).
//!
//! A session begins with a line of text that names it. Each other line is a JSON object: an agent, a message as an agent
//! received it, a call of a model, and more. A group chat has each message several times: once as its manager received it, and
//! once for each agent to which the manager passed it on.

mod call;
mod entry;

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use records::json::{self, ParseError};
use records::{ChatId, Invalid, JsonObject, NewChatSession, NewProviderCall, WorkflowName};
use resume::dialect::{Ag2Classic, Profile};
use serde::Deserialize;
use serde_json::Value;

use self::entry::{Entry, Received};
use crate::in_dialect::{self, InDialect};
use crate::lines::MAX_LINE_BYTES;
use crate::transcripts::{ChatError, ReadChat};

/// The dialect of messages that agents exchange.
const DIALECT: Ag2Classic = Ag2Classic { profile: Profile::Pattern };
/// How the first line of a session begins; its id follows.
const SESSION: &str = "Started new session with Session ID: ";
/// How a line begins that says what the logger could not write.
const LOGGER_FAULT: &str = "[file_logger] ";
/// The class of an agent that speaks for a person.
const PERSON: &str = "UserProxyAgent";
/// The agents of the chat beside a group chat in which its manager asks a model who speaks next.
const SPEAKER_SELECTION: [&str; 2] = ["checking_agent", "speaker_selection_agent"];
/// The most that a session holds, in bytes of its lines: it is checked as a whole.
const MAX_SESSION_BYTES: usize = MAX_LINE_BYTES;

/// A session that was read to its end.
#[derive(Debug)]
pub struct LoggedSession {
    /// The number of the line with which it begins.
    pub line: u64,
    chat_id: ChatId,
    began_at: Option<DateTime<Utc>>,
    people: HashSet<String>,
    messages: Vec<Value>,
    /// The calls of models.
    pub calls: Vec<NewProviderCall>,
    /// Messages that an agent did not accept.
    pub refused: u64,
    bytes: usize,
}

/// The reason why a line is left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The line is not JSON, or not JSON that can be stored.
    #[error("cannot be read: {0}")]
    Json(#[from] ParseError),
    /// The line is not an object, or a field has another type.
    #[error("cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// The id of the session is no id of a chat.
    #[error("has a session that cannot be a chat: {0}")]
    Session(records::IdError),
    /// No line before it names a session.
    #[error("belongs to no session: no line before it names one")]
    WithoutSession,
    /// The call cannot be recorded.
    #[error("has a call that cannot be recorded: {0}")]
    Call(Invalid),
}

/// Reads a log line by line, and holds the session to which the lines belong.
#[derive(Debug, Default)]
pub struct Log {
    session: Option<LoggedSession>,
}

impl Log {
    /// Reads a line. Returns the session before it, if the line begins another one.
    pub fn push(&mut self, text: &[u8], line: u64) -> Result<Option<LoggedSession>, LineError> {
        if let Ok(text) = str::from_utf8(text) {
            if let Some(id) = text.strip_prefix(SESSION) {
                return self.begin(id.trim(), line);
            }
            if text.starts_with(LOGGER_FAULT) {
                return Ok(None);
            }
        }
        let object = JsonObject::deserialize(json::parse(text)?)?;
        let session_id = object.get("session_id").and_then(Value::as_str).map(str::to_owned);
        // Before a session ends: it would be lost with a line that cannot be read.
        let entry = Entry::read(object)?;
        let ended = match session_id {
            Some(id) => self.begin(&id, line)?,
            None => None,
        };
        match self.add(entry, text.len()) {
            Err(error) if ended.is_none() => Err(error),
            _ => Ok(ended),
        }
    }

    /// Takes the last session at the end of the log.
    pub fn finish(&mut self) -> Option<LoggedSession> {
        self.session.take()
    }

    /// Begins a session, unless it is the one that has begun. Returns the one before.
    fn begin(&mut self, id: &str, line: u64) -> Result<Option<LoggedSession>, LineError> {
        if self.session.as_ref().is_some_and(|session| session.chat_id.as_str() == id) {
            return Ok(None);
        }
        let before = self.session.take();
        match ChatId::parse(id) {
            Ok(chat_id) => self.session = Some(LoggedSession::new(chat_id, line)),
            Err(error) if before.is_none() => return Err(LineError::Session(error)),
            // Its lines are then without a session, and each of them says so.
            Err(_) => {}
        }
        Ok(before)
    }

    fn add(&mut self, entry: Entry, bytes: usize) -> Result<(), LineError> {
        if matches!(entry, Entry::Other) {
            return Ok(());
        }
        let session = self.session.as_mut().ok_or(LineError::WithoutSession)?;
        match entry {
            Entry::Agent { name, class } => {
                if class == PERSON {
                    session.people.insert(name);
                }
            }
            Entry::Received(received) => session.receive(received, bytes),
            Entry::Call(call) => session.hold(bytes, |session| session.calls.push(*call)),
            Entry::Other => {}
        }
        Ok(())
    }
}

impl LoggedSession {
    fn new(chat_id: ChatId, line: u64) -> Self {
        Self {
            line,
            chat_id,
            began_at: None,
            people: HashSet::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            refused: 0,
            bytes: 0,
        }
    }

    /// Returns the id of the chat: that of the session.
    #[must_use]
    pub fn chat_id(&self) -> &ChatId {
        &self.chat_id
    }

    /// Returns whether the session is larger than it may be. It then lacks what came last.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.bytes > MAX_SESSION_BYTES
    }

    /// Adds something, as long as the session may grow.
    fn hold(&mut self, bytes: usize, add: impl FnOnce(&mut Self)) {
        self.bytes = self.bytes.saturating_add(bytes);
        if !self.is_too_large() {
            add(self);
        }
    }

    fn receive(&mut self, received: Received, bytes: usize) {
        let Received { by, sender, message, is_valid, at } = received;
        self.began_at = self.began_at.or(at);
        let is_passed_on =
            message.get("name").and_then(Value::as_str).is_some_and(|name| name != sender);
        let selects_speaker =
            [&by, &sender].iter().any(|name| SPEAKER_SELECTION.contains(&name.as_str()));
        if is_passed_on || selects_speaker {
            return;
        }
        if !is_valid {
            self.refused += 1;
            return;
        }
        let is_person = self.people.contains(&sender);
        let message = entry::with_speaker(message, sender, is_person);
        self.hold(bytes, |session| session.messages.push(message.into()));
    }

    /// Returns the session as a chat of this workflow, and its calls.
    pub fn into_chat(
        self,
        workflow: &WorkflowName,
    ) -> Result<(ReadChat, Vec<NewProviderCall>), ChatError> {
        let Self { chat_id, began_at, messages, calls, .. } = self;
        let InDialect { messages, noted, dropped } =
            in_dialect::read(&DIALECT, Vec::new(), messages, "")?;
        let new = NewChatSession { chat_id: Some(chat_id), ..NewChatSession::of(workflow.clone()) };
        let chat =
            ReadChat { new, created_at: began_at, messages, noted, dropped, unknown: Vec::new() };
        Ok((chat, calls))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(by: &str, sender: &str, message: &Value, is_valid: bool) -> String {
        let state = json!({ "message": message, "sender": sender, "valid": is_valid }).to_string();
        let at = "2026-01-02 03:04:05.678901";
        let entry = json!({
            "source_name": by, "event_name": "received_message", "json_state": state, "timestamp": at,
        });
        entry.to_string()
    }

    fn read(lines: &[String]) -> (Vec<LoggedSession>, Vec<String>) {
        let (mut log, mut sessions, mut faults) = (Log::default(), Vec::new(), Vec::new());
        for (number, line) in (1..).zip(lines) {
            match log.push(line.as_bytes(), number) {
                Ok(session) => sessions.extend(session),
                Err(error) => faults.push(format!("{number}: {error}")),
            }
        }
        sessions.extend(log.finish());
        (sessions, faults)
    }

    fn chat(session: LoggedSession) -> ReadChat {
        session.into_chat(&WorkflowName::parse("Chat").unwrap()).unwrap().0
    }

    #[test]
    fn a_message_is_read_once_however_many_agents_received_it() {
        let lines = [
            format!("{SESSION}one"),
            json!({ "agent_name": "customer", "agent_type": PERSON, "session_id": "one" })
                .to_string(),
            received("chat_manager", "customer", &json!("Hello"), true),
            received(
                "planner",
                "chat_manager",
                &json!({ "content": "Hello", "role": "user", "name": "customer" }),
                true,
            ),
            received("checking_agent", "speaker_selection_agent", &json!("planner"), true),
            received("chat_manager", "planner", &json!({ "content": "Hi" }), true),
            received("chat_manager", "planner", &json!({ "tool_calls": [] }), false),
            format!("{LOGGER_FAULT}Failed to log event"),
        ];
        let (mut sessions, faults) = read(&lines);
        assert_eq!((sessions.len(), faults), (1, Vec::new()));
        let session = sessions.remove(0);
        assert_eq!((session.chat_id().as_str(), session.line, session.refused), ("one", 1, 1));
        let chat = chat(session);
        let said: Vec<_> = chat
            .messages
            .iter()
            .map(|it| (it.message.body.role.as_str(), it.message.body.name.as_deref()))
            .collect();
        assert_eq!(said, [("user", Some("customer")), ("assistant", Some("planner"))]);
        assert_eq!(chat.created_at.unwrap().to_rfc3339(), "2026-01-02T03:04:05.678901+00:00");
    }

    #[test]
    fn a_session_ends_where_another_one_begins() {
        let lines = [
            received("b", "a", &json!("lost"), true),
            format!("{SESSION}one"),
            received("b", "a", &json!("1"), true),
            json!({ "session_id": "two", "agent_name": "a", "agent_type": "X" }).to_string(),
            received("b", "a", &json!("2"), true),
            "{\"source".to_owned(),
        ];
        let (sessions, faults) = read(&lines);
        let ids: Vec<_> = sessions.iter().map(|session| session.chat_id().as_str()).collect();
        assert_eq!(ids, ["one", "two"]);
        assert_eq!(faults[0], "1: belongs to no session: no line before it names one");
        assert!(faults[1].starts_with("6: cannot be read"), "{faults:?}");
    }

    #[test]
    fn a_session_is_not_lost_with_the_line_that_would_end_it() {
        for (begins, fault) in [
            (json!({ "session_id": "two", "invocation_id": 5 }), "2: cannot be read"),
            (
                json!({ "session_id": "two", "invocation_id": "a", "request": {}, "source_name": "\u{7}" }),
                "2: has a call that cannot be recorded",
            ),
        ] {
            let lines = [format!("{SESSION}one"), begins.to_string()];
            let (sessions, faults) = read(&lines);
            let ids: Vec<_> = sessions.iter().map(|session| session.chat_id().as_str()).collect();
            assert_eq!(ids, ["one"]);
            assert!(faults[0].starts_with(fault), "{faults:?}");
        }
    }

    #[test]
    fn a_session_holds_no_more_than_it_may() {
        let text = "x".repeat(1 << 20);
        let mut log = Log::default();
        log.push(format!("{SESSION}one").as_bytes(), 1).unwrap();
        for number in 2..40 {
            log.push(received("b", "a", &json!(text), true).as_bytes(), number).unwrap();
        }
        let session = log.finish().unwrap();
        assert!(session.is_too_large());
        assert!(session.messages.len() < 33);
    }

    #[test]
    fn a_chat_that_has_grown_keeps_its_ids() {
        let ids = |texts: &[&str]| {
            let mut lines = vec![format!("{SESSION}one")];
            lines.extend(texts.iter().map(|text| received("b", "a", &json!(text), true)));
            let chat = chat(read(&lines).0.remove(0));
            chat.messages.into_iter().map(|it| it.into_message(None).event_id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&["a", "a", "b"])[..2], ids(&["a", "a"]));
    }
}

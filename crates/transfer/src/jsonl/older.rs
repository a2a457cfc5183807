//! The layout before JSON Lines: one JSON file for each session, with all of its messages.

use records::json::{self, ParseError};
use records::{JsonObject, WorkflowName};
use serde_json::{Value, json};

use super::file_name::{COMPRESSED, EXTENSION, PREFIX};
use super::index::{Entry, EntryError};
use super::line::OWN;

/// The field of a session with its messages.
pub const MESSAGES: &str = "messages";

/// The field of a session with the runs of its tools.
pub const TOOLS_USED: &str = "toolsUsed";

const METADATA: &str = "metadata";
const SESSION_ID: &str = "sessionId";
const AGENT_NAME: &str = "agentName";

/// What a file of the layout before JSON Lines holds.
#[derive(Debug)]
pub enum OlderFile {
    /// A session.
    Session(Box<OlderSession>),
    /// State that agents share, which belongs to no session.
    SharedState,
}

/// A session, as the layout of JSON Lines has it.
#[derive(Debug, PartialEq)]
pub struct OlderSession {
    /// Its entry of the index.
    pub entry: Entry,
    /// Its messages, one a line.
    pub messages: String,
    /// The runs of its tools, one a line.
    pub tools: String,
}

/// The reason why a file is not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OlderError {
    /// The file is not JSON, or not JSON that can be stored.
    #[error("cannot be read: {0}")]
    Json(#[from] ParseError),
    /// A field has another type.
    #[error("`{0}` must be {1}")]
    Field(&'static str, &'static str),
    /// The file has neither messages nor the id of a session.
    #[error("is no session: it has neither `sessionId` nor `messages`")]
    NoSession,
    /// The session cannot be a chat.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

impl OlderFile {
    /// Reads a file with this name; `workflow_name` is that of its chat.
    ///
    /// The file is a session, or a list of messages, or has one of them in `data`. Without `sessionId` the name of the file is
    /// the id of the session. What the layout of JSON Lines has no field for becomes metadata.
    pub fn read(
        text: &[u8],
        file_name: &str,
        workflow_name: &WorkflowName,
    ) -> Result<Self, OlderError> {
        let (session, written_at) = unwrapped(json::parse(text)?);
        let mut session = match session {
            Value::Array(messages) => {
                JsonObject::from_iter([(MESSAGES.to_owned(), messages.into())])
            }
            Value::Object(state) if is_shared_state(&state) => return Ok(Self::SharedState),
            Value::Object(session) => session,
            _ => return Err(OlderError::NoSession),
        };
        let id = match session.shift_remove(SESSION_ID).or_else(|| session.shift_remove("id")) {
            Some(Value::String(id)) => id,
            Some(_) => return Err(OlderError::Field(SESSION_ID, "a text")),
            None if session.contains_key(MESSAGES) => id_in(file_name).to_owned(),
            None => return Err(OlderError::NoSession),
        };
        let messages = take_list(&mut session, MESSAGES)?;
        let mut metadata = match session.shift_remove(METADATA) {
            None | Some(Value::Null) => JsonObject::new(),
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return Err(OlderError::Field(METADATA, "an object")),
        };
        let mut tools = take_list(&mut session, TOOLS_USED)?;
        tools.append(&mut take_list(&mut metadata, TOOLS_USED)?);
        let entry = entry(&id, session, metadata, written_at, messages.len());
        let entry = Entry::read(&id, &entry, workflow_name)?;
        let messages = messages.into_iter().map(message_line).collect();
        let tools = tools.into_iter().map(tool_line).collect();
        Ok(Self::Session(Box::new(OlderSession { entry, messages, tools })))
    }
}

/// Takes a session out of what its writer has put around it: `data`, and when it was written.
fn unwrapped(file: Value) -> (Value, Option<Value>) {
    match file {
        Value::Object(mut around) if !is_session(&around) && !is_shared_state(&around) => {
            match around.shift_remove("data") {
                Some(data @ (Value::Object(_) | Value::Array(_))) => {
                    (data, around.shift_remove("createdAt"))
                }
                _ => (Value::Object(around), None),
            }
        }
        other => (other, None),
    }
}

fn is_session(fields: &JsonObject) -> bool {
    fields.contains_key(SESSION_ID) || fields.contains_key(MESSAGES)
}

/// Returns whether an object is not a session, but what agents share under a key.
fn is_shared_state(state: &JsonObject) -> bool {
    ["key", "scope", "permissions"].iter().all(|field| state.contains_key(*field))
}

/// Returns the id of a session that does not state it.
fn id_in(file_name: &str) -> &str {
    let name = file_name.strip_suffix(COMPRESSED).unwrap_or(file_name);
    let name = name.strip_suffix(".json").unwrap_or(name);
    name.strip_prefix(PREFIX).unwrap_or(name)
}

fn take_list(fields: &mut JsonObject, field: &'static str) -> Result<Vec<Value>, OlderError> {
    match fields.shift_remove(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(OlderError::Field(field, "a list")),
    }
}

/// Makes the entry of the index.
fn entry(
    id: &str,
    mut session: JsonObject,
    mut metadata: JsonObject,
    written_at: Option<Value>,
    message_count: usize,
) -> Value {
    let mut take = |fields: &[&str]| {
        let found = fields.iter().find_map(|field| session.shift_remove(*field));
        found.or_else(|| fields.iter().find_map(|field| metadata.shift_remove(*field)))
    };
    let created_at = take(&["createdAt", "startedAt"]).or_else(|| written_at.clone());
    let last_activity_at = take(&["updatedAt", "lastActivityAt"]).or(written_at);
    let status = take(&["status"]);
    let title = take(&["title"]);
    let user_id = take(&["userId"]);
    // The messages say how many they are.
    take(&["messageCount"]);
    for (field, value) in session {
        // A session that stored nothing of its own has an empty object.
        if value != json!({}) {
            metadata.entry(field).or_insert(value);
        }
    }
    metadata.extend(user_id.map(|user_id| ("userId".to_owned(), user_id)));
    let fields = [
        ("file", Some(format!("{PREFIX}{id}{EXTENSION}").into())),
        ("status", status),
        ("createdAt", created_at),
        ("lastActivityAt", last_activity_at),
        ("messageCount", Some(message_count.into())),
        ("title", title),
        (METADATA, Some(metadata.into())),
    ];
    let fields = fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?)));
    Value::Object(fields.collect())
}

/// Makes a line of a message. What cannot be one is left as it is, so that the reader of lines says what is wrong.
fn message_line(message: Value) -> String {
    let Value::Object(mut message) = message else { return line(&message) };
    let sender = message.shift_remove("sender");
    let role = message.shift_remove("role");
    if !message.contains_key("type") {
        let is_bot = sender.as_ref().is_some_and(|sender| sender == "bot");
        let kind = if is_bot { Some("assistant".into()) } else { role.or(sender) };
        message.extend(kind.map(|kind| ("type".to_owned(), kind)));
    }
    // Whether the front end has sent the message to its server says nothing about the message.
    message.shift_remove("synced");
    if let Some(agent) = message.shift_remove("agent") {
        if message.get(METADATA).is_none_or(Value::is_null) {
            message.insert(METADATA.to_owned(), json!({}));
        }
        // The reader of lines refuses metadata that are no object.
        if let Some(Value::Object(metadata)) = message.get_mut(METADATA) {
            metadata.entry("agent").or_insert(agent);
        }
    }
    line(&Value::Object(message))
}

/// Makes a line of a run of a tool.
fn tool_line(run: Value) -> String {
    let Value::Object(mut run) = run else { return line(&run) };
    if run.get(AGENT_NAME).is_some_and(Value::is_string) {
        let agent = run.shift_remove(AGENT_NAME);
        run.insert(OWN.to_owned(), json!({ "agent": agent }));
    }
    line(&Value::Object(run))
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use records::{ChatId, Lifecycle};

    use super::*;
    use crate::jsonl::{read_line, read_tool_line};

    fn read(file: &Value) -> Result<OlderFile, OlderError> {
        let workflow = WorkflowName::parse("Chat").unwrap();
        OlderFile::read(file.to_string().as_bytes(), "session_from_name.json", &workflow)
    }

    fn session(file: &Value) -> OlderSession {
        match read(file).unwrap() {
            OlderFile::Session(session) => *session,
            OlderFile::SharedState => panic!("not a session"),
        }
    }

    fn lines(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_session_becomes_an_entry_and_lines() {
        let file = json!({
            "sessionId": "abc", "title": "Chat Title",
            "messages": [
                { "id": 1, "content": "Hello", "sender": "user", "timestamp": "2023-01-01T00:00:00.000Z", "synced": true },
                { "id": 2, "content": "Hi", "sender": "bot", "timestamp": "2023-01-01T00:00:01.000Z", "agent": "analytical" },
                { "role": "system", "content": "Be brief.", "metadata": { "x": 1 } },
            ],
            "metadata": {
                "createdAt": "2023-01-01T00:00:00.000Z", "updatedAt": "2023-01-02T00:00:00.000Z",
                "messageCount": 3, "agentHistory": ["analytical"], "userId": "user123",
                "toolsUsed": [{
                    "toolName": "DataAnalyzer", "timestamp": "2023-01-01T00:00:00.000Z", "parameters": {}, "result": {},
                    "success": true, "executionTime": 1250, "agentName": "analytical",
                }],
            },
        });
        let OlderSession { entry, messages, tools } = session(&file);
        assert_eq!(entry.notes, []);
        assert_eq!((entry.chat_id.as_str(), entry.message_count), ("abc", Some(3)));
        let times = [entry.created_at, entry.last_activity_at].map(|at| at.unwrap().to_rfc3339());
        assert_eq!(times, ["2023-01-01T00:00:00+00:00", "2023-01-02T00:00:00+00:00"]);
        assert_eq!(entry.new.title.as_deref(), Some("Chat Title"));
        assert_eq!(entry.new.user_id.unwrap().as_str(), "user123");
        let kept = json!({ "agentHistory": ["analytical"] });
        assert_eq!(Value::Object(entry.new.metadata), kept);
        let expected = [
            json!({ "id": 1, "content": "Hello", "timestamp": "2023-01-01T00:00:00.000Z", "type": "user" }),
            json!({
                "id": 2, "content": "Hi", "timestamp": "2023-01-01T00:00:01.000Z", "type": "assistant",
                "metadata": { "agent": "analytical" },
            }),
            json!({ "content": "Be brief.", "metadata": { "x": 1 }, "type": "system" }),
        ];
        assert_eq!(lines(&messages), expected);
        let chat_id = ChatId::parse("abc").unwrap();
        for line in messages.lines() {
            assert_eq!(read_line(line.as_bytes(), 1, &chat_id).unwrap().notes, []);
        }
        let run = read_tool_line(tools.as_bytes(), 1, &chat_id).unwrap().run;
        assert_eq!((run.agent.as_deref(), run.execution_time_ms), (Some("analytical"), Some(1250)));
        assert!(run.metadata.is_empty());
    }

    #[test]
    fn what_its_writer_has_put_around_a_session_is_taken_away() {
        let state = json!({
            "sessionId": "default", "data": {},
            "metadata": { "createdAt": "2025-06-25T03:33:11.946Z", "accessCount": 7, "userId": "default" },
            "agentHistory": [{ "agentName": "AnalyticalAgent", "confidence": 0.1 }],
            "toolsUsed": [], "status": "archived", "analytics": { "messageCount": 0 },
        });
        let file = json!({ "data": state, "createdAt": "2025-06-25T03:40:19.882Z", "ttl": 5 });
        let OlderSession { entry, messages, tools } = session(&file);
        assert_eq!(
            (entry.chat_id.as_str(), messages.as_str(), tools.as_str()),
            ("default", "", "")
        );
        assert_eq!(entry.status.lifecycle(), Lifecycle::Archived);
        let times =
            [entry.created_at, entry.last_activity_at].map(|at| at.unwrap().timestamp_millis());
        assert_eq!(times, [1_750_822_391_946, 1_750_822_819_882]);
        let kept = json!({
            "accessCount": 7, "agentHistory": [{ "agentName": "AnalyticalAgent", "confidence": 0.1 }],
            "analytics": { "messageCount": 0 },
        });
        assert_eq!(Value::Object(entry.new.metadata), kept);
    }

    #[test]
    fn a_list_of_messages_is_a_session_with_the_name_of_its_file() {
        for file in [
            json!([{ "type": "user", "content": "hi" }]),
            json!({ "data": [{ "type": "user", "content": "hi" }] }),
            json!({ "messages": [{ "type": "user", "content": "hi" }] }),
        ] {
            let OlderSession { entry, messages, .. } = session(&file);
            assert_eq!(entry.chat_id.as_str(), "from_name");
            assert_eq!(lines(&messages), [json!({ "type": "user", "content": "hi" })]);
        }
    }

    #[test]
    fn state_that_agents_share_is_no_session() {
        let shared = json!({ "key": "k", "data": {}, "scope": "global", "permissions": {} });
        for file in [json!({ "data": shared, "createdAt": "x", "ttl": 1 }), shared] {
            assert!(matches!(read(&file), Ok(OlderFile::SharedState)), "{file}");
        }
    }

    #[test]
    fn a_file_that_is_no_session_is_an_error() {
        for (file, reason) in [
            (json!(5), "is no session"),
            (json!({}), "is no session"),
            (json!({ "data": {} }), "is no session"),
            (json!({ "sessionId": 5 }), "`sessionId` must be a text"),
            (json!({ "sessionId": "../etc" }), "has an id that cannot be the id of a chat"),
            (json!({ "sessionId": "a", "messages": {} }), "`messages` must be a list"),
            (json!({ "sessionId": "a", "metadata": [] }), "`metadata` must be an object"),
            (json!({ "sessionId": "a", "toolsUsed": 1 }), "`toolsUsed` must be a list"),
            (json!({ "sessionId": "a", "status": "gone" }), "cannot be read"),
        ] {
            let error = read(&file).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{file}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_a_message_is_an_error_of_its_line() {
        let file = json!({ "sessionId": "a", "messages": [5, { "content": "from nobody" }] });
        let messages = session(&file).messages;
        let chat_id = ChatId::parse("a").unwrap();
        let errors = messages.lines().map(|line| read_line(line.as_bytes(), 1, &chat_id));
        let errors: Vec<_> = errors.map(|read| read.unwrap_err().to_string()).collect();
        assert_eq!(errors, ["is not a JSON object", "`type` must be a text"]);
    }
}

use std::fmt;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use records::{
    AssistantId, ChatId, ChatSession, IdError, Invalid, JsonObject, Lifecycle, Message,
    NewChatSession, TeamId, UserId, Visibility, WorkflowName,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::file_name::{SessionFile, file_of, tools_file_of};
use super::line::timestamp_of;

/// How long after its last activity a session that is in use counts as inactive.
const INACTIVE_AFTER: TimeDelta = TimeDelta::minutes(30);

/// What the key of a session in the index has before its id.
const KEY_PREFIX: &str = "session_";

/// The fields of an entry that follow from the messages, from the id, or from other fields.
const DERIVED: [&str; 4] = ["file", "toolsFile", "startedAt", "messageCount"];

const LAST_AGENT: &str = "lastAgent";
const USER_ID: &str = "userId";

/// Returns the key of a chat in the index.
#[must_use]
pub fn index_key(chat_id: &ChatId) -> String {
    format!("{KEY_PREFIX}{chat_id}")
}

/// The status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The session is in use.
    Active,
    /// The session is not in use at the moment.
    Inactive,
    /// The session is put aside.
    Archived,
    /// The session is removed, and can be restored.
    Deleted,
}

impl Status {
    /// Returns the status of a chat.
    #[must_use]
    pub fn of(chat: &ChatSession, now: DateTime<Utc>) -> Self {
        match chat.lifecycle {
            Lifecycle::Active if now - chat.last_active_at() < INACTIVE_AFTER => Self::Active,
            Lifecycle::Active => Self::Inactive,
            Lifecycle::Archived => Self::Archived,
            Lifecycle::Deleted | Lifecycle::Purged => Self::Deleted,
        }
    }

    /// Returns the lifecycle of a chat with this status.
    #[must_use]
    pub fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Active | Self::Inactive => Lifecycle::Active,
            Self::Archived => Lifecycle::Archived,
            Self::Deleted => Lifecycle::Deleted,
        }
    }
}

/// A session of the index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The id of the chat.
    pub chat_id: ChatId,
    /// The chat to create.
    pub new: NewChatSession,
    /// The status.
    pub status: Status,
    /// When the session was created, if the entry says so.
    pub created_at: Option<DateTime<Utc>>,
    /// When the session was last active, if the entry says so.
    pub last_activity_at: Option<DateTime<Utc>>,
    /// How many messages the session has, if the entry says so.
    pub message_count: Option<u64>,
    /// What is not stored as it stands in the entry.
    pub notes: Vec<EntryNote>,
}

/// Something in an entry that is not stored as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryNote {
    /// A time cannot be read; it is left out.
    Time(&'static str),
    /// The user is not a valid id; it stays in the metadata only.
    User,
    /// A field that a session does not have is left out.
    Unknown(String),
}

impl fmt::Display for EntryNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(field) => write!(f, "has no valid time in `{field}`: it is left out"),
            Self::User => {
                f.write_str("has a metadata.userId that is no valid id: it stays in the metadata")
            }
            Self::Unknown(field) => write!(f, "has a field `{field}` that is left out"),
        }
    }
}

/// The reason why a session is not imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The entry is not an object, or a field has another type.
    #[error("cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// The file has another name than that of a session.
    #[error("names the file {0:?}, which must be session_ID.jsonl")]
    File(String),
    /// The id is not the id of a chat.
    #[error("has an id that cannot be the id of a chat: {0}")]
    Id(#[from] IdError),
    /// The session does not follow the rules of chats.
    #[error("cannot be stored: {0}")]
    Invalid(#[from] Invalid),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryFields {
    file: Option<String>,
    status: Option<Status>,
    created_at: Option<Value>,
    last_activity_at: Option<Value>,
    message_count: Option<Value>,
    title: Option<String>,
    metadata: Option<JsonObject>,
    reprise: Option<Own>,
    #[serde(flatten)]
    others: JsonObject,
}

/// What an entry has for Reprise alone.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow_name: Option<WorkflowName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    visibility: Option<Visibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team_id: Option<TeamId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assistant_id: Option<AssistantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sort: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
}

impl Entry {
    /// Reads an entry of the index; `workflow_name` is that of a session that has none.
    pub fn read(
        key: &str,
        entry: &Value,
        workflow_name: &WorkflowName,
    ) -> Result<Self, EntryError> {
        let fields = EntryFields::deserialize(entry)?;
        let chat_id = chat_id_of(key, fields.file)?;
        let mut notes = Vec::new();
        let created_at = time(fields.created_at, "createdAt", &mut notes);
        let last_activity_at = time(fields.last_activity_at, "lastActivityAt", &mut notes);
        let mut metadata = fields.metadata.unwrap_or_default();
        metadata.shift_remove(LAST_AGENT);
        let user_id = take_user(&mut metadata, &mut notes);
        let others = fields.others.into_iter().map(|(field, _)| field);
        let unknown = others.filter(|field| !DERIVED.contains(&field.as_str()));
        notes.extend(unknown.map(EntryNote::Unknown));
        let own = fields.reprise.unwrap_or_default();
        let workflow_name = own.workflow_name.unwrap_or_else(|| workflow_name.clone());
        let new = NewChatSession {
            chat_id: Some(chat_id.clone()),
            user_id,
            title: fields.title,
            metadata,
            visibility: own.visibility.unwrap_or_default(),
            team_id: own.team_id,
            assistant_id: own.assistant_id,
            sort: own.sort.unwrap_or_default(),
            system_prompt: own.system_prompt,
            ..NewChatSession::of(workflow_name)
        };
        new.check()?;
        let status = fields.status.unwrap_or(Status::Active);
        // The messages are counted; this only tells that some are missing.
        let message_count = fields.message_count.and_then(|count| count.as_u64());
        Ok(Self { chat_id, new, status, created_at, last_activity_at, message_count, notes })
    }

    /// Makes the entry of a session that the index does not have, from its first message.
    #[must_use]
    pub fn rebuilt(
        chat_id: ChatId,
        first: Option<&super::ReadLine>,
        workflow_name: &WorkflowName,
    ) -> Self {
        let message = first.map(|read| &read.message);
        let timestamp = message.and_then(|message| message.body.timestamp.as_deref());
        let author = message.and_then(|message| message.author.as_ref());
        let new = NewChatSession {
            chat_id: Some(chat_id.clone()),
            user_id: author.map(|author| author.user_id.clone()),
            ..NewChatSession::of(workflow_name.clone())
        };
        Self {
            chat_id,
            new,
            status: Status::Active,
            created_at: timestamp.and_then(read_time),
            last_activity_at: None,
            message_count: None,
            notes: Vec::new(),
        }
    }
}

/// Returns the id of the chat of an entry. The file has it; a key may have it with or without its prefix.
fn chat_id_of(key: &str, file: Option<String>) -> Result<ChatId, EntryError> {
    let Some(file) = file else {
        return Ok(ChatId::parse(key.strip_prefix(KEY_PREFIX).unwrap_or(key))?);
    };
    match SessionFile::of(&file) {
        SessionFile::Messages(chat_id) => Ok(chat_id),
        SessionFile::Refused(error) => Err(error.into()),
        SessionFile::Tools(_) | SessionFile::Other => Err(EntryError::File(file)),
    }
}

fn time(
    value: Option<Value>,
    field: &'static str,
    notes: &mut Vec<EntryNote>,
) -> Option<DateTime<Utc>> {
    let value = value?;
    let time = value.as_str().and_then(read_time);
    if time.is_none() {
        notes.push(EntryNote::Time(field));
    }
    time
}

/// Reads a time, to the millisecond; `None` for a text that is none.
#[must_use]
pub fn read_time(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    DateTime::from_timestamp_millis(time.timestamp_millis())
}

fn take_user(metadata: &mut JsonObject, notes: &mut Vec<EntryNote>) -> Option<UserId> {
    let user = metadata.get(USER_ID).filter(|user| !user.is_null())?;
    let user_id = user.as_str().and_then(|user| UserId::parse(user).ok());
    if user_id.is_some() {
        metadata.shift_remove(USER_ID);
    } else {
        notes.push(EntryNote::User);
    }
    user_id
}

/// What an entry says about the messages of its session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTimes {
    /// How many messages were written.
    pub message_count: u64,
    /// The time of the first one.
    started_at: Option<DateTime<Utc>>,
    /// The agent that spoke last.
    last_agent: Option<String>,
}

impl SessionTimes {
    /// Counts a message that was written.
    pub fn add(&mut self, message: &Message) {
        if self.message_count == 0 {
            let stated = read_time(&timestamp_of(message));
            self.started_at = Some(stated.unwrap_or(message.created_at));
        }
        self.message_count += 1;
        if message.body.role == "assistant"
            && let Some(name) = &message.body.name
        {
            self.last_agent = Some(name.clone());
        }
    }
}

/// Writes the entry of a chat for the index.
#[must_use]
pub fn write_entry(chat: &ChatSession, messages: &SessionTimes, now: DateTime<Utc>) -> Value {
    let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut metadata = JsonObject::new();
    if let Some(agent) = &messages.last_agent {
        metadata.insert(LAST_AGENT.to_owned(), agent.as_str().into());
    }
    if let Some(user_id) = &chat.user_id {
        metadata.insert(USER_ID.to_owned(), user_id.as_str().into());
    }
    for (key, value) in &chat.metadata {
        metadata.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    let own = Own {
        workflow_name: Some(chat.workflow_name.clone()),
        visibility: Some(chat.visibility).filter(|it| *it != Visibility::default()),
        team_id: chat.team_id.clone(),
        assistant_id: chat.assistant_id.clone(),
        sort: Some(chat.sort).filter(|sort| *sort != 0),
        system_prompt: chat.system_prompt.clone(),
    };
    json!({
        "file": file_of(&chat.chat_id),
        "toolsFile": tools_file_of(&chat.chat_id),
        "status": Status::of(chat, now),
        "createdAt": text(chat.created_at),
        "startedAt": text(messages.started_at.unwrap_or(chat.created_at)),
        "lastActivityAt": text(chat.last_active_at()),
        "messageCount": messages.message_count,
        "title": chat.title,
        "metadata": metadata,
        "reprise": own,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow() -> WorkflowName {
        WorkflowName::parse("Chat").unwrap()
    }

    fn read(key: &str, entry: &Value) -> Result<Entry, EntryError> {
        Entry::read(key, entry, &workflow())
    }

    #[test]
    fn an_entry_becomes_a_chat() {
        let entry = json!({
            "file": "session_abc123.jsonl", "toolsFile": "session_abc123_tools.jsonl",
            "status": "archived", "createdAt": "2025-06-26T10:00:00Z", "startedAt": "x",
            "lastActivityAt": "2025-06-26T10:15:00Z", "messageCount": 42, "title": "Chat about AI",
            "metadata": { "lastAgent": "AnalyticalAgent", "userId": "user123", "tag": 1 },
        });
        let entry = read("session_abc123", &entry).unwrap();
        assert_eq!(entry.chat_id.as_str(), "abc123");
        assert_eq!(entry.notes, []);
        assert_eq!(entry.status.lifecycle(), Lifecycle::Archived);
        assert_eq!(entry.created_at.unwrap().to_rfc3339(), "2025-06-26T10:00:00+00:00");
        let NewChatSession { title, user_id, metadata, workflow_name, .. } = entry.new;
        assert_eq!(title.as_deref(), Some("Chat about AI"));
        assert_eq!(user_id, UserId::parse("user123").ok());
        assert_eq!(Value::Object(metadata), json!({ "tag": 1 }));
        assert_eq!(workflow_name, workflow());
    }

    #[test]
    fn a_key_alone_names_the_session() {
        for key in ["session_abc123", "abc123"] {
            assert_eq!(read(key, &json!({})).unwrap().chat_id.as_str(), "abc123");
        }
    }

    #[test]
    fn an_entry_that_leads_elsewhere_is_refused() {
        for (key, entry) in [
            ("../etc", json!({})),
            ("a", json!({ "file": "../../etc/passwd" })),
            ("a", json!({ "file": "session_../a.jsonl" })),
            ("a", json!({ "file": "session_a_tools.jsonl" })),
            ("a", json!({ "file": "/session_a.jsonl" })),
            ("a", json!({ "status": "gone" })),
            ("a", json!([])),
        ] {
            assert!(read(key, &entry).is_err(), "{key} {entry}");
        }
    }

    #[test]
    fn what_is_not_stored_is_noted() {
        let entry = json!({ "createdAt": 5, "metadata": { "userId": 7 }, "pinned": true });
        let Entry { notes, new, .. } = read("a", &entry).unwrap();
        let unknown = EntryNote::Unknown("pinned".to_owned());
        assert_eq!(notes, [EntryNote::Time("createdAt"), EntryNote::User, unknown]);
        assert_eq!(Value::Object(new.metadata), json!({ "userId": 7 }));
    }

    #[test]
    fn an_entry_that_is_read_is_written_as_it_was() {
        let entry = json!({
            "file": "session_a.jsonl", "toolsFile": "session_a_tools.jsonl", "status": "inactive",
            "createdAt": "2025-06-26T10:00:00.000Z", "startedAt": "2025-06-26T10:00:00.000Z",
            "lastActivityAt": "2025-06-26T10:00:00.000Z", "messageCount": 0, "title": null,
            "metadata": { "userId": "user123", "tag": 1 },
            "reprise": { "workflow_name": "Other", "visibility": "app", "system_prompt": "Be brief." },
        });
        let Entry { new, created_at, .. } = read("session_a", &entry).unwrap();
        let created_at = created_at.unwrap();
        let app_id = records::AppId::parse("acme_corp").unwrap();
        let chat = ChatSession::start(app_id, ChatId::parse("a").unwrap(), new, created_at);
        let later = created_at + TimeDelta::hours(1);
        let written = write_entry(&chat, &SessionTimes::default(), later);
        assert_eq!(written.to_string(), entry.to_string());
        assert_eq!(Status::of(&chat, created_at + TimeDelta::minutes(29)), Status::Active);
    }
}

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::ids::is_name;
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{DisplayName, EventId, Invalid, UserId};

/// A message in its chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its position in the chat, from 0, without gaps, never reused.
    pub sequence: u64,
    /// Names it within the chat.
    pub event_id: EventId,
    /// What was said, by whom.
    pub body: MessageBody,
    /// The person who appended it; edits and deletion leave it.
    pub author: Option<Author>,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
    /// When its body was last changed, if it was.
    pub edited_at: Option<DateTime<Utc>>,
    /// When it was deleted, if it was; the body then keeps only the role and the name.
    pub deleted_at: Option<DateTime<Utc>>,
}

/// The person who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Who it is.
    pub user_id: UserId,
    /// What they were called then, as stated with the message.
    pub display_name: Option<DisplayName>,
}

/// What was said, by whom.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageBody {
    /// The role as given: `user`, `assistant`, `system`, `tool`, or whatever the source calls it.
    pub role: String,
    /// The speaker.
    pub name: Option<String>,
    /// Text, structure or null.
    pub content: Value,
    /// The caller's own time, kept as the text it was.
    pub timestamp: Option<String>,
    /// Whatever the caller keeps beside the message.
    pub metadata: Option<JsonObject>,
    /// The fields replay formats need besides, each one of [`MessageBody::EXTRA`].
    pub extra: JsonObject,
}

impl MessageBody {
    /// The names that [`MessageBody::extra`] may hold.
    pub const EXTRA: [&'static str; 14] = [
        "block_id",
        "event_type",
        "function_call",
        "is_user_proxy",
        Self::PRODUCED_BY,
        "reasoning_content",
        "refusal",
        Self::REQUEST_ID,
        "structured_output",
        "structured_schema",
        "thread_id",
        "tool_call_id",
        "tool_calls",
        "tool_responses",
    ];

    /// The field that names the call of a model that produced the message: a call id, or null.
    pub const PRODUCED_BY: &'static str = "produced_by_call_id";

    /// The field that names the turn a message is of.
    pub const REQUEST_ID: &'static str = "request_id";

    /// The names of [`MessageBody::extra`] that hold an id, or null.
    pub const LINKS: [&'static str; 4] =
        ["block_id", Self::PRODUCED_BY, Self::REQUEST_ID, "thread_id"];

    /// Returns the names of [`MessageBody::extra`] that may hold any JSON.
    pub fn free_extra() -> impl Iterator<Item = &'static str> {
        Self::EXTRA.into_iter().filter(|name| !Self::LINKS.contains(name))
    }

    /// A body with a role, a speaker and a content.
    pub fn new(role: &str, name: Option<&str>, content: impl Into<Value>) -> Self {
        Self {
            role: role.to_owned(),
            name: name.map(str::to_owned),
            content: content.into(),
            ..Self::default()
        }
    }

    /// Checks every field, and returns the size of the encoded body in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        const NAME_RULE: &str = "must be 1 to 128 characters without control characters";
        if !is_name(&self.role) {
            return Err(Invalid::value("/role", NAME_RULE));
        }
        if self.name.as_deref().is_some_and(|name| !name.is_empty() && !is_name(name)) {
            return Err(Invalid::value("/name", NAME_RULE));
        }
        if self.timestamp.as_deref().is_some_and(|t| t.chars().count() > Limits::TIMESTAMP_CHARS) {
            let limit = format!("must be at most {} characters", Limits::TIMESTAMP_CHARS);
            return Err(Invalid::value("/timestamp", limit));
        }
        let bytes = self.measure()?;
        if bytes > Limits::MESSAGE_BYTES {
            let detail = format!(
                "the message is {bytes} bytes; the limit is {} bytes",
                Limits::MESSAGE_BYTES
            );
            return Err(Invalid::too_large("/content", detail));
        }
        Ok(bytes)
    }

    fn measure(&self) -> Result<usize, Invalid> {
        let mut bytes = json::measure(&self.content).map_err(|e| e.below("/content"))?;
        if let Some(metadata) = &self.metadata {
            bytes += json::measure_object(metadata).map_err(|e| e.below("/metadata"))?;
        }
        for (name, value) in &self.extra {
            if !Self::EXTRA.contains(&name.as_str()) {
                return Err(Invalid::value(format!("/{name}"), "is not a field of a message"));
            }
            if Self::LINKS.contains(&name.as_str()) && !is_link(value) {
                return Err(Invalid::value(format!("/{name}"), "must be an id or null"));
            }
            bytes += json::measure(value).map_err(|e| e.below(&format!("/{name}")))?;
        }
        Ok(bytes + self.role.len() + self.name.as_deref().map_or(0, str::len))
    }

    /// Returns the digest by which a repeated message is told from another one with the same id.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.field("role", &Value::from(self.role.as_str()));
        hasher.field("name", &Value::from(self.name.as_deref()));
        hasher.field("content", &self.content);
        hasher.field("timestamp", &Value::from(self.timestamp.as_deref()));
        if let Some(metadata) = &self.metadata {
            hasher.object("metadata", metadata);
        }
        hasher.object("extra", &self.extra);
        hasher.finish()
    }

    /// Returns what is left of the body once its message is deleted.
    #[must_use]
    pub fn tombstone(&self) -> Self {
        Self { role: self.role.clone(), name: self.name.clone(), ..Self::default() }
    }
}

fn is_link(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(is_name)
}

/// A message to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Names it; one is minted when it is missing. A message is safe to repeat when it has one.
    pub event_id: Option<EventId>,
    /// What was said, by whom.
    pub body: MessageBody,
    /// The person who wrote it: for a service to state. A person is the author of what they append.
    pub author: Option<Author>,
}

impl From<MessageBody> for NewMessage {
    fn from(body: MessageBody) -> Self {
        Self { event_id: None, body, author: None }
    }
}

/// A change to a message; what is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageEdit {
    /// The new content.
    pub content: Option<Value>,
    /// The new speaker.
    pub name: Option<String>,
    /// The new metadata, whole.
    pub metadata: Option<JsonObject>,
}

impl MessageEdit {
    /// Returns the body as it is after the change.
    #[must_use]
    pub fn apply(&self, body: &MessageBody) -> MessageBody {
        MessageBody {
            content: self.content.clone().unwrap_or_else(|| body.content.clone()),
            name: self.name.clone().or_else(|| body.name.clone()),
            metadata: self.metadata.clone().or_else(|| body.metadata.clone()),
            ..body.clone()
        }
    }
}

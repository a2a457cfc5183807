use records::{ChatSession, JsonObject, Lifecycle, Location, Visibility};
use resume::dialect::TranscriptPosition;
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::sent_fields::{SentNames, sent_place};
use crate::problem::Problem;
use crate::wire::Time;

/// What the fields of a stored message are called in a typed one.
const MESSAGE_NAMES: &SentNames = &[
    ("content", "/props"),
    ("event_id", "/message_id"),
    ("reasoning_content", "/props/content"),
    ("timestamp", "/created_at"),
    ("tool_calls", "/props"),
];

/// Returns where in a request the value is that an error names in one of its messages.
pub(super) fn place_of_message(at: Location, positions: &[TranscriptPosition]) -> Location {
    sent_place(at, positions, MESSAGE_NAMES)
}

/// A chat session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSession)]
pub(super) struct SessionItem {
    #[schema(example = "chat_123")]
    chat_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The assistant; the name of the workflow if the chat has none.
    #[schema(example = "weather_assistant")]
    assistant_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_connector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_mode: Option<String>,
    /// `active` or `archived`.
    #[schema(example = "active")]
    status: &'static str,
    /// Whether every user of the app finds the chat.
    public: bool,
    /// `private` or `team`.
    #[schema(example = "private")]
    share: &'static str,
    sort: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_message_at: Option<Time>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
    updated_at: Time,
}

/// The values of `share`.
pub(super) const TEAM: &str = "team";
pub(super) const PRIVATE: &str = "private";

/// The field of the metadata of a public chat with its `share`, which its visibility does not tell. Like other fields that
/// begin so, clients neither set nor see it.
pub(super) const SHARE: &str = "__yao_share";

impl From<ChatSession> for SessionItem {
    fn from(mut chat: ChatSession) -> Self {
        let kept = chat.metadata.shift_remove(SHARE);
        let is_of_team = match chat.visibility {
            Visibility::Team => true,
            Visibility::App => kept.is_some_and(|share| share == TEAM),
            _ => false,
        };
        Self {
            assistant_id: assistant_of(&chat).to_owned(),
            chat_id: chat.chat_id.into(),
            title: chat.title,
            last_connector: chat.last_connector,
            last_mode: chat.last_mode,
            status: if chat.lifecycle == Lifecycle::Archived { "archived" } else { "active" },
            public: chat.visibility == Visibility::App,
            share: if is_of_team { TEAM } else { PRIVATE },
            sort: chat.sort,
            last_message_at: chat.last_message_at.map(Into::into),
            metadata: chat.metadata,
            created_at: chat.created_at.into(),
            updated_at: chat.last_updated_at.into(),
        }
    }
}

/// Reads a `status`.
pub(super) fn lifecycle_of(status: Option<&str>) -> Result<Option<Lifecycle>, Problem> {
    match status {
        None => Ok(None),
        Some("active") => Ok(Some(Lifecycle::Active)),
        Some("archived") => Ok(Some(Lifecycle::Archived)),
        Some(_) => Err(Problem::invalid_body("/status", "must be active or archived")),
    }
}

/// Returns the assistant of a chat. Yao's chats have one always.
pub(super) fn assistant_of(chat: &ChatSession) -> &str {
    chat.assistant_id.as_ref().map_or(chat.workflow_name.as_str(), |id| id.as_str())
}

/// What was done to a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionChanged)]
pub(super) struct ChangedResponse {
    #[schema(example = "Chat updated successfully")]
    message: &'static str,
    chat_id: String,
}

impl ChangedResponse {
    pub(super) fn updated(chat_id: String) -> Self {
        Self { message: "Chat updated successfully", chat_id }
    }

    pub(super) fn resumed(chat_id: String) -> Self {
        Self { message: "Resume records deleted successfully", chat_id }
    }

    pub(super) fn deleted(chat_id: String) -> Self {
        Self { message: "Chat deleted successfully", chat_id }
    }
}

//! Documents of collections in which other systems keep chats.

mod agents;
mod langchain;
mod messages;
mod mozaiks;

use chrono::{DateTime, Utc};
use records::json::{Hasher, hex};
use records::{
    AppId, ChatId, ChatStatus, IdError, Invalid, JsonObject, NewArtifact, NewChatSession,
    WorkflowName,
};

use crate::{MessagesError, ReadMessage};

pub use agents::OPENAI_AGENTS;
pub use langchain::LANGCHAIN;
pub use mozaiks::MOZAIKS;

/// How another system keeps chats in a collection.
#[derive(Debug)]
pub struct Layout {
    /// The name of the layout, which ids that are made for it begin with.
    pub name: &'static str,
    /// The database and the collection that the system uses unless it is told otherwise.
    pub place: (&'static str, &'static str),
    /// The fields by which the documents are ordered, 1 for upwards: those of a chat come one after the other.
    pub order: &'static [(&'static str, i32)],
    read: fn(JsonObject, &WorkflowName) -> Result<Part, PartError>,
}

/// Every layout.
pub const LAYOUTS: [&Layout; 3] = [&MOZAIKS, &LANGCHAIN, &OPENAI_AGENTS];

impl Layout {
    /// Reads a document; `workflow_name` is that of a chat that names none.
    pub fn read(
        &self,
        document: JsonObject,
        workflow_name: &WorkflowName,
    ) -> Result<Part, PartError> {
        (self.read)(document, workflow_name)
    }
}

/// What a document says about its chat.
#[derive(Debug)]
#[non_exhaustive]
pub struct Part {
    /// The app of the chat, if the document names one.
    pub app_id: Option<AppId>,
    /// The chat to create.
    pub new: NewChatSession,
    /// The id of the chat.
    pub chat_id: ChatId,
    /// When the chat was created, if the document says so.
    pub created_at: Option<DateTime<Utc>>,
    /// When the chat was written to last, if the document says so.
    pub active_at: Option<DateTime<Utc>>,
    /// How often the session had been cleared before. Documents of a chat with less than the first one are leftovers.
    pub generation: i64,
    /// The messages in their order.
    pub messages: Vec<ReadMessage>,
    /// What the id of the chat was before, if that is no id of a chat.
    pub id_note: Option<String>,
    /// What is not stored as it stands in the document.
    pub notes: Vec<String>,
    /// The messages that cannot be stored.
    pub faults: Vec<String>,
    /// How the chat stands, if the document says so.
    pub state: Option<ChatState>,
}

/// How a chat stands after its messages.
#[derive(Debug, PartialEq)]
pub struct ChatState {
    /// The status of its run.
    pub status: ChatStatus,
    /// When it got this status, if that is known.
    pub since: Option<DateTime<Utc>>,
    /// Its context snapshot.
    pub context: Option<JsonObject>,
    /// Its last artifact.
    pub artifact: Option<NewArtifact>,
}

/// The reason why nothing of a document is imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A field is missing or has another type.
    #[error("`{0}` must be {1}")]
    Field(&'static str, &'static str),
    /// A text of JSON within the document cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Json(&'static str, records::json::ParseError),
    /// The messages cannot be stored.
    #[error(transparent)]
    Messages(#[from] MessagesError),
    /// An id has another form than it may have here.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The chat does not follow the rules of chats, or a message those of messages.
    #[error("cannot be stored: {0}")]
    Invalid(#[from] Invalid),
}

/// Returns the id of the chat of a session, and a note if that is not the id of the session.
///
/// Sessions may have any text as their id. One that is no id of a chat is replaced by its digest.
fn chat_of_session(layout: &str, session_id: &str) -> Result<(ChatId, Option<String>), PartError> {
    if let Ok(chat_id) = ChatId::parse(session_id) {
        return Ok((chat_id, None));
    }
    let mut hasher = Hasher::default();
    hasher.field("session", &session_id.into());
    let text = format!("{layout}_{}", hex(&hasher.finish()));
    let note =
        format!("{session_id:?} is no id of a chat: the chat is {text}, and its metadata have it");
    Ok((ChatId::parse(text)?, Some(note)))
}

use std::sync::Arc;

use persistence::{ChatHead, ChatPresence};
use records::{ChatId, InputRequest, Message, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Position;
use crate::wire::{InputRequestResponse, MessageResponse, PresenceResponse, UsageFields};

/// Something that whoever listens to a chat is told.
///
/// Written once, however many listen; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// What kind of event it is.
    pub(super) name: &'static str,
    /// JSON, an object.
    pub(super) data: Arc<str>,
    /// Of a message, what a WebSocket frame has besides: JSON, an object.
    pub(super) lead: Option<Arc<str>>,
}

/// See [`Event::lead`].
#[derive(Serialize)]
struct Lead<'a> {
    /// The sequence, by the name it has in frames.
    index: u64,
    /// Who speaks: the name, or the role where there is none.
    agent: &'a str,
    /// A null where the message has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<()>,
}

/// What is read of it again.
#[derive(Deserialize)]
struct Speaker {
    agent: String,
}

/// An event, and where it brings its reader if it does.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) event: Event,
    pub(crate) position: Option<Position>,
}

impl Event {
    const MESSAGE: &str = "message";
    const CAUGHT_UP: &str = "caught-up";

    /// A message that is new to the reader.
    pub(super) fn message(message: Message) -> Self {
        Self::of_message(Self::MESSAGE, message)
    }

    /// A message that the reader knows has changed.
    pub(super) fn edit(message: Message) -> Self {
        let name = if message.deleted_at.is_some() { "message-deleted" } else { "message-updated" };
        Self::of_message(name, message)
    }

    fn of_message(name: &'static str, message: Message) -> Self {
        let body = &message.body;
        let lead = Lead {
            index: message.sequence,
            agent: body.name.as_deref().unwrap_or(&body.role),
            metadata: body.metadata.is_none().then_some(()),
        };
        let lead = Some(written(&lead));
        Self { lead, ..Self::new(name, &MessageResponse::from(message)) }
    }

    /// Tells whether it is a message that is new to the reader.
    pub(super) fn is_message(&self) -> bool {
        self.name == Self::MESSAGE
    }

    /// Returns who speaks, if it is a message.
    pub(super) fn speaker(&self) -> Option<String> {
        let lead: Speaker = serde_json::from_str(self.lead.as_ref()?).ok()?;
        Some(lead.agent)
    }

    /// Tells whether it says that there is no more for now.
    pub(super) fn is_caught_up(&self) -> bool {
        self.name == Self::CAUGHT_UP
    }

    pub(super) fn caught_up(head: &ChatHead, position: Position) -> Self {
        let data = CaughtUpResponse {
            sequence: position.last(),
            revision: position.revision,
            status: head.status.as_str(),
            status_reason: head.status_reason.clone(),
            context_version: head.context_version,
            artifact_version: head.artifact_version,
            pending_inputs: head.pending_inputs.iter().map(ToString::to_string).collect(),
        };
        Self::new(Self::CAUGHT_UP, &data)
    }

    /// A question, or what became of it.
    pub(super) fn input(request: InputRequest) -> Self {
        let name = if request.closing.is_some() { "input-response" } else { "input-request" };
        Self::new(name, &InputRequestResponse::from(request))
    }

    pub(super) fn status(head: &ChatHead) -> Self {
        let (status, status_reason) = (head.status.as_str(), head.status_reason.clone());
        Self::new("status", &StatusResponse { status, status_reason })
    }

    pub(super) fn context(head: &ChatHead) -> Self {
        Self::new("context", &VersionResponse { version: head.context_version })
    }

    pub(super) fn artifact(head: &ChatHead) -> Self {
        Self::new("artifact", &VersionResponse { version: head.artifact_version })
    }

    /// Who is present.
    pub(super) fn presence(chat_id: &ChatId, presence: ChatPresence) -> Self {
        Self::new("presence", &PresenceResponse::of(chat_id, presence))
    }

    /// What the calls of the chat took.
    pub(super) fn usage(usage: Usage) -> Self {
        Self::new("usage", &UsageFields::from(usage))
    }

    fn new(name: &'static str, data: &impl Serialize) -> Self {
        Self { name, data: written(data), lead: None }
    }
}

fn written(data: &impl Serialize) -> Arc<str> {
    // What is written are plain structs and JSON, neither of which can fail.
    serde_json::to_string(data).unwrap_or_default().into()
}

/// With `caught-up`: how the chat stands when its reader has everything there is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CaughtUp)]
pub(crate) struct CaughtUpResponse {
    /// The sequence of the last message, -1 where there is none.
    #[schema(example = 41)]
    sequence: i64,
    /// How often messages have been edited or deleted.
    revision: u64,
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(example = "running")]
    status: &'static str,
    /// Why it was paused or failed.
    status_reason: Option<String>,
    /// How often the context snapshot was written.
    context_version: u64,
    /// How often the last artifact was replaced or removed.
    artifact_version: u64,
    /// The ids of the input requests that are pending; each comes as an `input-request` right after.
    pending_inputs: Vec<String>,
}

/// With `status`: where the chat stands now.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatusChanged)]
pub(crate) struct StatusResponse {
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(example = "paused")]
    status: &'static str,
    /// Why it was paused or failed.
    status_reason: Option<String>,
}

/// With `context` and `artifact`: it has changed, and is to be read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VersionChanged)]
pub(crate) struct VersionResponse {
    /// How often it has changed by now.
    #[schema(example = 3)]
    version: u64,
}

use std::sync::Arc;

use persistence::{ChatHead, ChatPresence};
use records::{ChatId, InputRequest, Message, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::position::Position;
use crate::openapi::values;
use crate::wire::{InputRequestResponse, MessageResponse, PresenceResponse, UsageFields};

/// An event of a chat, as its subscribers are sent it.
///
/// It is serialized once, for any number of subscribers, and is cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The kind of event, by its name in server-sent events.
    pub(crate) name: &'static str,
    /// The text of a JSON object.
    pub(crate) data: Arc<str>,
    /// For a message, the further fields of its WebSocket frame: the text of a JSON object.
    pub(crate) frame_fields: Option<Arc<str>>,
}

/// See [`Event::frame_fields`].
#[derive(Serialize)]
struct FrameFields<'a> {
    /// The sequence, by its name in frames.
    index: u64,
    /// The speaker: the name, or the role where the message has no name.
    agent: &'a str,
    /// Null where the message has no metadata; otherwise `data` has the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<()>,
}

/// The part of [`FrameFields`] that is read back.
#[derive(Deserialize)]
struct Speaker {
    agent: String,
}

/// An event, and the position that a subscriber has after it, if the event moves it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) event: Event,
    pub(crate) position: Option<Position>,
}

impl Event {
    const MESSAGE: &str = "message";
    const CAUGHT_UP: &str = "caught-up";

    /// Creates the event of a message that is new to the subscriber.
    pub(super) fn message(message: Message) -> Self {
        Self::of_message(Self::MESSAGE, message)
    }

    /// Creates the event of an edited or deleted message that the subscriber already has.
    pub(super) fn edit(message: Message) -> Self {
        let name = if message.deleted_at.is_some() { "message-deleted" } else { "message-updated" };
        Self::of_message(name, message)
    }

    fn of_message(name: &'static str, message: Message) -> Self {
        let body = &message.body;
        let fields = FrameFields {
            index: message.sequence,
            agent: body.name.as_deref().unwrap_or(&body.role),
            metadata: body.metadata.is_none().then_some(()),
        };
        let frame_fields = Some(to_json(&fields));
        Self { frame_fields, ..Self::new(name, &MessageResponse::from(message)) }
    }

    /// Returns the size of its data.
    pub(super) fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Tells whether the event is a message that is new to the subscriber.
    pub(crate) fn is_message(&self) -> bool {
        self.name == Self::MESSAGE
    }

    /// Returns the speaker, if the event is a message.
    pub(crate) fn speaker(&self) -> Option<String> {
        let fields: Speaker = serde_json::from_str(self.frame_fields.as_ref()?).ok()?;
        Some(fields.agent)
    }

    /// Tells whether the event says that the subscriber has caught up.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.name == Self::CAUGHT_UP
    }

    /// Creates the event that ends catching up.
    pub(super) fn caught_up(head: &ChatHead, position: Position) -> Self {
        let data = CaughtUpResponse {
            sequence: position.last_sequence(),
            revision: position.revision,
            status: head.status.as_str(),
            status_reason: head.status_reason.clone(),
            context_version: head.context_version,
            artifact_version: head.artifact_version,
            pending_inputs: head.pending_inputs.iter().map(ToString::to_string).collect(),
        };
        Self::new(Self::CAUGHT_UP, &data)
    }

    /// Creates the event of an input request that was asked or closed.
    pub(super) fn input(request: InputRequest) -> Self {
        let name = if request.closing.is_some() { "input-response" } else { "input-request" };
        Self::new(name, &InputRequestResponse::from(request))
    }

    /// Creates the event of a new status.
    pub(super) fn status(head: &ChatHead) -> Self {
        let (status, status_reason) = (head.status.as_str(), head.status_reason.clone());
        Self::new("status", &StatusResponse { status, status_reason })
    }

    /// Creates the event of a new context snapshot.
    pub(super) fn context(head: &ChatHead) -> Self {
        Self::new("context", &VersionResponse { version: head.context_version })
    }

    /// Creates the event of a new artifact.
    pub(super) fn artifact(head: &ChatHead) -> Self {
        Self::new("artifact", &VersionResponse { version: head.artifact_version })
    }

    /// Creates the event of the present users.
    pub(super) fn presence(chat_id: &ChatId, presence: ChatPresence) -> Self {
        Self::new("presence", &PresenceResponse::new(chat_id, presence))
    }

    /// Creates the event of what the calls of the chat used.
    pub(super) fn usage(usage: Usage) -> Self {
        Self::new("usage", &UsageFields::from(usage))
    }

    fn new(name: &'static str, data: &impl Serialize) -> Self {
        Self { name, data: to_json(data), frame_fields: None }
    }
}

fn to_json(data: &impl Serialize) -> Arc<str> {
    // Plain structs and JSON values always serialize.
    serde_json::to_string(data).unwrap_or_default().into()
}

/// With `caught-up`: the state of the chat once the subscriber has everything there is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CaughtUp)]
pub(crate) struct CaughtUpResponse {
    /// The sequence of the last message, -1 for an empty chat.
    #[schema(example = 41)]
    sequence: i64,
    /// The number of edits and deletions of messages so far.
    revision: u64,
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(value_type = values::ChatStatus)]
    status: &'static str,
    /// Why the chat was paused or failed.
    status_reason: Option<String>,
    /// The number of times the context snapshot has been written.
    context_version: u64,
    /// The number of times the last artifact has been replaced or removed.
    artifact_version: u64,
    /// The ids of the pending input requests; an `input-request` event for each follows.
    pending_inputs: Vec<String>,
}

/// With `status`: the new status of the chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatusChanged)]
pub(crate) struct StatusResponse {
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(value_type = values::ChatStatus)]
    status: &'static str,
    /// Why the chat was paused or failed.
    status_reason: Option<String>,
}

/// With `context` and `artifact`: it has changed; read it to get the new one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VersionChanged)]
pub(crate) struct VersionResponse {
    /// The number of changes so far.
    #[schema(example = 3)]
    version: u64,
}

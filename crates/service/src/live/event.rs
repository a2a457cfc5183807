use std::borrow::Cow;
use std::sync::Arc;

use persistence::ChatHead;
use records::{InputRequest, Message, MessageBody, Stream, StreamId};

use super::encoded::{Encoded, fields_of};
use super::position::Position;
use crate::wire::{
    CaughtUpResponse, InputRequestResponse, MessageResponse, PresenceResponse, StatusResponse,
    StreamResponse, UsageFields, VersionResponse,
};

/// An event of a chat, as its subscribers are sent it. Each transport names the events in its own way.
///
/// It is cheap to clone: what any number of subscribers are sent is [`Encoded`]. The others are small, and are made
/// for one subscriber.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A message that is new to the subscriber.
    Message(MessageEvent),
    /// The new form of a message that the subscriber already has.
    Edit(MessageEvent),
    /// The subscriber has everything there is at the moment.
    CaughtUp(CaughtUpResponse),
    /// The workflow waits for an answer.
    InputRequest(Encoded<InputRequestResponse>),
    /// An input request was closed.
    InputResponse(Encoded<InputRequestResponse>),
    /// The chat has a new status.
    Status(StatusResponse),
    /// There is a new context snapshot.
    Context(VersionResponse),
    /// There is a new artifact.
    Artifact(VersionResponse),
    /// The chat session itself has changed, such as its title.
    Chat(VersionResponse),
    /// Who is present.
    Presence(Encoded<PresenceResponse>),
    /// What the calls of the chat used.
    Usage(Encoded<UsageFields>),
    /// An agent began to produce an answer, or another agent goes on with it.
    StreamStarted(StreamStateEvent),
    /// Chunks of an answer.
    StreamChunk(StreamChunkEvent),
    /// The agent of a stream is silent for too long.
    StreamStalled(StreamStateEvent),
    /// A stream has ended.
    StreamFinished(StreamStateEvent),
}

/// Where a stream stands.
#[derive(Debug, Clone)]
pub(crate) struct StreamStateEvent {
    pub(crate) stream: Arc<Stream>,
    response: Encoded<StreamResponse>,
}

/// Chunks of a stream.
#[derive(Debug, Clone)]
pub(crate) struct StreamChunkEvent {
    pub(crate) stream_id: StreamId,
    pub(crate) attempt: u32,
    fields: Arc<str>,
    /// Where in `fields` the chunks are, which are the last field.
    chunks_at: usize,
}

/// A message, and what a transport must know of it.
///
/// Its `type` is apart from its other fields, because frames have a `type` of their own.
#[derive(Debug, Clone)]
pub(crate) struct MessageEvent {
    pub(crate) sequence: u64,
    /// The name of the speaker, or the role where the message has no name.
    pub(crate) speaker: Arc<str>,
    pub(crate) has_metadata: bool,
    pub(crate) is_deleted: bool,
    pub(crate) message_type: Option<Arc<str>>,
    message: Encoded<MessageResponse>,
}

/// An event, and the position that a subscriber has after it, if the event moves it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) event: Event,
    pub(crate) position: Option<Position>,
}

impl Event {
    /// Creates the event that ends catching up.
    pub(super) fn caught_up(head: &ChatHead, position: Position) -> Self {
        let (sequence, revision) = (position.last_sequence(), position.revision);
        Self::CaughtUp(CaughtUpResponse::new(head, sequence, revision))
    }

    /// Creates the event of an input request that was asked or closed.
    pub(super) fn input(request: InputRequest) -> Self {
        let event =
            if request.closing.is_some() { Self::InputResponse } else { Self::InputRequest };
        event(Encoded::new(&request.into()))
    }

    /// Returns the `type` of its message, which is not in its fields.
    pub(crate) fn message_type(&self) -> Option<&str> {
        match self {
            Self::Message(message) | Self::Edit(message) => message.message_type.as_deref(),
            _ => None,
        }
    }

    /// Returns the fields of its data as JSON, without braces.
    pub(crate) fn fields(&self) -> Cow<'_, str> {
        match self {
            Self::Message(message) | Self::Edit(message) => message.message.fields().into(),
            Self::InputRequest(request) | Self::InputResponse(request) => request.fields().into(),
            Self::Presence(presence) => presence.fields().into(),
            Self::Usage(usage) => usage.fields().into(),
            Self::StreamStarted(state)
            | Self::StreamStalled(state)
            | Self::StreamFinished(state) => state.response.fields().into(),
            Self::StreamChunk(chunk) => (&*chunk.fields).into(),
            Self::CaughtUp(state) => fields_of(state).into(),
            Self::Status(status) => fields_of(status).into(),
            Self::Context(version) | Self::Artifact(version) | Self::Chat(version) => {
                fields_of(version).into()
            }
        }
    }

    /// Returns the size of the text that it shares with other subscribers.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Message(message) | Self::Edit(message) => message.bytes(),
            Self::InputRequest(request) | Self::InputResponse(request) => request.bytes(),
            Self::Presence(presence) => presence.bytes(),
            Self::Usage(usage) => usage.bytes(),
            Self::StreamStarted(state)
            | Self::StreamStalled(state)
            | Self::StreamFinished(state) => state.response.bytes(),
            Self::StreamChunk(chunk) => chunk.fields.len(),
            Self::CaughtUp(_)
            | Self::Status(_)
            | Self::Context(_)
            | Self::Artifact(_)
            | Self::Chat(_) => 0,
        }
    }
}

impl StreamStateEvent {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream: Arc::new(stream.clone()), response: Encoded::new(&stream.into()) }
    }
}

impl StreamChunkEvent {
    /// Creates the event of chunks, each as JSON. They may be joined, so that there are fewer than positions.
    pub(super) fn new(
        stream_id: &StreamId,
        attempt: u32,
        (from, next): (u64, u64),
        chunks: &[String],
    ) -> Self {
        // The id has no character that JSON escapes.
        let mut fields = format!(
            r#""stream_id":"{stream_id}","attempt":{attempt},"from":{from},"next":{next},"chunks":["#
        );
        let chunks_at = fields.len() - 1;
        fields.push_str(&chunks.join(","));
        fields.push(']');
        Self { stream_id: stream_id.clone(), attempt, fields: fields.into(), chunks_at }
    }

    /// Returns the chunks, as a list in JSON.
    pub(crate) fn chunks(&self) -> &str {
        &self.fields[self.chunks_at..]
    }
}

impl MessageEvent {
    /// Returns the size of its text.
    pub(super) fn bytes(&self) -> usize {
        let kind = self.message_type.as_ref().map_or(0, |kind| kind.len());
        self.message.bytes() + self.speaker.len() + kind
    }
}

impl From<Message> for MessageEvent {
    fn from(mut message: Message) -> Self {
        let message_type = message.body.extra_text(MessageBody::TYPE).map(Arc::from);
        message.body.extra.shift_remove(MessageBody::TYPE);
        let body = &message.body;
        Self {
            sequence: message.sequence,
            speaker: body.name.as_deref().unwrap_or(&body.role).into(),
            has_metadata: body.metadata.is_some(),
            is_deleted: message.deleted_at.is_some(),
            message_type,
            message: Encoded::new(&message.into()),
        }
    }
}

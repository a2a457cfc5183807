use std::borrow::Cow;

use bson::{DateTime, Document, RawDocument, doc};
use records::{
    AppId, ChatId, Scope, Stream, StreamEvent, StreamFormat, StreamGroup, StreamHeader, StreamId,
    StreamMark, StreamState, TurnId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::{STREAM_GROUPS, STREAMS};
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{SCHEMA_VERSION, counter};

/// The field of a stream that has ended with the time at which it is removed; of a running one, the time of the next look.
pub(crate) const REMOVED_AT: &str = "removed_at";

/// The field of a stream that is being removed.
///
/// It is set before the groups are removed. So a process that adds a group and does not see it then, has added the group before
/// they are removed.
pub(super) const IS_REMOVED: &str = "is_removed";

/// A stored stream. What changes with every write is in its groups.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamDocument {
    #[serde(rename = "_id")]
    id: StreamKey,
    app_id: AppId,
    format: StoredName<StreamFormat>,
    agent: Option<String>,
    request_id: Option<TurnId>,
    state: StoredName<StreamState>,
    started_at: DateTime,
    removed_at: DateTime,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_removed: bool,
    schema_version: i64,
}

/// A stored group.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamGroupDocument<'a> {
    #[serde(rename = "_id")]
    id: GroupKey,
    app_id: AppId,
    event: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunks: Option<Cow<'a, [String]>>,
    next: u64,
    bytes: u64,
    attempt: u32,
    fencing_token: u64,
    is_cancel_requested: bool,
    state: StoredName<StreamState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_sequence: Option<u64>,
    written_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct StreamKey {
    chat_id: ChatId,
    stream_id: StreamId,
}

#[derive(Debug, Serialize, Deserialize)]
struct GroupKey {
    chat_id: ChatId,
    stream_id: StreamId,
    number: u64,
}

/// A stream without its mark.
#[derive(Debug)]
pub(crate) struct StoredStream {
    pub(crate) chat_id: ChatId,
    pub(crate) stream_id: StreamId,
    pub(crate) header: StreamHeader,
    pub(crate) started_at: chrono::DateTime<chrono::Utc>,
    /// Whether its groups are being removed.
    pub(super) is_removed: bool,
}

/// A group, and which stream it belongs to.
#[derive(Debug)]
pub(crate) struct StoredGroup {
    pub(crate) chat_id: ChatId,
    pub(crate) stream_id: StreamId,
    pub(crate) group: StreamGroup,
}

impl StreamDocument {
    /// Creates the document of a new stream.
    pub(super) fn new(app_id: &AppId, stream: &Stream, removed_at: DateTime) -> Self {
        let StreamHeader { format, agent, request_id } = stream.header.clone();
        let (chat_id, stream_id) = (stream.chat_id.clone(), stream.stream_id.clone());
        Self {
            id: StreamKey { chat_id, stream_id },
            app_id: app_id.clone(),
            format: StoredName(format),
            agent,
            request_id,
            state: StoredName(stream.mark.state),
            started_at: DateTime::from_chrono(stream.started_at),
            removed_at,
            is_removed: false,
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl StoredStream {
    /// Adds where the stream stands.
    pub(super) fn with_mark(self, mark: StreamMark) -> Stream {
        let Self { chat_id, stream_id, header, started_at, is_removed: _ } = self;
        Stream { chat_id, stream_id, header, started_at, mark }
    }
}

impl<'a> StreamGroupDocument<'a> {
    /// Creates the document of a group.
    pub(super) fn new(
        app_id: &AppId,
        chat_id: &ChatId,
        stream_id: &StreamId,
        group: &'a StreamGroup,
    ) -> Self {
        let StreamGroup { mark, event } = group;
        let chunks = match event {
            StreamEvent::Chunks(chunks) => Some(Cow::Borrowed(&**chunks)),
            _ => None,
        };
        let (chat_id, stream_id) = (chat_id.clone(), stream_id.clone());
        Self {
            id: GroupKey { chat_id, stream_id, number: mark.number },
            app_id: app_id.clone(),
            event: event.as_str().into(),
            chunks,
            next: mark.next,
            bytes: mark.bytes,
            attempt: mark.attempt,
            fencing_token: mark.fencing_token,
            is_cancel_requested: mark.is_cancel_requested,
            state: StoredName(mark.state),
            error: mark.error.as_deref().map(Cow::Borrowed),
            last_sequence: mark.last_sequence,
            written_at: DateTime::from_chrono(mark.written_at),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<StreamDocument> for StoredStream {
    type Error = FieldError;

    fn try_from(document: StreamDocument) -> Result<Self, FieldError> {
        let StreamDocument { id, format, agent, request_id, started_at, is_removed, .. } = document;
        Ok(Self {
            chat_id: id.chat_id,
            stream_id: id.stream_id,
            header: StreamHeader { format: format.0, agent, request_id },
            started_at: started_at.to_chrono(),
            is_removed,
        })
    }
}

impl TryFrom<StreamGroupDocument<'_>> for StoredGroup {
    type Error = FieldError;

    fn try_from(document: StreamGroupDocument<'_>) -> Result<Self, FieldError> {
        let event = match &*document.event {
            "started" => StreamEvent::Started,
            "chunks" => {
                let chunks = document.chunks.ok_or_else(|| FieldError::new("chunks"))?;
                StreamEvent::Chunks(chunks.into_owned())
            }
            "continued" => StreamEvent::Continued,
            "restarted" => StreamEvent::Restarted,
            "cancel_requested" => StreamEvent::CancelRequested,
            "ended" => StreamEvent::Ended,
            _ => return Err(FieldError::new("event")),
        };
        let mark = StreamMark {
            number: document.id.number,
            next: document.next,
            bytes: document.bytes,
            attempt: document.attempt,
            fencing_token: document.fencing_token,
            is_cancel_requested: document.is_cancel_requested,
            state: document.state.0,
            error: document.error.map(Cow::into_owned),
            last_sequence: document.last_sequence,
            written_at: document.written_at.to_chrono(),
        };
        let group = StreamGroup { mark, event };
        Ok(Self { chat_id: document.id.chat_id, stream_id: document.id.stream_id, group })
    }
}

/// Reads a stream.
pub(crate) fn stream_record(raw: &RawDocument) -> Result<StoredStream, StoreError> {
    read_record::<StreamDocument, _>(STREAMS, raw)
}

/// Reads a group.
pub(crate) fn stream_group_record(raw: &RawDocument) -> Result<StoredGroup, StoreError> {
    read_record::<StreamGroupDocument<'_>, _>(STREAM_GROUPS, raw)
}

/// Returns the filter for a stream.
pub(super) fn stream_filter(app_id: &AppId, chat_id: &ChatId, stream_id: &StreamId) -> Document {
    doc! { "_id": id_of_stream(chat_id, stream_id), "app_id": app_id.as_str() }
}

/// Returns the id of a stream in its collection.
pub(super) fn id_of_stream(chat_id: &ChatId, stream_id: &StreamId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "stream_id": stream_id.as_str() }
}

/// Returns the filter for the streams of a chat, by a range of their ids.
pub(super) fn streams_of_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let id = |stream_id: bson::Bson| doc! { "chat_id": chat_id.as_str(), "stream_id": stream_id };
    let range = doc! { "$gt": id(bson::Bson::MinKey), "$lt": id(bson::Bson::MaxKey) };
    doc! { "_id": range, "app_id": scope.app_id.as_str() }
}

/// Returns the filter for the running streams of a chat.
pub(super) fn running_streams(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = streams_of_chat(scope, chat_id);
    filter.insert("state", StreamState::Running.as_str());
    filter
}

/// Returns the filter for the groups of a stream from a number on, by a range of their ids.
pub(super) fn groups_filter(
    app_id: &AppId,
    chat_id: &ChatId,
    stream_id: &StreamId,
    first: u64,
) -> Document {
    let id = |number: bson::Bson| {
        doc! {
            "chat_id": chat_id.as_str(), "stream_id": stream_id.as_str(), "number": number,
        }
    };
    let range = doc! { "$gte": id(counter(first).into()), "$lt": id(bson::Bson::MaxKey) };
    doc! { "_id": range, "app_id": app_id.as_str() }
}

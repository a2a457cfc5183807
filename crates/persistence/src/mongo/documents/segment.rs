use std::ops::Range;

use bson::raw::{BindRawBsonRef, RawArrayBuf, cstr};
use bson::{Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use records::{AppId, ChatId};

use crate::StoreError;
use crate::mongo::collection_names::CHAT_SEGMENTS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SALTED_VERSION, SCHEMA_VERSION, StoredMessage, counter, has_salt};

/// The path, in a session or a segment, to the ids of the provider calls that produced the messages.
pub(crate) const PRODUCED_BY_PATH: &str = "messages.produced_by_call_id";

/// A segment: consecutive sealed messages in one document.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) head: SegmentHead,
    /// The messages, in order.
    pub(crate) messages: Vec<StoredMessage>,
}

/// The fields of a segment except its messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentHead {
    /// The sequence of the first message.
    pub(crate) first_sequence: u64,
    /// The session's revision when the messages were copied from it.
    pub(crate) revision: i64,
    /// Grows with every edit of the segment.
    pub(crate) edits: i64,
    /// If a large append wrote the segment directly: the session's counter before that append.
    pub(crate) append_base: Option<u64>,
}

/// Returns the id of the segment whose first message has this sequence.
pub(crate) fn segment_id(chat_id: &ChatId, first_sequence: u64) -> Document {
    doc! { "chat_id": chat_id.as_str(), "first_sequence": counter(first_sequence) }
}

/// Returns the filter for the segments of a chat whose first sequence is in a span.
pub(crate) fn segments_filter(app_id: &AppId, chat_id: &ChatId, span: Range<u64>) -> Document {
    doc! {
        "app_id": app_id.as_str(),
        "_id": { "$gte": segment_id(chat_id, span.start), "$lt": segment_id(chat_id, span.end) },
    }
}

/// Creates the document of a segment from stored messages.
pub(crate) fn segment_document<M: BindRawBsonRef>(
    app_id: &AppId,
    chat_id: &ChatId,
    segment: &SegmentHead,
    messages: impl IntoIterator<Item = M>,
) -> RawDocumentBuf {
    let mut count = 0;
    let mut array = RawArrayBuf::new();
    for message in messages {
        array.push(message);
        count += 1;
    }
    let version = if has_salt(&array) { SALTED_VERSION } else { SCHEMA_VERSION };
    let mut document = rawdoc! {
        "_id": {
            "chat_id": chat_id.as_str(),
            "first_sequence": counter(segment.first_sequence),
        },
        "app_id": app_id.as_str(),
        "count": counter(count),
        "revision": segment.revision,
        "edits": segment.edits,
        "schema_version": version,
    };
    if let Some(append_base) = segment.append_base {
        document.append(cstr!("append_base"), counter(append_base));
    }
    document.append(cstr!("messages"), array);
    document
}

impl Segment {
    /// Opens a stored segment. Returns its first sequence and its fields.
    pub(crate) fn open<'a>(
        chat_id: &'a ChatId,
        raw: &'a RawDocument,
    ) -> Result<(u64, Fields<'a>), StoreError> {
        let fields = Fields::open(CHAT_SEGMENTS, chat_id.as_str(), raw)?;
        let first_sequence = fields.inside(fields.document("_id")?).count("first_sequence")?;
        Ok((first_sequence, fields))
    }

    /// Reads a stored segment.
    pub(crate) fn read(chat_id: &ChatId, raw: &RawDocument) -> Result<Self, StoreError> {
        let (first_sequence, fields) = Self::open(chat_id, raw)?;
        let messages = (first_sequence..)
            .zip(fields.documents("messages")?)
            .map(|(sequence, fields)| StoredMessage::read(sequence, &fields?))
            .collect::<Result<_, _>>()?;
        let (revision, edits) = (fields.integer("revision")?, fields.integer("edits")?);
        let append_base = fields.field("append_base")?.optional_number()?;
        Ok(Self { head: SegmentHead { first_sequence, revision, edits, append_base }, messages })
    }

    /// Returns the total size of the messages, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.messages.iter().map(|message| message.bytes).sum()
    }
}

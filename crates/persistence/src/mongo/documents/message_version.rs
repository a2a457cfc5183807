use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use records::{AppId, ChatId};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::collection_names::MESSAGE_VERSIONS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{Base, SALTED_VERSION, SCHEMA_VERSION, StoredMessage, counter};
use crate::mongo::engine::json::key;

/// The key and size of an overlay: a version of a shared message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionKey {
    /// The chat that edited the message.
    pub(crate) chat_id: ChatId,
    /// The sequence of the message.
    pub(crate) sequence: u64,
    /// The revision of that chat since which the version is valid there.
    pub(crate) revision: i64,
    /// The size that counts towards a page, in bytes.
    pub(crate) bytes: u64,
}

/// The fields of a version that are read. `M` is the message as raw BSON, or only its size.
#[derive(Debug, Deserialize)]
struct VersionDocument<M> {
    #[serde(rename = "_id")]
    id: VersionId,
    message: M,
    text_kept_in: Option<ChatId>,
}

#[derive(Debug, Deserialize)]
struct VersionId {
    chat_id: ChatId,
    sequence: u64,
    revision: i64,
}

#[derive(Debug, Deserialize)]
struct MessageSize {
    bytes: u64,
}

/// Returns the id of a version.
pub(crate) fn version_id(chat_id: &ChatId, sequence: u64, revision: i64) -> Document {
    doc! { "chat_id": chat_id.as_str(), "sequence": counter(sequence), "revision": revision }
}

/// Returns the filter for the versions of messages from `start` on that a chat with these editors may show.
pub(crate) fn versions_filter(app_id: &AppId, editors: &[Base], start: u64) -> Document {
    let by = |editor: &Base| {
        let Base { chat_id, below, revision } = editor;
        let range = doc! {
            "$gte": version_id(chat_id, start, 0),
            "$lt": version_id(chat_id, *below, 0),
        };
        doc! { "_id": range, "_id.revision": { "$lte": *revision } }
    };
    let made: Vec<Document> = editors.iter().map(by).collect();
    doc! { "app_id": app_id.as_str(), "$or": made }
}

/// The chat whose segment has the text of a deleted message, which other chats may show.
pub(crate) const TEXT_KEPT_IN: &str = "text_kept_in";

/// The time from which on it is to be looked whether that text is still shown.
pub(crate) const TEXT_CHECK_AT: &str = "text_check_at";

/// Creates the document of a version. If it deletes the message, `owner` is the chat whose segment has the text.
pub(crate) fn version_document(
    app_id: &AppId,
    chat_id: &ChatId,
    revision: i64,
    message: &StoredMessage,
    owner: &ChatId,
) -> RawDocumentBuf {
    let mut document = rawdoc! {
        "_id": {
            "chat_id": chat_id.as_str(),
            "sequence": counter(message.message.sequence),
            "revision": revision,
        },
        "app_id": app_id.as_str(),
        "schema_version": message.digest.version(SALTED_VERSION, SCHEMA_VERSION),
        "message": message.document(),
    };
    if let Some(deleted_at) = message.message.deleted_at {
        document.append(key(TEXT_KEPT_IN), owner.as_str());
        document.append(key(TEXT_CHECK_AT), DateTime::from_chrono(deleted_at));
    }
    document
}

impl VersionKey {
    /// Returns the projection that [`read`](Self::read) needs.
    pub(crate) fn projection() -> Document {
        doc! { "message.bytes": 1, "schema_version": 1 }
    }

    /// Reads the key from the document of a version. Errors name `chat_id`, the chat that is read.
    pub(crate) fn read(chat_id: &ChatId, raw: &RawDocument) -> Result<Self, StoreError> {
        let fields = Fields::open(MESSAGE_VERSIONS, chat_id.as_str(), raw)?;
        let VersionDocument::<MessageSize> { id, message, .. } = fields.read()?;
        let VersionId { chat_id, sequence, revision } = id;
        Ok(Self { chat_id, sequence, revision, bytes: message.bytes })
    }

    /// Returns the id of the version.
    pub(crate) fn id(&self) -> Document {
        version_id(&self.chat_id, self.sequence, self.revision)
    }
}

/// Reads the message of a version. Errors name `chat_id`.
pub(crate) fn version_message(
    chat_id: &ChatId,
    raw: &RawDocument,
) -> Result<StoredMessage, StoreError> {
    let fields = Fields::open(MESSAGE_VERSIONS, chat_id.as_str(), raw)?;
    let VersionDocument::<&RawDocument> { id, message, text_kept_in } = fields.read()?;
    let mut stored = StoredMessage::read(id.sequence, &fields.inside(message))?;
    stored.message.is_text_kept = text_kept_in.is_some();
    Ok(stored)
}

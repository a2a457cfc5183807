use bson::{Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use records::{AppId, ChatId, Scope};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{Base, MESSAGE_VERSIONS, SCHEMA_VERSION, StoredMessage, counter};

/// Names a version of a shared message, and says how large it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VersionKey {
    /// The chat that made it.
    pub(crate) chat_id: ChatId,
    /// The sequence of the message.
    pub(crate) sequence: u64,
    /// The chat's revision from which on it is in force there.
    pub(crate) revision: i64,
    /// Its size, as it counts towards a page.
    pub(crate) bytes: u64,
}

/// A version, as far as it is read: its message as raw BSON, or only how large it is.
#[derive(Debug, Deserialize)]
struct VersionDocument<M> {
    #[serde(rename = "_id")]
    id: VersionId,
    message: M,
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

/// Returns a filter for the versions that some chats have made of messages from a sequence on.
pub(crate) fn versions_by(scope: &Scope, editors: &[Base], start: u64) -> Document {
    let by = |editor: &Base| {
        let Base { chat_id, below, revision } = editor;
        let range = doc! {
            "$gte": version_id(chat_id, start, 0),
            "$lt": version_id(chat_id, *below, 0),
        };
        doc! { "_id": range, "_id.revision": { "$lte": *revision } }
    };
    let made: Vec<Document> = editors.iter().map(by).collect();
    doc! { "app_id": scope.app_id.as_str(), "$or": made }
}

/// Writes the document of a version.
pub(crate) fn version_document(
    app_id: &AppId,
    chat_id: &ChatId,
    revision: i64,
    message: &StoredMessage,
) -> RawDocumentBuf {
    rawdoc! {
        "_id": {
            "chat_id": chat_id.as_str(),
            "sequence": counter(message.message.sequence),
            "revision": revision,
        },
        "app_id": app_id.as_str(),
        "schema_version": SCHEMA_VERSION,
        "message": message.document(),
    }
}

impl VersionKey {
    /// The fields it is read from.
    pub(crate) fn projection() -> Document {
        doc! { "message.bytes": 1, "schema_version": 1 }
    }

    /// Reads it from the document of a version; `chat_id` names the reader in errors.
    pub(crate) fn read(chat_id: &ChatId, raw: &RawDocument) -> Result<Self, StoreError> {
        let fields = Fields::open(MESSAGE_VERSIONS, chat_id.as_str(), raw)?;
        let VersionDocument::<MessageSize> { id, message } = fields.read()?;
        let VersionId { chat_id, sequence, revision } = id;
        Ok(Self { chat_id, sequence, revision, bytes: message.bytes })
    }

    /// Returns the id of the version.
    pub(crate) fn id(&self) -> Document {
        version_id(&self.chat_id, self.sequence, self.revision)
    }
}

/// Reads the message of a version.
pub(crate) fn version_message(
    chat_id: &ChatId,
    raw: &RawDocument,
) -> Result<StoredMessage, StoreError> {
    let fields = Fields::open(MESSAGE_VERSIONS, chat_id.as_str(), raw)?;
    let VersionDocument::<&RawDocument> { id, message } = fields.read()?;
    StoredMessage::read(id.sequence, &fields.inside(message))
}

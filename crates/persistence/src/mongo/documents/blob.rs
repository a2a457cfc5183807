use bson::{Bson, DateTime, Document, doc};
use chrono::{DateTime as Time, Utc};
use records::{AppId, ChatId, Scope};

use crate::mongo::documents::SCHEMA_VERSION;

/// What a blob holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlobKind {
    /// The variables of a context snapshot.
    Context,
    /// The payload of an artifact.
    Artifact,
}

impl BlobKind {
    /// The word for it in the blob's id.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Artifact => "artifact",
        }
    }
}

/// Returns the id of a blob.
pub(crate) fn blob_id(chat_id: &ChatId, kind: BlobKind, blob: &str) -> Document {
    doc! { "chat_id": chat_id.as_str(), "kind": kind.as_str(), "blob": blob }
}

/// Returns a filter for a blob.
pub(crate) fn one_blob(scope: &Scope, chat_id: &ChatId, kind: BlobKind, blob: &str) -> Document {
    doc! { "_id": blob_id(chat_id, kind, blob), "app_id": scope.app_id.as_str() }
}

/// Returns a filter for all blobs of a kind that a chat has.
pub(crate) fn blob_range(scope: &Scope, chat_id: &ChatId, kind: BlobKind) -> Document {
    let end = "\u{10ffff}";
    let range = doc! { "$gte": blob_id(chat_id, kind, ""), "$lt": blob_id(chat_id, kind, end) };
    doc! { "_id": range, "app_id": scope.app_id.as_str() }
}

/// Returns the document of a blob.
pub(crate) fn blob_document(app_id: &AppId, id: Document, data: Bson, now: Time<Utc>) -> Document {
    doc! {
        "_id": id,
        "app_id": app_id.as_str(),
        "created_at": DateTime::from_chrono(now),
        "schema_version": SCHEMA_VERSION,
        "data": data,
    }
}

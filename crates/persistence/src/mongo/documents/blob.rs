use bson::{Bson, DateTime, Document, RawDocument, doc};
use chrono::{DateTime as Time, Utc};
use records::{AppId, ChatId, Scope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::collection_names::CHAT_BLOBS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::json::Json;

/// The content of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BlobKind {
    /// The variables of a context snapshot.
    Context,
    /// The payload of an artifact.
    Artifact,
}

impl BlobKind {
    /// Returns the name of the kind in blob ids.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Artifact => "artifact",
        }
    }
}

/// Caller JSON that is too large for the session document.
///
/// It is read as [`Json`]. It is written as BSON, because measuring its size has already converted it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlobDocument<D> {
    #[serde(rename = "_id")]
    id: BlobKey,
    app_id: AppId,
    created_at: DateTime,
    schema_version: i64,
    data: D,
}

#[derive(Debug, Serialize, Deserialize)]
struct BlobKey {
    chat_id: ChatId,
    kind: BlobKind,
    blob: String,
}

impl BlobDocument<Bson> {
    /// Creates the document of a blob.
    pub(crate) fn new(
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: &str,
        data: Bson,
        now: Time<Utc>,
    ) -> Self {
        let (chat_id, blob) = (chat_id.clone(), blob.to_owned());
        Self {
            id: BlobKey { chat_id, kind, blob },
            app_id: scope.app_id.clone(),
            created_at: DateTime::from_chrono(now),
            schema_version: SCHEMA_VERSION,
            data,
        }
    }
}

/// Returns the id of a blob.
pub(crate) fn blob_id(chat_id: &ChatId, kind: BlobKind, blob: &str) -> Document {
    doc! { "chat_id": chat_id.as_str(), "kind": kind.as_str(), "blob": blob }
}

/// Returns the filter for one blob.
pub(crate) fn blob_filter(scope: &Scope, chat_id: &ChatId, kind: BlobKind, blob: &str) -> Document {
    doc! { "_id": blob_id(chat_id, kind, blob), "app_id": scope.app_id.as_str() }
}

/// Returns the filter for all blobs of one kind in a chat.
pub(crate) fn blobs_filter(scope: &Scope, chat_id: &ChatId, kind: BlobKind) -> Document {
    let end = "\u{10ffff}";
    let range = doc! { "$gte": blob_id(chat_id, kind, ""), "$lt": blob_id(chat_id, kind, end) };
    doc! { "_id": range, "app_id": scope.app_id.as_str() }
}

/// Reads the data of a blob.
pub(crate) fn blob_data(raw: &RawDocument) -> Result<Value, StoreError> {
    let document: BlobDocument<Json<Value>> = read_document(CHAT_BLOBS, raw)?;
    Ok(document.data.0)
}

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, doc};
use chrono::{DateTime as Time, Utc};
use records::{AppId, ChatId, ContextVersion, JsonObject, Scope};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::CONTEXT_SNAPSHOTS;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, counter};

/// One version of a context snapshot, stored in the session or, once replaced, in a separate document.
#[derive(Debug, Clone)]
pub(crate) struct StoredContext<'a> {
    pub(crate) version: ContextVersion,
    /// The id of the call that wrote it.
    pub(crate) write_id: &'a str,
    /// The blob with the variables, if they are too large for the document.
    pub(crate) blob: Option<&'a str>,
    data: Field<'a>,
}

/// A replaced snapshot in a separate document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ContextVersionDocument<'a> {
    #[serde(rename = "_id")]
    id: ContextVersionKey,
    app_id: AppId,
    schema_version: i64,
    sequence: u64,
    #[serde(borrow)]
    written: WrittenDocument<'a>,
    blob: Option<&'a str>,
    /// The variables as the session stored them. Null if the projection excludes them.
    #[serde(borrow, default = "null")]
    data: RawBsonRef<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ContextVersionKey {
    chat_id: ChatId,
    version: u64,
}

/// The metadata of a snapshot.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct WrittenDocument<'a> {
    at: DateTime,
    bytes: u64,
    write_id: &'a str,
}

/// The snapshot fields of a session document that the projection includes.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are stored")]
struct SessionContexts<'a> {
    #[serde(borrow)]
    context_recent: Option<Vec<ReplacedContext<'a>>>,
    context_version: Option<u64>,
    context_sequence: Option<u64>,
    #[serde(borrow)]
    context_written: Option<WrittenDocument<'a>>,
    context_blob: Option<&'a str>,
    #[serde(borrow, default = "null")]
    context_snapshot: RawBsonRef<'a>,
}

/// A replaced snapshot that is still in its session.
#[derive(Debug, Deserialize)]
struct ReplacedContext<'a> {
    version: u64,
    sequence: u64,
    #[serde(borrow)]
    written: WrittenDocument<'a>,
    blob: Option<&'a str>,
    #[serde(borrow, default = "null")]
    data: RawBsonRef<'a>,
}

fn null<'a>() -> RawBsonRef<'a> {
    RawBsonRef::Null
}

/// Creates the metadata of a snapshot; `bytes` is its size.
pub(crate) fn context_written_document(now: Time<Utc>, bytes: u64, write_id: &str) -> Document {
    doc! { "at": DateTime::from_chrono(now), "bytes": counter(bytes), "write_id": write_id }
}

/// Returns the id of a snapshot in a separate document.
pub(crate) fn context_version_id(chat_id: &ChatId, version: u64) -> Document {
    doc! { "chat_id": chat_id.as_str(), "version": counter(version) }
}

/// Returns the filter for the replaced snapshots of a chat between two versions, both exclusive.
pub(crate) fn context_versions_filter(
    scope: &Scope,
    chat_id: &ChatId,
    above: u64,
    below: u64,
) -> Document {
    let range = doc! {
        "$gt": context_version_id(chat_id, above),
        "$lt": context_version_id(chat_id, below),
    };
    doc! { "_id": range, "app_id": scope.app_id.as_str() }
}

/// Returns the expression for `context_recent` after the current snapshot is replaced.
///
/// It adds the current snapshot, unless this has no `context_written`: then it is either the empty snapshot of
/// a new session or from before versions existed, and is not kept.
pub(crate) fn recent_contexts_expression() -> Bson {
    let recent = doc! { "$ifNull": ["$context_recent", []] };
    let replaced = doc! {
        "version": "$context_version",
        "sequence": "$context_sequence",
        "written": "$context_written",
        "blob": "$context_blob",
        "data": "$context_snapshot",
    };
    let is_written = doc! { "$eq": [{ "$type": "$context_written" }, "object"] };
    let with_replaced = doc! { "$concatArrays": [recent.clone(), [replaced]] };
    doc! { "$cond": [is_written, with_replaced, recent] }.into()
}

impl<'a> StoredContext<'a> {
    /// Reads the snapshots in a session document, newest first.
    pub(crate) fn in_session(session: &Fields<'a>) -> Result<Vec<Self>, StoreError> {
        let SessionContexts {
            context_recent,
            context_version,
            context_sequence,
            context_written,
            context_blob,
            context_snapshot,
        } = session.read()?;
        let mut found = Vec::new();
        for replaced in context_recent.unwrap_or_default() {
            let ReplacedContext { version, sequence, written, blob, data } = replaced;
            let data = session.within("data", data);
            found.push(Self::new(version, sequence, written, blob, data));
        }
        if let Some(written) = context_written {
            let version = session.required("context_version", context_version)?;
            let sequence = session.required("context_sequence", context_sequence)?;
            let data = session.within("context_snapshot", context_snapshot);
            found.push(Self::new(version, sequence, written, context_blob, data));
        }
        found.reverse();
        Ok(found)
    }

    /// Reads a replaced snapshot from its separate document.
    pub(crate) fn open(chat_id: &'a ChatId, raw: &'a RawDocument) -> Result<Self, StoreError> {
        let fields = Fields::open(CONTEXT_SNAPSHOTS, chat_id.as_str(), raw)?;
        let ContextVersionDocument { id, sequence, written, blob, data, .. } = fields.read()?;
        let data = fields.within("data", data);
        Ok(Self::new(id.version, sequence, written, blob, data))
    }

    /// Returns the variables. They are empty if they are in a blob.
    pub(crate) fn data(&self) -> Result<JsonObject, StoreError> {
        self.data.object()
    }

    /// Creates the separate document for this snapshot.
    pub(crate) fn document<'b>(
        &'b self,
        app_id: &'b AppId,
        chat_id: &'b ChatId,
    ) -> ContextVersionDocument<'b> {
        let ContextVersion { version, sequence, created_at, bytes } = self.version;
        let at = DateTime::from_chrono(created_at);
        ContextVersionDocument {
            id: ContextVersionKey { chat_id: chat_id.clone(), version },
            app_id: app_id.clone(),
            schema_version: SCHEMA_VERSION,
            sequence,
            written: WrittenDocument { at, bytes, write_id: self.write_id },
            blob: self.blob,
            data: self.data.raw(),
        }
    }

    fn new(
        version: u64,
        sequence: u64,
        written: WrittenDocument<'a>,
        blob: Option<&'a str>,
        data: Field<'a>,
    ) -> Self {
        let WrittenDocument { at, bytes, write_id } = written;
        let version = ContextVersion { version, sequence, created_at: at.to_chrono(), bytes };
        Self { version, write_id, blob, data }
    }
}

use bson::raw::cstr;
use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc, rawdoc};
use chrono::{DateTime as Time, Utc};
use records::{AppId, ChatId, ContextVersion, JsonObject, Scope};

use crate::StoreError;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{CONTEXT_SNAPSHOTS, SCHEMA_VERSION, counter};

/// A snapshot that was written once, where it lies: in the session or in a document of its own.
#[derive(Debug, Clone)]
pub(crate) struct StoredContext<'a> {
    pub(crate) version: ContextVersion,
    /// The call that wrote it.
    pub(crate) write_id: &'a str,
    pub(crate) blob: Option<&'a str>,
    data: Field<'a>,
}

/// Returns what is noted of a snapshot beside it.
pub(crate) fn written_document(now: Time<Utc>, bytes: u64, write_id: &str) -> Document {
    doc! { "at": DateTime::from_chrono(now), "bytes": counter(bytes), "write_id": write_id }
}

/// Returns the id of a snapshot that has a document of its own.
pub(crate) fn context_version_id(chat_id: &ChatId, version: u64) -> Document {
    doc! { "chat_id": chat_id.as_str(), "version": counter(version) }
}

/// Returns a filter for those of a chat above one version and below another.
pub(crate) fn context_versions_between(
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

/// Returns the expression for what a snapshot that is replaced leaves in its session, as it lies there.
///
/// One from before such were kept has no `context_written`, and leaves nothing.
pub(crate) fn replaced_context() -> Bson {
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
    /// Reads those that lie in a session document, the newest first.
    pub(crate) fn in_session(session: &Fields<'a>) -> Result<Vec<Self>, StoreError> {
        let mut found = Vec::new();
        if !session.field("context_recent")?.is_null() {
            for replaced in session.documents("context_recent")? {
                let replaced = replaced?;
                found.push(Self::read(&replaced, replaced.count("version")?)?);
            }
        }
        if let Some(written) = session.optional_document("context_written")? {
            let version = session.count("context_version")?;
            let sequence = session.count("context_sequence")?;
            let blob = session.optional_text("context_blob")?;
            let data = session.field("context_snapshot")?;
            found.push(Self::new(version, sequence, &session.inside(written), blob, data)?);
        }
        found.reverse();
        Ok(found)
    }

    /// Reads one that has a document of its own.
    pub(crate) fn open(chat_id: &'a ChatId, raw: &'a RawDocument) -> Result<Self, StoreError> {
        let fields = Fields::open(CONTEXT_SNAPSHOTS, chat_id.as_str(), raw)?;
        let version = fields.inside(fields.document("_id")?).count("version")?;
        Self::read(&fields, version)
    }

    /// Returns its variables, unless they lie in a blob.
    pub(crate) fn data(&self) -> Result<JsonObject, StoreError> {
        self.data.object()
    }

    /// Writes the document of its own.
    pub(crate) fn document(&self, app_id: &AppId, chat_id: &ChatId) -> RawDocumentBuf {
        let ContextVersion { version, sequence, created_at, bytes } = &self.version;
        let mut document = rawdoc! {
            "_id": { "chat_id": chat_id.as_str(), "version": counter(*version) },
            "app_id": app_id.as_str(),
            "schema_version": SCHEMA_VERSION,
            "sequence": counter(*sequence),
            "written": {
                "at": DateTime::from_chrono(*created_at),
                "bytes": counter(*bytes),
                "write_id": self.write_id,
            },
        };
        let blob = self.blob.map_or(RawBsonRef::Null, RawBsonRef::String);
        document.append(cstr!("blob"), blob);
        document.append(cstr!("data"), self.data.raw());
        document
    }

    fn read(fields: &Fields<'a>, version: u64) -> Result<Self, StoreError> {
        let written = fields.inside(fields.document("written")?);
        let blob = fields.optional_text("blob")?;
        Self::new(version, fields.count("sequence")?, &written, blob, fields.field("data")?)
    }

    fn new(
        version: u64,
        sequence: u64,
        written: &Fields<'a>,
        blob: Option<&'a str>,
        data: Field<'a>,
    ) -> Result<Self, StoreError> {
        let (created_at, bytes) = (written.time("at")?, written.count("bytes")?);
        let version = ContextVersion { version, sequence, created_at, bytes };
        Ok(Self { version, write_id: written.field("write_id")?.text()?, blob, data })
    }
}

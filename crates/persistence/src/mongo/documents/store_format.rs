use bson::{DateTime, Document, RawDocument, doc};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::STORE_FORMAT;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_document;

/// The id of the only document.
const ID: &str = "format";

/// The stored format of the database.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormatDocument {
    #[serde(rename = "_id")]
    id: String,
    format: i64,
    changed_at: DateTime,
    schema_version: i64,
}

impl FormatDocument {
    /// Creates the document for a new database.
    pub(crate) fn new(format: i64, now: DateTime) -> Self {
        Self { id: ID.to_owned(), format, changed_at: now, schema_version: SCHEMA_VERSION }
    }
}

/// Returns the filter for the only document.
pub(crate) fn format_filter() -> Document {
    doc! { "_id": ID }
}

/// Returns the upsert that raises the format.
pub(crate) fn raise_format_update(format: i64, now: DateTime) -> Document {
    doc! {
        "$max": { "format": format },
        "$set": { "changed_at": now },
        "$setOnInsert": { "schema_version": SCHEMA_VERSION },
    }
}

/// Reads the format of the database.
pub(crate) fn format_number(raw: &RawDocument) -> Result<i64, StoreError> {
    Ok(read_document::<FormatDocument>(STORE_FORMAT, raw)?.format)
}

use bson::{DateTime, Document, RawDocument, doc};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, STORE_FORMAT};

/// The id of the one document.
const ID: &str = "format";

/// Returns the filter for the one document.
pub(crate) fn one_format() -> Document {
    doc! { "_id": ID }
}

/// Returns the document of a database that is new.
pub(crate) fn format_document(format: i64, now: DateTime) -> Document {
    doc! { "_id": ID, "format": format, "changed_at": now, "schema_version": SCHEMA_VERSION }
}

/// Returns the update that raises the format, and inserts the document where there is none.
pub(crate) fn raised_format(format: i64, now: DateTime) -> Document {
    doc! {
        "$max": { "format": format },
        "$set": { "changed_at": now },
        "$setOnInsert": { "schema_version": SCHEMA_VERSION },
    }
}

/// Reads the format.
pub(crate) fn format_number(raw: &RawDocument) -> Result<i64, StoreError> {
    Fields::open(STORE_FORMAT, ID, raw)?.integer("format")
}

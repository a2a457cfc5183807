//! Converts stored documents to structs and back, with serde.
//!
//! The struct of a record lists its fields in the stored order. A missing field reads as null, fields that the
//! struct does not name are ignored, and integers may have 32 or 64 bits.

use std::convert::Infallible;

use bson::{Document, RawBsonRef, RawDocument, RawDocumentBuf};
use serde::{Deserialize, Serialize};

use crate::mongo::documents::NEWEST_VERSION;
use crate::mongo::engine::deserializer;
use crate::mongo::engine::failure::Failure;
use crate::{BoxError, StoreError};

/// Reads a stored document. Fails if only newer releases can read its shape.
pub(crate) fn read_document<'de, T: Deserialize<'de>>(
    collection: &'static str,
    raw: &'de RawDocument,
) -> Result<T, StoreError> {
    check_readable(collection, raw)?;
    read_fields(raw).map_err(|e| e.within(collection, id_in_errors(raw)))
}

/// Fails if only newer releases can read the shape of a stored document.
pub(crate) fn check_readable(
    collection: &'static str,
    raw: &RawDocument,
) -> Result<(), StoreError> {
    check_version(NEWEST_VERSION, collection, || id_in_errors(raw), raw)
}

/// Reads a stored document and converts it to its record.
pub(crate) fn read_record<'de, D, R>(
    collection: &'static str,
    raw: &'de RawDocument,
) -> Result<R, StoreError>
where
    D: Deserialize<'de>,
    R: TryFrom<D, Error: Into<FieldError>>,
{
    let document: D = read_document(collection, raw)?;
    let record = R::try_from(document);
    record.map_err(|e| e.into().within(collection, id_in_errors(raw)))
}

/// Encodes a document for the driver.
pub(crate) fn encode<T: Serialize>(document: &T) -> Result<RawDocumentBuf, Failure> {
    let encoded = bson::serialize_to_raw_document_buf(document);
    Ok(encoded.map_err(mongodb::error::Error::from)?)
}

/// Converts a struct to a document for embedding in another document or in an update.
pub(crate) fn embedded<T: Serialize>(document: &T) -> Result<Document, Failure> {
    let decoded = Document::try_from(encode(document)?);
    Ok(decoded.map_err(mongodb::error::Error::from)?)
}

/// An invalid field of a stored document.
#[derive(Debug)]
pub(crate) struct FieldError {
    field: String,
    source: Option<BoxError>,
}

impl FieldError {
    /// Returns the error for a field that is missing or contradicts another field.
    pub(crate) fn new(field: impl Into<String>) -> Self {
        Self { field: field.into(), source: None }
    }

    /// Adds the document that the field belongs to.
    pub(crate) fn within(self, collection: &'static str, id: String) -> StoreError {
        let Self { field, source } = self;
        StoreError::Corrupt { collection, id, field, source }
    }
}

/// Lets [`read_record`] use conversions that cannot fail.
impl From<Infallible> for FieldError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Checks that the `schema_version` of a document is at most `supported`.
pub(crate) fn check_version(
    supported: i64,
    collection: &'static str,
    id: impl Fn() -> String,
    raw: &RawDocument,
) -> Result<(), StoreError> {
    let found = match raw.get("schema_version") {
        Ok(Some(RawBsonRef::Int64(version))) => version,
        Ok(Some(RawBsonRef::Int32(version))) => version.into(),
        other => {
            let (field, source) = ("schema_version".to_owned(), other.err().map(Into::into));
            return Err(FieldError { field, source }.within(collection, id()));
        }
    };
    if found > supported {
        return Err(StoreError::UnsupportedVersion { collection, id: id(), found, supported });
    }
    Ok(())
}

/// Reads the fields of a document or of a nested document.
pub(crate) fn read_fields<'de, T: Deserialize<'de>>(
    raw: &'de RawDocument,
) -> Result<T, FieldError> {
    deserializer::deserialize(raw).map_err(|error| {
        let path = if error.path().is_empty() { "(unreadable)" } else { error.path() };
        FieldError { field: path.to_owned(), source: Some(error.into()) }
    })
}

/// Returns the id of a document as text for errors.
fn id_in_errors(raw: &RawDocument) -> String {
    match raw.get("_id") {
        Ok(Some(RawBsonRef::String(id))) => id.to_owned(),
        Ok(Some(RawBsonRef::Document(id))) => match Document::try_from(id) {
            Ok(id) => id.to_string(),
            Err(_) => "(unreadable)".to_owned(),
        },
        Ok(None) => "(without an id)".to_owned(),
        _ => "(unreadable)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        count: u64,
        note: Option<String>,
        items: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        name: String,
    }

    fn document() -> Document {
        let items = [doc! { "name": "a" }, doc! { "name": "b" }];
        doc! { "_id": { "n": "one" }, "schema_version": 1, "count": 1, "items": items, "new": { "x": 1 } }
    }

    fn read(document: &Document) -> Result<Outer, StoreError> {
        read_document("things", &encode(document).unwrap())
    }

    fn field_at_fault(document: &Document) -> String {
        match read(document) {
            Err(StoreError::Corrupt { collection: "things", id, field, .. }) => {
                assert_eq!(id, r#"{ "n": "one" }"#);
                field
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn integers_of_both_widths_and_unknown_and_missing_fields_are_read() {
        let mut document = document();
        read(&document).unwrap();
        document.insert("count", 1_i64);
        document.insert("note", Bson::Null);
        read(&document).unwrap();
    }

    #[test]
    fn an_error_names_the_field_at_fault() {
        let wrong = |path: &str, value: Option<Bson>| {
            let mut document = document();
            match value {
                Some(value) => drop(document.insert(path, value)),
                None => drop(document.remove(path)),
            }
            field_at_fault(&document)
        };
        assert_eq!(wrong("count", Some(Bson::Int64(-1))), "count");
        assert_eq!(wrong("count", Some(Bson::Double(1.0))), "count");
        assert_eq!(wrong("count", Some(Bson::Null)), "count");
        assert_eq!(wrong("count", None), "count");
        assert_eq!(wrong("note", Some(Bson::Int32(1))), "note");
        assert_eq!(wrong("schema_version", None), "schema_version");
        let items = |second: Document| Some(Bson::from(vec![doc! { "name": "a" }, second]));
        assert_eq!(wrong("items", items(doc! { "name": 1 })), "items[1].name");
        assert_eq!(wrong("items", items(doc! {})), "items[1].name");
    }

    #[test]
    fn the_version_is_checked_before_the_fields() {
        let mut document = document();
        document.insert("schema_version", NEWEST_VERSION + 1);
        document.insert("count", "many");
        assert!(matches!(read(&document), Err(StoreError::UnsupportedVersion { .. })));
    }
}

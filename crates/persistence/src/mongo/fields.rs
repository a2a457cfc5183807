use bson::{RawArray, RawBsonRef, RawDocument};
use chrono::{DateTime, Utc};
use records::JsonObject;
use serde_json::Value;

use super::json;
use crate::{BoxError, StoreError};

/// Reads the fields of a stored document; what is not as it was written is `Corrupt`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    collection: &'static str,
    id: &'a str,
    raw: &'a RawDocument,
}

impl<'a> Fields<'a> {
    /// Opens a stored document, unless a newer version of this software wrote it.
    ///
    /// `id` names it in errors.
    pub(super) fn open(
        collection: &'static str,
        id: &'a str,
        raw: &'a RawDocument,
        supported: i64,
    ) -> Result<Self, StoreError> {
        let fields = Self { collection, id, raw };
        let found = fields.integer("schema_version")?;
        if found > supported {
            let id = id.to_owned();
            return Err(StoreError::UnsupportedVersion { collection, id, found, supported });
        }
        Ok(fields)
    }

    /// Opens a document that lies within this one.
    pub(super) fn inside(&self, raw: &'a RawDocument) -> Self {
        Self { raw, ..*self }
    }

    /// Returns the underlying document.
    pub(super) fn raw(&self) -> &'a RawDocument {
        self.raw
    }

    /// Says that a field is not what it should be.
    pub(super) fn corrupt(&self, field: &str, source: Option<BoxError>) -> StoreError {
        let (collection, id, field) = (self.collection, self.id.to_owned(), field.to_owned());
        StoreError::Corrupt { collection, id, field, source }
    }

    /// Returns a field, or `None` where it is missing or null.
    pub(super) fn optional(&self, field: &str) -> Result<Option<RawBsonRef<'a>>, StoreError> {
        let value = self.raw.get(field).map_err(|e| self.corrupt(field, Some(e.into())))?;
        Ok(value.filter(|value| *value != RawBsonRef::Null))
    }

    fn required<T>(&self, field: &str, value: Option<T>) -> Result<T, StoreError> {
        value.ok_or_else(|| self.corrupt(field, None))
    }

    pub(super) fn optional_text(&self, field: &str) -> Result<Option<&'a str>, StoreError> {
        match self.optional(field)? {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.corrupt(field, None)),
        }
    }

    pub(super) fn text(&self, field: &str) -> Result<&'a str, StoreError> {
        self.required(field, self.optional_text(field)?)
    }

    /// Parses a text field, such as an id.
    pub(super) fn parsed<T: TryFrom<String>>(&self, field: &str) -> Result<T, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        self.required(field, self.optional_parsed(field)?)
    }

    pub(super) fn optional_parsed<T: TryFrom<String>>(
        &self,
        field: &str,
    ) -> Result<Option<T>, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        let parse = |text: &str| T::try_from(text.to_owned());
        let parsed = self.optional_text(field)?.map(parse).transpose();
        parsed.map_err(|e| self.corrupt(field, Some(e.into())))
    }

    /// Returns an integer, whichever width the writer chose for it.
    pub(super) fn integer(&self, field: &str) -> Result<i64, StoreError> {
        let integer = match self.optional(field)? {
            Some(RawBsonRef::Int32(number)) => Some(number.into()),
            Some(RawBsonRef::Int64(number)) => Some(number),
            _ => None,
        };
        self.required(field, integer)
    }

    /// Returns an integer that is never negative.
    pub(super) fn count(&self, field: &str) -> Result<u64, StoreError> {
        let count = u64::try_from(self.integer(field)?);
        count.map_err(|e| self.corrupt(field, Some(e.into())))
    }

    pub(super) fn float(&self, field: &str) -> Result<f64, StoreError> {
        self.required(field, self.optional(field)?.and_then(RawBsonRef::as_f64))
    }

    pub(super) fn optional_time(&self, field: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        match self.optional(field)? {
            None => Ok(None),
            Some(RawBsonRef::DateTime(time)) => Ok(Some(time.to_chrono())),
            Some(_) => Err(self.corrupt(field, None)),
        }
    }

    pub(super) fn time(&self, field: &str) -> Result<DateTime<Utc>, StoreError> {
        self.required(field, self.optional_time(field)?)
    }

    /// Returns caller JSON; null where the field is missing.
    pub(super) fn value(&self, field: &str) -> Result<Value, StoreError> {
        let value = self.optional(field)?.map_or(Ok(Value::Null), json::to_value);
        value.map_err(|e| self.corrupt(field, Some(e.into())))
    }

    pub(super) fn optional_object(&self, field: &str) -> Result<Option<JsonObject>, StoreError> {
        let Some(document) = self.optional_document(field)? else {
            return Ok(None);
        };
        let object = json::to_object(document);
        object.map(Some).map_err(|e| self.corrupt(field, Some(e.into())))
    }

    pub(super) fn object(&self, field: &str) -> Result<JsonObject, StoreError> {
        self.required(field, self.optional_object(field)?)
    }

    pub(super) fn optional_document(
        &self,
        field: &str,
    ) -> Result<Option<&'a RawDocument>, StoreError> {
        match self.optional(field)? {
            None => Ok(None),
            Some(value) => value.as_document().map(Some).ok_or_else(|| self.corrupt(field, None)),
        }
    }

    pub(super) fn document(&self, field: &str) -> Result<&'a RawDocument, StoreError> {
        self.required(field, self.optional_document(field)?)
    }

    pub(super) fn array(&self, field: &str) -> Result<&'a RawArray, StoreError> {
        self.required(field, self.optional(field)?.and_then(RawBsonRef::as_array))
    }

    /// Returns the documents of an array.
    pub(super) fn documents(
        &self,
        field: &'a str,
    ) -> Result<impl Iterator<Item = Result<Self, StoreError>>, StoreError> {
        let fields = *self;
        let array = self.array(field)?;
        Ok(array.into_iter().map(move |item| {
            let item = item.map_err(|e| fields.corrupt(field, Some(e.into())))?;
            let document = item.as_document().ok_or_else(|| fields.corrupt(field, None))?;
            Ok(fields.inside(document))
        }))
    }
}

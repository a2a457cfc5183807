use bson::{RawArray, RawBsonRef, RawDocument};
use chrono::{DateTime, Utc};
use records::JsonObject;
use serde_json::Value;

use crate::mongo::documents::document_name::DocumentName;
use crate::mongo::engine::json;
use crate::{BoxError, StoreError};

/// One field of a stored document. A missing field reads as null.
///
/// Methods return `Corrupt` for a value of the wrong type. The `optional_…` methods accept null.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    document: DocumentName<'a>,
    name: &'a str,
    value: RawBsonRef<'a>,
}

impl<'a> Field<'a> {
    pub(crate) fn new(document: DocumentName<'a>, name: &'a str, value: RawBsonRef<'a>) -> Self {
        Self { document, name, value }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the stored value.
    pub(crate) fn raw(&self) -> RawBsonRef<'a> {
        self.value
    }

    /// Returns whether the field is null or missing.
    pub(crate) fn is_null(&self) -> bool {
        self.value == RawBsonRef::Null
    }

    /// Returns the error for an invalid value of the field.
    fn corrupt(&self, source: Option<BoxError>) -> StoreError {
        self.document.corrupt(self.name, source)
    }

    /// Returns the value; `None` is `Corrupt`.
    pub(crate) fn required<T>(&self, value: Option<T>) -> Result<T, StoreError> {
        value.ok_or_else(|| self.corrupt(None))
    }

    /// Returns `None` for null. Any other value must be readable by `read`.
    fn optional<T>(
        &self,
        read: impl FnOnce(RawBsonRef<'a>) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        match self.value {
            RawBsonRef::Null => Ok(None),
            value => self.required(read(value)).map(Some),
        }
    }

    pub(crate) fn optional_text(&self) -> Result<Option<&'a str>, StoreError> {
        self.optional(RawBsonRef::as_str)
    }

    pub(crate) fn text(&self) -> Result<&'a str, StoreError> {
        self.required(self.value.as_str())
    }

    /// Returns a copy of the text.
    pub(crate) fn optional_string(&self) -> Result<Option<String>, StoreError> {
        Ok(self.optional_text()?.map(str::to_owned))
    }

    /// Parses a text, such as an id.
    pub(crate) fn parsed<T: TryFrom<String>>(&self) -> Result<T, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        T::try_from(self.text()?.to_owned()).map_err(|e| self.corrupt(Some(e.into())))
    }

    pub(crate) fn optional_parsed<T: TryFrom<String>>(&self) -> Result<Option<T>, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        match self.value {
            RawBsonRef::Null => Ok(None),
            _ => self.parsed().map(Some),
        }
    }

    /// Returns an integer, stored with 32 or 64 bits.
    pub(crate) fn integer(&self) -> Result<i64, StoreError> {
        match self.value {
            RawBsonRef::Int32(number) => Ok(number.into()),
            RawBsonRef::Int64(number) => Ok(number),
            _ => Err(self.corrupt(None)),
        }
    }

    /// Returns an integer that must fit another type, such as an unsigned one.
    pub(crate) fn number<T: TryFrom<i64>>(&self) -> Result<T, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        T::try_from(self.integer()?).map_err(|e| self.corrupt(Some(e.into())))
    }

    pub(crate) fn optional_number<T: TryFrom<i64>>(&self) -> Result<Option<T>, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        match self.value {
            RawBsonRef::Null => Ok(None),
            _ => self.number().map(Some),
        }
    }

    /// Returns the integers of an array; empty if the field is null.
    pub(crate) fn optional_numbers(&self) -> Result<Vec<u64>, StoreError> {
        let Some(array) = self.optional(RawBsonRef::as_array)? else { return Ok(Vec::new()) };
        let number = |value: RawBsonRef<'_>| match value {
            RawBsonRef::Int32(number) => number.try_into().ok(),
            RawBsonRef::Int64(number) => number.try_into().ok(),
            _ => None,
        };
        let numbers = array.into_iter().map(|item| item.ok().and_then(number));
        self.required(numbers.collect())
    }

    /// Returns the texts of an array.
    pub(crate) fn strings(&self) -> Result<Vec<String>, StoreError> {
        let texts = self.array()?.into_iter().map(|item| Some(item.ok()?.as_str()?.to_owned()));
        self.required(texts.collect())
    }

    /// Parses the texts of an array, such as ids; empty if the field is null.
    pub(crate) fn optional_each_parsed<T: TryFrom<String>>(&self) -> Result<Vec<T>, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        if self.value == RawBsonRef::Null {
            return Ok(Vec::new());
        }
        let parse = |text| T::try_from(text).map_err(|e| self.corrupt(Some(e.into())));
        self.strings()?.into_iter().map(parse).collect()
    }

    pub(crate) fn optional_time(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.optional(|value| value.as_datetime().map(bson::DateTime::to_chrono))
    }

    pub(crate) fn time(&self) -> Result<DateTime<Utc>, StoreError> {
        self.required(self.optional_time()?)
    }

    pub(crate) fn bytes<const N: usize>(&self) -> Result<[u8; N], StoreError> {
        let binary = self.value.as_binary().and_then(|binary| binary.bytes.try_into().ok());
        self.required(binary)
    }

    /// Returns caller JSON.
    pub(crate) fn value(&self) -> Result<Value, StoreError> {
        json::to_value(self.value).map_err(|e| self.corrupt(Some(e.into())))
    }

    pub(crate) fn optional_object(&self) -> Result<Option<JsonObject>, StoreError> {
        let object = self.optional_document()?.map(json::to_object);
        object.transpose().map_err(|e| self.corrupt(Some(e.into())))
    }

    pub(crate) fn object(&self) -> Result<JsonObject, StoreError> {
        self.required(self.optional_object()?)
    }

    pub(crate) fn optional_document(&self) -> Result<Option<&'a RawDocument>, StoreError> {
        self.optional(RawBsonRef::as_document)
    }

    pub(crate) fn document(&self) -> Result<&'a RawDocument, StoreError> {
        self.required(self.value.as_document())
    }

    pub(crate) fn array(&self) -> Result<&'a RawArray, StoreError> {
        self.required(self.value.as_array())
    }
}

use std::cell::Cell;

use bson::{RawBsonRef, RawDocument};
use chrono::{DateTime, Utc};
use records::JsonObject;
use serde::Deserialize;

use crate::mongo::documents::NEWEST_VERSION;
use crate::mongo::documents::document_name::DocumentName;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::stored::{check_version, read_fields};
use crate::{BoxError, StoreError};

/// Reads the fields of a stored document. An invalid field is `Corrupt`.
///
/// Reading a field by name searches the document from its start. To read many fields, use
/// [`each`](Fields::each) or [`collect`](Fields::collect).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    document: DocumentName<'a>,
    raw: &'a RawDocument,
}

impl<'a> Fields<'a> {
    /// Opens a stored document. Fails if only newer releases can read its shape.
    ///
    /// `id` identifies the document in errors.
    pub(crate) fn open(
        collection: &'static str,
        id: &'a str,
        raw: &'a RawDocument,
    ) -> Result<Self, StoreError> {
        Self::open_up_to(NEWEST_VERSION, collection, id, raw)
    }

    /// Opens a stored document whose `schema_version` is at most `supported`.
    pub(crate) fn open_up_to(
        supported: i64,
        collection: &'static str,
        id: &'a str,
        raw: &'a RawDocument,
    ) -> Result<Self, StoreError> {
        check_version(supported, collection, || id.to_owned(), raw)?;
        Ok(Self { document: DocumentName { collection, id }, raw })
    }

    /// Opens a part of a stored document that was read alone, such as a message. `id` identifies the document in errors.
    pub(crate) fn of_part(collection: &'static str, id: &'a str, raw: &'a RawDocument) -> Self {
        Self { document: DocumentName { collection, id }, raw }
    }

    /// Reads the document as a struct.
    pub(crate) fn read<T: Deserialize<'a>>(&self) -> Result<T, StoreError> {
        let DocumentName { collection, id } = self.document;
        read_fields(self.raw).map_err(|e| e.within(collection, id.to_owned()))
    }

    /// Opens a document nested in this one.
    pub(crate) fn inside(&self, raw: &'a RawDocument) -> Self {
        Self { raw, ..*self }
    }

    /// Returns a field for a value from within this document; `name` identifies it in errors.
    pub(crate) fn within(&self, name: &'a str, value: RawBsonRef<'a>) -> Field<'a> {
        Field::new(self.document, name, value)
    }

    /// Returns the underlying document.
    pub(crate) fn raw(&self) -> &'a RawDocument {
        self.raw
    }

    /// Returns the error for an invalid field.
    pub(crate) fn corrupt(&self, field: &str, source: Option<BoxError>) -> StoreError {
        self.document.corrupt(field, source)
    }

    /// Returns every field, in the stored order.
    pub(crate) fn each(&self) -> impl Iterator<Item = Result<Field<'a>, StoreError>> {
        let fields = *self;
        fields.raw.iter_elements().map(move |element| {
            let element = element.map_err(|e| fields.corrupt("(unreadable)", Some(e.into())))?;
            let name = element.key().as_str();
            let value = element.value().map_err(|e| fields.corrupt(name, Some(e.into())))?;
            Ok(Field::new(fields.document, name, value))
        })
    }

    /// Reads all fields in one pass, for a caller that needs many of them by name.
    pub(crate) fn collect(&self) -> Result<FieldList<'a>, StoreError> {
        let mut found = Vec::with_capacity(FieldList::INITIAL_CAPACITY);
        for field in self.each() {
            let field = field?;
            found.push((field.name(), field.raw()));
        }
        Ok(FieldList { fields: *self, found, next: Cell::new(0) })
    }

    /// Returns the value of a required field; `None` is `Corrupt`.
    pub(crate) fn required<T>(&self, field: &str, found: Option<T>) -> Result<T, StoreError> {
        found.ok_or_else(|| self.corrupt(field, None))
    }

    /// Returns a field. A missing field reads as null.
    pub(crate) fn field(&self, name: &'a str) -> Result<Field<'a>, StoreError> {
        let value = self.raw.get(name).map_err(|e| self.corrupt(name, Some(e.into())))?;
        Ok(Field::new(self.document, name, value.unwrap_or(RawBsonRef::Null)))
    }

    pub(crate) fn optional_text(&self, field: &'a str) -> Result<Option<&'a str>, StoreError> {
        self.field(field)?.optional_text()
    }

    pub(crate) fn parsed<T: TryFrom<String>>(&self, field: &'a str) -> Result<T, StoreError>
    where
        T::Error: Into<BoxError>,
    {
        self.field(field)?.parsed()
    }

    pub(crate) fn integer(&self, field: &'a str) -> Result<i64, StoreError> {
        self.field(field)?.integer()
    }

    /// Returns an integer that must not be negative.
    pub(crate) fn count(&self, field: &'a str) -> Result<u64, StoreError> {
        self.field(field)?.number()
    }

    pub(crate) fn time(&self, field: &'a str) -> Result<DateTime<Utc>, StoreError> {
        self.field(field)?.time()
    }

    pub(crate) fn bytes<const N: usize>(&self, field: &'a str) -> Result<[u8; N], StoreError> {
        self.field(field)?.bytes()
    }

    pub(crate) fn object(&self, field: &'a str) -> Result<JsonObject, StoreError> {
        self.field(field)?.object()
    }

    pub(crate) fn optional_document(
        &self,
        field: &'a str,
    ) -> Result<Option<&'a RawDocument>, StoreError> {
        self.field(field)?.optional_document()
    }

    pub(crate) fn document(&self, field: &'a str) -> Result<&'a RawDocument, StoreError> {
        self.field(field)?.document()
    }

    /// Returns the documents of an array.
    pub(crate) fn documents(
        &self,
        field: &'a str,
    ) -> Result<impl Iterator<Item = Result<Self, StoreError>>, StoreError> {
        let fields = *self;
        let array = self.field(field)?.array()?;
        Ok(array.into_iter().map(move |item| {
            let item = item.map_err(|e| fields.corrupt(field, Some(e.into())))?;
            let document = item.as_document().ok_or_else(|| fields.corrupt(field, None))?;
            Ok(fields.inside(document))
        }))
    }
}

/// The fields of a stored document, as a list of names and values.
#[derive(Debug)]
pub(crate) struct FieldList<'a> {
    fields: Fields<'a>,
    found: Vec<(&'a str, RawBsonRef<'a>)>,
    /// Where to start the next search, because callers mostly read fields in the stored order.
    next: Cell<usize>,
}

impl<'a> FieldList<'a> {
    /// The initial capacity: about the number of fields of the largest documents.
    const INITIAL_CAPACITY: usize = 32;

    /// Returns a field. A missing field reads as null.
    pub(crate) fn field(&self, name: &'a str) -> Field<'a> {
        let is_it = |(found, _): &(&str, RawBsonRef<'a>)| *found == name;
        let (before, after) = self.found.split_at(self.next.get());
        let place = after.iter().position(is_it).map(|place| place + before.len());
        let value = match place.or_else(|| before.iter().position(is_it)) {
            None => RawBsonRef::Null,
            Some(place) => {
                self.next.set(place + 1);
                self.found[place].1
            }
        };
        Field::new(self.fields.document, name, value)
    }
}

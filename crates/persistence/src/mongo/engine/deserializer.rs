//! Reads raw BSON with serde, for the structs of this crate.
//!
//! The deserializer of the driver hands over each type of BSON that JSON lacks as another kind of map. The compiler then
//! copies the code of every struct a dozen times, and again for errors that have a path (decision 0078). Here a struct is
//! read from one kind of map, and an error collects its path on its way up.

use std::{fmt, iter};

use bson::raw::{RawArrayIter, RawIter};
use bson::spec::BinarySubtype;
use bson::{RawArray, RawBinaryRef, RawBsonRef, RawDocument};
use serde::de::value::MapDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

/// Reads the fields of a document.
pub(crate) fn deserialize<'de, T: Deserialize<'de>>(
    document: &'de RawDocument,
) -> Result<T, ReadError> {
    T::deserialize(Value(RawBsonRef::Document(document)))
}

/// A value that cannot be read, with its path from the document that was read.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.reason)]
pub(crate) struct ReadError(Box<Misfit>);

#[derive(Debug)]
struct Misfit {
    path: String,
    reason: String,
}

impl ReadError {
    #[cold]
    fn new(path: &str, reason: String) -> Self {
        Self(Box::new(Misfit { path: path.to_owned(), reason }))
    }

    /// Returns the path of the value; empty if the document itself cannot be read.
    pub(crate) fn path(&self) -> &str {
        &self.0.path
    }

    #[cold]
    fn within(mut self, parent: impl fmt::Display) -> Self {
        let path = &self.0.path;
        let separator = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        self.0.path = format!("{parent}{separator}{path}");
        self
    }
}

impl Error for ReadError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::new("", reason.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(field, format!("missing field `{field}`"))
    }
}

/// The names by which the driver asks for a value as it is stored, and by which it is told what that is.
mod verbatim {
    pub(super) const VALUE: &str = "$__private__bson_RawBson";
    pub(super) const DOCUMENT: &str = "$__private__bson_RawDocument";
    pub(super) const ARRAY: &str = "$__private__bson_RawArray";
}

/// A value of a document.
struct Value<'de>(RawBsonRef<'de>);

impl Value<'_> {
    fn mismatch(&self, expected: &dyn serde::de::Expected) -> ReadError {
        let found = match self.0 {
            RawBsonRef::Double(number) => Unexpected::Float(number),
            RawBsonRef::String(text) => Unexpected::Str(text),
            RawBsonRef::Array(_) => Unexpected::Seq,
            RawBsonRef::Document(_) => Unexpected::Map,
            RawBsonRef::Boolean(flag) => Unexpected::Bool(flag),
            RawBsonRef::Null => Unexpected::Unit,
            RawBsonRef::Int32(number) => Unexpected::Signed(number.into()),
            RawBsonRef::Int64(number) => Unexpected::Signed(number),
            RawBsonRef::DateTime(_) => Unexpected::Other("date"),
            _ => Unexpected::Other("value of another type"),
        };
        Error::invalid_type(found, expected)
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::Double(number) => visitor.visit_f64(number),
            RawBsonRef::String(text) => visitor.visit_borrowed_str(text),
            RawBsonRef::Array(array) => visitor.visit_seq(Items::new(array)),
            RawBsonRef::Document(document) => visitor.visit_map(Entries::new(document)),
            RawBsonRef::Boolean(flag) => visitor.visit_bool(flag),
            RawBsonRef::Null | RawBsonRef::Undefined => visitor.visit_unit(),
            RawBsonRef::Int32(number) => visitor.visit_i32(number),
            RawBsonRef::Int64(number) => visitor.visit_i64(number),
            RawBsonRef::DateTime(date) => {
                visitor.visit_map(single("$date", RawBsonRef::Int64(date.timestamp_millis())))
            }
            RawBsonRef::Binary(RawBinaryRef { bytes, subtype: BinarySubtype::Generic }) => {
                visitor.visit_borrowed_bytes(bytes)
            }
            _ => Err(self.mismatch(&visitor)),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::String(text) => visitor.visit_borrowed_str(text),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::Null | RawBsonRef::Undefined => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::Document(document) => visitor.visit_map(Entries::new(document)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::Array(array) => visitor.visit_seq(Items::new(array)),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match (name, self.0) {
            (verbatim::VALUE | verbatim::DOCUMENT, RawBsonRef::Document(document)) => {
                visitor.visit_map(single(verbatim::DOCUMENT, bytes(document.as_bytes())))
            }
            (verbatim::VALUE | verbatim::ARRAY, RawBsonRef::Array(array)) => {
                visitor.visit_map(single(verbatim::ARRAY, bytes(array.as_bytes())))
            }
            (verbatim::VALUE, _) => self.deserialize_any(visitor),
            (verbatim::DOCUMENT | verbatim::ARRAY, _) => Err(self.mismatch(&visitor)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// Enums are stored as the names of their variants.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.0 {
            RawBsonRef::String(name) => visitor.visit_enum(name.into_deserializer()),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        tuple_struct
    }
}

/// Lets a value be the key or the value of a [`MapDeserializer`].
impl<'de> IntoDeserializer<'de, ReadError> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The fields of a document.
struct Entries<'de> {
    rest: RawIter<'de>,
    next: Option<(&'de str, RawBsonRef<'de>)>,
}

impl<'de> Entries<'de> {
    fn new(document: &'de RawDocument) -> Self {
        Self { rest: document.iter_elements(), next: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let element = element.map_err(ReadError::custom)?;
        let key = element.key().as_str();
        let value = element.value().map_err(|e| ReadError::custom(e).within(key))?;
        self.next = Some((key, value));
        seed.deserialize(Value(RawBsonRef::String(key))).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let Some((key, value)) = self.next.take() else {
            return Err(ReadError::custom("a value without a key"));
        };
        seed.deserialize(Value(value)).map_err(|e| e.within(key))
    }
}

/// The items of an array.
struct Items<'de> {
    rest: RawArrayIter<'de>,
    position: usize,
}

impl<'de> Items<'de> {
    fn new(array: &'de RawArray) -> Self {
        Self { rest: array.into_iter(), position: 0 }
    }
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ReadError> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        let item = item.map_err(ReadError::custom).and_then(|item| seed.deserialize(Value(item)));
        let item = item.map_err(|e| e.within(format_args!("[{}]", self.position)))?;
        self.position += 1;
        Ok(Some(item))
    }
}

fn bytes(bytes: &[u8]) -> RawBsonRef<'_> {
    RawBsonRef::Binary(RawBinaryRef { bytes, subtype: BinarySubtype::Generic })
}

/// Returns a map of one entry, which says what a value is.
fn single<'de>(key: &'de str, value: RawBsonRef<'de>) -> impl MapAccess<'de, Error = ReadError> {
    MapDeserializer::new(iter::once((Value(RawBsonRef::String(key)), Value(value))))
}

#[cfg(test)]
mod tests {
    use bson::{Bson, DateTime, Document, RawDocumentBuf};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    /// Values of the types that are stored.
    fn value() -> impl Strategy<Value = Bson> {
        let bytes = vec(any::<u8>(), 0..20);
        let leaf = prop_oneof![
            any::<f64>().prop_filter("a number", |it| !it.is_nan()).prop_map(Bson::Double),
            ".{0,10}".prop_map(Bson::String),
            any::<bool>().prop_map(Bson::Boolean),
            Just(Bson::Null),
            any::<i32>().prop_map(Bson::Int32),
            any::<i64>().prop_map(Bson::Int64),
            any::<i64>().prop_map(|ms| Bson::DateTime(DateTime::from_millis(ms))),
            bytes.prop_map(|bytes| Bson::from(bson::Binary {
                subtype: BinarySubtype::Generic,
                bytes
            })),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Bson::Array),
                btree_map("[a-z]{0,8}", inner, 0..6)
                    .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
            ]
        })
    }

    fn document() -> impl Strategy<Value = Document> {
        btree_map("[a-z]{0,8}", value(), 0..8).prop_map(|fields| fields.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_driver_reads(document in document()) {
            let raw = RawDocumentBuf::try_from(&document).unwrap();
            let driver: Document = bson::deserialize_from_slice(raw.as_bytes()).unwrap();
            prop_assert_eq!(deserialize::<Document>(&raw).unwrap(), driver);
            prop_assert_eq!(deserialize::<RawDocumentBuf>(&raw).unwrap(), raw);
        }

        #[test]
        fn damaged_bytes_are_refused_or_read_and_never_panic(
            document in document(),
            damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = RawDocumentBuf::try_from(&document).unwrap().into_bytes();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Ok(raw) = RawDocument::from_bytes(&bytes) {
                drop(deserialize::<Document>(raw));
                drop(deserialize::<RawDocumentBuf>(raw));
            }
        }
    }
}

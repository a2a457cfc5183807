use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// The fields of a JSON object, written once for every subscriber and transport.
///
/// Events wait in windows and in the queues of slow clients. There a caller's JSON is held as text, because its
/// values could take many times the memory. A transport puts its own fields before these, so the text has no braces.
pub(crate) struct Encoded<T> {
    fields: Arc<str>,
    object: PhantomData<fn() -> T>,
}

impl<T: Serialize> Encoded<T> {
    pub(super) fn new(object: &T) -> Self {
        Self { fields: fields_of(object).into(), object: PhantomData }
    }
}

impl<T> Encoded<T> {
    pub(super) fn fields(&self) -> &str {
        &self.fields
    }

    pub(super) fn bytes(&self) -> usize {
        self.fields.len()
    }
}

impl<T> Clone for Encoded<T> {
    fn clone(&self) -> Self {
        Self { fields: Arc::clone(&self.fields), object: PhantomData }
    }
}

impl<T> PartialEq for Encoded<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.fields, &other.fields) || self.fields == other.fields
    }
}

impl<T> fmt::Debug for Encoded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.fields)
    }
}

/// Writes the fields of an object as JSON, without its braces.
pub(crate) fn fields_of(object: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, FieldsFormatter::default());
    // Plain structs and JSON values always serialize, as UTF-8.
    let _ = object.serialize(&mut serializer);
    String::from_utf8(text).unwrap_or_default()
}

/// Writes compact JSON, without the braces of the outermost object.
#[derive(Default)]
struct FieldsFormatter {
    depth: usize,
}

impl Formatter for FieldsFormatter {
    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.depth > 1 { CompactFormatter.begin_object(writer) } else { Ok(()) }
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth > 0 { CompactFormatter.end_object(writer) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_outermost_braces_are_left_out() {
        let object = json!({"a": {"b": {}}, "c": [{"d": "}"}], "e": null});
        assert_eq!(fields_of(&object), r#""a":{"b":{}},"c":[{"d":"}"}],"e":null"#);
    }
}

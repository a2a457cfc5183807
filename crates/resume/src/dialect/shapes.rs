//! The types of fields that only one format has, for its writer.
//!
//! Own fields come from callers, who may send anything in them. A library refuses a message if a field has another type, so
//! that such a field is not rendered.

use serde_json::{Map, Value};

use super::base64_text::is_base64;

/// What a field may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any JSON.
    Any,
    Flag,
    Number,
    Integer,
    Text,
    /// Bytes, in either alphabet of base64.
    Bytes,
    List,
    /// A list of such values.
    ListOf(&'static Shape),
    Object,
    /// An object whose values are integers.
    Integers,
    /// An object with these fields only.
    Fields(Table),
}

/// The fields of an object.
pub(super) type Table = &'static [(&'static str, Shape)];

/// Removes the fields that are not in a table, or not of their type; returns whether there are any.
pub(super) fn retain(object: &mut Map<String, Value>, table: Table) -> bool {
    let mut removes_any = false;
    object.retain(|field, value| {
        let shape = table.iter().find(|(known, _)| known == field).map(|(_, shape)| *shape);
        let is_kept = match (shape, &mut *value) {
            (Some(Shape::Fields(table)), Value::Object(fields)) => {
                removes_any |= retain(fields, table);
                true
            }
            (Some(shape), value) => shape.fits(value),
            (None, _) => false,
        };
        removes_any |= !is_kept;
        is_kept
    });
    removes_any
}

/// Returns whether an object has fields of a table only, each of its type.
pub(super) fn fits(object: &Map<String, Value>, table: Table) -> bool {
    object.iter().all(|(field, value)| {
        table.iter().any(|(known, shape)| known == field && shape.fits(value))
    })
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64(),
            Self::Text => value.is_string(),
            Self::Bytes => value.as_str().is_some_and(is_base64),
            Self::List => value.is_array(),
            Self::ListOf(shape) => {
                value.as_array().is_some_and(|it| it.iter().all(|it| shape.fits(it)))
            }
            Self::Object => value.is_object(),
            Self::Integers => value.as_object().is_some_and(|it| it.values().all(Value::is_i64)),
            Self::Fields(table) => value.as_object().is_some_and(|it| fits(it, table)),
        }
    }
}

use serde_json::Value;

use super::limits::Limits;
use super::object::JsonObject;
use crate::{Invalid, Segment};

/// Returns the size of a value encoded as BSON, in bytes; refuses a value that cannot be stored.
pub fn measure(value: &Value) -> Result<usize, Invalid> {
    measure_at(value, 0)
}

/// Returns the size of a value that is stored within this many others, like [`measure`] for a value by itself.
pub fn measure_within(value: &Value, depth: usize) -> Result<usize, Invalid> {
    measure_at(value, depth)
}

/// Returns the size of an object, like [`measure`] for any value.
pub fn measure_object(object: &JsonObject) -> Result<usize, Invalid> {
    object_at(object, 0)
}

/// The size of the length prefix and the closing NUL of a BSON document or array.
const CONTAINER_BYTES: usize = 5;
/// The size of the type byte before each key and of the NUL after it.
const KEY_BYTES: usize = 2;

fn measure_at(value: &Value, depth: usize) -> Result<usize, Invalid> {
    match value {
        Value::Null => Ok(0),
        Value::Bool(_) => Ok(1),
        Value::Number(number) if number.as_i64().is_some() || number.is_f64() => Ok(8),
        Value::Number(number) => {
            Err(Invalid::value("", format!("integer {number} does not fit in 64 bits with a sign")))
        }
        Value::String(text) => Ok(text.len() + 5),
        Value::Array(items) => array_at(items, depth),
        Value::Object(object) => object_at(object, depth),
    }
}

fn array_at(items: &[Value], depth: usize) -> Result<usize, Invalid> {
    check_depth(depth)?;
    let mut bytes = CONTAINER_BYTES;
    for (index, item) in items.iter().enumerate() {
        let item_bytes = measure_at(item, depth + 1).map_err(|e| e.below(Segment::Index(index)))?;
        bytes += KEY_BYTES + decimal_digits(index) + item_bytes;
    }
    Ok(bytes)
}

fn object_at(object: &JsonObject, depth: usize) -> Result<usize, Invalid> {
    check_depth(depth)?;
    let mut bytes = CONTAINER_BYTES;
    for (key, item) in object {
        if key.contains('\0') {
            return Err(Invalid::value(Segment::key(key.clone()), "a key must not contain NUL"));
        }
        let item_bytes =
            measure_at(item, depth + 1).map_err(|e| e.below(Segment::key(key.clone())))?;
        bytes += KEY_BYTES + key.len() + item_bytes;
    }
    Ok(bytes)
}

fn check_depth(depth: usize) -> Result<(), Invalid> {
    if depth < Limits::NESTING {
        return Ok(());
    }
    Err(Invalid::value("", format!("nested deeper than {} levels", Limits::NESTING)))
}

fn decimal_digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inner, _| json!([inner]))
    }

    #[test]
    fn errors_point_at_the_refused_value() {
        let value = json!({"a/b": [1, {"~": 9_223_372_036_854_775_808_u64}]});
        let invalid = measure(&value).unwrap_err();
        assert_eq!(invalid.location.to_string(), "/a~1b/1/~0");
    }

    #[test]
    fn nesting_stops_at_the_limit() {
        assert!(measure(&nested(Limits::NESTING)).is_ok());
        assert!(measure(&nested(Limits::NESTING + 1)).is_err());
    }

    #[test]
    fn a_key_with_nul_is_refused_and_a_string_with_nul_is_not() {
        assert!(measure(&json!({"a\0": 1})).is_err());
        assert!(measure(&json!({"a": "\0"})).is_ok());
    }

    #[test]
    fn sizes_are_those_of_bson() {
        // 4 length + (1 type + "a" + NUL + 8) + 1 end
        assert_eq!(measure(&json!({"a": 1})).unwrap(), 16);
        assert_eq!(measure(&json!([true, "x"])).unwrap(), 5 + 3 + 1 + 3 + 6);
    }
}

use serde::ser::Error as _;
use serde_json::{Error, Value};

/// Writes the text of a value, as `serde_json` does, but looks for what must be escaped in many bytes at once.
pub(super) fn write(buffer: &mut Vec<u8>, value: &Value) -> Result<(), Error> {
    sonic_rs::to_writer(buffer, value).map_err(Error::custom)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    fn text() -> impl Strategy<Value = String> {
        let escaped = prop::collection::vec(character(), 0..100);
        prop_oneof![any::<String>(), escaped.prop_map(String::from_iter)]
    }

    /// Returns characters of which many are escaped, so that they stand anywhere in a block of bytes.
    fn character() -> impl Strategy<Value = char> {
        prop_oneof![
            4 => Just('a'),
            1 => prop::char::range('\0', '\u{7f}'),
            1 => prop::sample::select(vec!['"', '\\', '\n', '\u{7f}', '\u{2028}', 'é', '𝄞']),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1e6..1e6).prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let fields = prop::collection::vec((text(), inner.clone()), 0..6);
            let object = fields.prop_map(|fields| Value::Object(Map::from_iter(fields)));
            prop_oneof![prop::collection::vec(inner, 0..6).prop_map(Value::from), object]
        })
    }

    proptest! {
        #[test]
        fn a_value_has_the_text_that_serde_json_writes(value in value()) {
            let mut written = b"before".to_vec();
            write(&mut written, &value).unwrap();
            let text = String::from_utf8(written.split_off("before".len())).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&value).unwrap());
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}

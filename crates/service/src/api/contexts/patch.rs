use std::io::{self, Write};

use records::JsonObject;
use serde_json::Value;

/// Writes the JSON patch (RFC 6902) that turns one object into another; `None` if it is larger than
/// `max_bytes`.
///
/// The patch is written while the objects are compared. So it takes no more memory than the limit, however
/// long its paths are and however often they repeat.
pub(super) fn write_patch(
    before: &JsonObject,
    after: &JsonObject,
    max_bytes: usize,
) -> Option<Vec<u8>> {
    let mut writer =
        PatchWriter { text: vec![b'['], max_bytes, path: String::new(), is_first: true };
    writer.compare_objects(before, after).ok()?;
    writer.write_all(b"]").ok()?;
    Some(writer.text)
}

struct PatchWriter {
    text: Vec<u8>,
    max_bytes: usize,
    /// The JSON pointer to the values that are compared.
    path: String,
    is_first: bool,
}

impl PatchWriter {
    fn compare(&mut self, before: &Value, after: &Value) -> io::Result<()> {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.compare_objects(before, after),
            (Value::Array(before), Value::Array(after)) => self.compare_arrays(before, after),
            _ if before == after => Ok(()),
            _ => self.operation("replace", Some(after)),
        }
    }

    fn compare_objects(&mut self, before: &JsonObject, after: &JsonObject) -> io::Result<()> {
        for (key, after) in after {
            self.below(key, |writer| match before.get(key) {
                Some(before) => writer.compare(before, after),
                None => writer.operation("add", Some(after)),
            })?;
        }
        for key in before.keys().filter(|key| !after.contains_key(*key)) {
            self.below(key, |writer| writer.operation("remove", None))?;
        }
        Ok(())
    }

    fn compare_arrays(&mut self, before: &[Value], after: &[Value]) -> io::Result<()> {
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            self.below(&index.to_string(), |writer| writer.compare(before, after))?;
        }
        for (index, after) in after.iter().enumerate().skip(before.len()) {
            self.below(&index.to_string(), |writer| writer.operation("add", Some(after)))?;
        }
        // Each removal moves the next item to the same index.
        let index = after.len().to_string();
        for _ in after.len()..before.len() {
            self.below(&index, |writer| writer.operation("remove", None))?;
        }
        Ok(())
    }

    /// Does something with a key or an index added to the path.
    fn below(
        &mut self,
        key: &str,
        then: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        then(self)?;
        self.path.truncate(length);
        Ok(())
    }

    fn operation(&mut self, name: &str, value: Option<&Value>) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        write!(self, r#"{comma}{{"op":"{name}","path":"#)?;
        let path = std::mem::take(&mut self.path);
        serde_json::to_writer(&mut *self, &path)?;
        self.path = path;
        if let Some(value) = value {
            self.write_all(br#","value":"#)?;
            serde_json::to_writer(&mut *self, value)?;
        }
        self.write_all(b"}")
    }
}

/// Fails at the limit.
impl Write for PatchWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[a/~]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let object = prop::collection::vec(("[a/~\"]{0,2}", inner), 0..4);
            prop_oneof![
                list,
                object.prop_map(|entries| Value::Object(entries.into_iter().collect()))
            ]
        })
    }

    proptest! {
        #[test]
        fn the_patch_turns_one_object_into_the_other(before in values(), after in values()) {
            let object = |value: &Value| json!({"a": value}).as_object().unwrap().clone();
            let patch = write_patch(&object(&before), &object(&after), usize::MAX).unwrap();
            let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
            let mut patched = json!({"a": before});
            json_patch::patch(&mut patched, &patch).unwrap();
            prop_assert_eq!(patched, json!({"a": after}));
        }
    }

    #[test]
    fn a_long_key_with_many_members_stops_at_the_limit() {
        let members = |value: u8| {
            let members: JsonObject =
                (0..10_000).map(|key| (key.to_string(), value.into())).collect();
            json!({"k".repeat(100_000): members}).as_object().unwrap().clone()
        };
        assert_eq!(write_patch(&members(0), &members(1), 1 << 20), None);
        assert_eq!(write_patch(&members(0), &members(0), 1 << 20), Some(b"[]".to_vec()));
    }
}

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::json::{self, JsonObject, Limits};
use crate::{Invalid, SizeLimit};

/// The state of an orchestrator at a position of the chat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextSnapshot {
    /// The `last_sequence` of the chat at that time: the snapshot reflects all messages before it.
    pub sequence: u64,
    /// The variables.
    pub data: JsonObject,
}

/// A version of the context snapshot, without its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextVersion {
    /// The number of the version: 1 for the first snapshot of the chat.
    pub version: u64,
    /// The `last_sequence` of the chat when the snapshot was taken.
    pub sequence: u64,
    /// When the version was written.
    pub created_at: DateTime<Utc>,
    /// The size of the variables encoded as BSON.
    pub bytes: u64,
}

/// A version of the context snapshot, with its variables.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptContext {
    /// The version.
    pub version: ContextVersion,
    /// The variables.
    pub data: JsonObject,
}

impl ContextSnapshot {
    /// Checks the variables of a snapshot, and returns their size encoded as BSON, in bytes.
    pub fn check(data: &JsonObject) -> Result<usize, Invalid> {
        let bytes = json::measure_object(data)?;
        if bytes > Limits::SNAPSHOT_BYTES {
            let detail = format!(
                "the context snapshot is {bytes} bytes; the limit is {} bytes",
                Limits::SNAPSHOT_BYTES
            );
            return Err(Invalid::too_large(SizeLimit::Context, "", detail));
        }
        Ok(bytes)
    }
}

/// Applies a JSON merge patch (RFC 7386): null removes a key, an object merges into an object,
/// anything else replaces.
pub fn merge_patch(target: &mut JsonObject, patch: &JsonObject) {
    for (key, change) in patch {
        match change {
            Value::Null => {
                // `shift_remove` keeps the order of the keys that stay.
                target.shift_remove(key);
            }
            Value::Object(change) => {
                let entry = target.entry(key.as_str()).or_insert_with(|| JsonObject::new().into());
                if !entry.is_object() {
                    *entry = JsonObject::new().into();
                }
                if let Value::Object(inner) = entry {
                    merge_patch(inner, change);
                }
            }
            other => {
                target.insert(key.clone(), other.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The test cases of RFC 7386, appendix A, that have objects on both sides.
    #[test]
    fn merging_follows_the_rfc() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (mut target, patch, expected) in cases {
            let (Value::Object(object), Value::Object(patch)) = (&mut target, &patch) else {
                panic!("cases are objects");
            };
            merge_patch(object, patch);
            assert_eq!(target, expected);
        }
    }
}

use serde_json::Value;
use sha2::Digest as _;

use super::object::JsonObject;

/// The first 16 bytes of a SHA-256: enough to distinguish any two bodies.
pub type Digest = [u8; 16];

/// Random bytes that are stored beside a digest, so that a short text cannot be guessed from its digest.
pub type Salt = [u8; 16];

/// Returns the digest of a digest and its salt.
pub fn salted(digest: &Digest, salt: &Salt) -> Digest {
    let mut hasher = Hasher::default();
    hasher.digest("salt", salt);
    hasher.digest("digest", digest);
    hasher.finish()
}

/// Computes the digest of JSON values.
///
/// The digest depends on structure and types (`1` differs from `"1"` and from `1.0`), not on the order of
/// keys or the notation of numbers.
#[derive(Debug, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Adds a named value.
    pub fn field(&mut self, name: &str, value: &Value) {
        self.bytes(b'k', name.as_bytes());
        self.value(value);
    }

    /// Adds a named object.
    pub fn object(&mut self, name: &str, object: &JsonObject) {
        self.bytes(b'k', name.as_bytes());
        self.entries(object);
    }

    /// Adds a named digest.
    pub fn digest(&mut self, name: &str, digest: &Digest) {
        self.bytes(b'k', name.as_bytes());
        self.bytes(b'd', digest);
    }

    /// Returns the digest of everything added.
    pub fn finish(self) -> Digest {
        let full = self.0.finalize();
        let mut digest = Digest::default();
        let length = digest.len();
        digest.copy_from_slice(&full[..length]);
        digest
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.update(b"z"),
            Value::Bool(true) => self.0.update(b"t"),
            Value::Bool(false) => self.0.update(b"f"),
            Value::Number(number) => self.bytes(b'n', number.to_string().as_bytes()),
            Value::String(text) => self.bytes(b's', text.as_bytes()),
            Value::Array(items) => {
                self.start(b'a', items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(object) => self.entries(object),
        }
    }

    fn entries(&mut self, object: &JsonObject) {
        let mut entries: Vec<_> = object.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        self.start(b'o', entries.len());
        for (key, item) in entries {
            self.field(key, item);
        }
    }

    fn start(&mut self, tag: u8, length: usize) {
        self.0.update([tag]);
        self.0.update((length as u64).to_be_bytes());
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.start(tag, bytes.len());
        self.0.update(bytes);
    }
}

/// Returns a digest as 32 hexadecimal digits.
pub fn hex(digest: &Digest) -> String {
    digest.map(|byte| format!("{byte:02x}")).concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(value: &Value) -> Digest {
        let mut hasher = Hasher::default();
        hasher.field("content", value);
        hasher.finish()
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(digest(&json!({"a": 1, "b": [2]})), digest(&json!({"b": [2], "a": 1})));
    }

    #[test]
    fn types_and_boundaries_matter() {
        assert_ne!(digest(&json!(1)), digest(&json!("1")));
        assert_ne!(digest(&json!(["ab", ""])), digest(&json!(["a", "b"])));
        assert_ne!(digest(&json!([[], 1])), digest(&json!([[1]])));
        assert_ne!(digest(&json!(null)), digest(&json!(false)));
    }
}

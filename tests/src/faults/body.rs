//! The bodies of messages, and how two bodies are compared.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Hashes the caller's part of a message exactly: role, name, content and metadata.
pub fn hash(message: &Value) -> String {
    let said = ["role", "name", "content", "metadata"].map(|field| &message[field]);
    let digest = Sha256::digest(json!(said).to_string());
    let first_bytes = digest.iter().take(8);
    format!("{:016x}", first_bytes.fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte)))
}

/// The event id that test messages also contain in their content, because a transcript has no ids.
pub fn id_in_content(message: &Value) -> Option<&str> {
    match &message["content"] {
        Value::String(text) => text.split(' ').next(),
        structure => structure["event_id"].as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_covers_everything_that_is_said_and_nothing_else() {
        let message = json!({ "role": "user", "content": { "a": 1, "b": [2] }, "sequence": 7 });
        let later = json!({ "role": "user", "content": { "a": 1, "b": [2] }, "sequence": 8 });
        let other = json!({ "role": "user", "content": { "b": [2], "a": 1 }, "sequence": 7 });
        assert_eq!(hash(&message), hash(&later));
        assert_ne!(hash(&message), hash(&other));
    }
}

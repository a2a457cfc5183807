use std::collections::HashSet;

use chrono::DateTime;
use records::JsonObject;
use records::json::{Hasher, hex};
use serde_json::Value;

/// The types of entries that follow one another; entries of other types have no parent.
const CHAINED: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

/// The entries so far. Each names the entry that it follows.
#[derive(Debug, Default)]
pub(super) struct Chain {
    uuids: HashSet<String>,
    /// The last entry of the main conversation, and that of a sub-agent.
    last: [Option<String>; 2],
}

impl Chain {
    pub(super) fn contains(&self, uuid: &str) -> bool {
        self.uuids.contains(uuid)
    }

    /// Returns the entry that the next one follows unless it says otherwise; null if it is the first.
    pub(super) fn last(&self, is_sidechain: bool) -> Value {
        self.last[usize::from(is_sidechain)].clone().into()
    }

    /// Adds an entry, if it is of a type that others follow.
    pub(super) fn add(&mut self, entry: &JsonObject) {
        let text = |field: &str| entry.get(field).and_then(Value::as_str);
        let is_chained = text("type").is_some_and(|kind| CHAINED.contains(&kind));
        if let Some(uuid) = text("uuid").filter(|_| is_chained) {
            self.uuids.insert(uuid.to_owned());
            self.last[usize::from(is_sidechain(entry))] = Some(uuid.to_owned());
        }
    }
}

/// Returns whether an entry belongs to a sub-agent.
pub(super) fn is_sidechain(entry: &JsonObject) -> bool {
    entry.get("isSidechain") == Some(&Value::Bool(true))
}

/// Returns whether a text is a time, and short enough to be stored as one.
pub(super) fn is_time(text: &str) -> bool {
    text.len() <= 40 && DateTime::parse_from_rfc3339(text).is_ok()
}

/// Returns whether a text has the form of a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_digit)
}

/// Returns the id itself if it is a UUID, or else one that is made from its digest.
pub(super) fn uuid_from(id: &str) -> String {
    if is_uuid(id) {
        return id.to_owned();
    }
    let digits = digest(id);
    let part = |from: usize, to: usize| &digits[from..to];
    // Version 8 is the one for UUIDs of any other making.
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// Returns 64 hexadecimal digits for a text.
pub(super) fn digest(text: &str) -> String {
    let mut hasher = Hasher::default();
    hasher.field("id", &Value::from(text));
    hex(&hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_stays_and_any_other_id_becomes_one() {
        let uuid = "0F8fad5b-d9cb-469f-a165-70867728950e";
        assert_eq!(uuid_from(uuid), uuid);
        for id in ["", "evt_1", "0f8fad5b-d9cb-469f-a165-70867728950g"] {
            let made = uuid_from(id);
            assert!(is_uuid(&made) && made.as_bytes()[14] == b'8', "{made}");
        }
    }
}

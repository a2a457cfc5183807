//! The attributes of a chat: the values of its metadata under the keys that its app has declared, for lists by them.

use bson::{Bson, Document, doc};
use records::{JsonObject, MetadataFilter, MetadataKeys, listed_text};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The field of a session with its attributes, if it has any.
pub(crate) const ATTRS: &str = "attrs";

/// The field of a session with the version of the declared keys for which its attributes were made; absent in chats that were
/// stored before the app had declared any.
pub(crate) const ATTRS_VERSION: &str = "attrs_version";

/// The most characters of a value that are stored as they are.
const MAX_VALUE_CHARS: usize = 128;

/// How many characters of a longer value are stored, before a digest of all of it.
const PREFIX_CHARS: usize = 64;

/// A value of the metadata under a declared key. A value has at most as many characters as an entry of an index can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    k: String,
    v: String,
}

impl Attribute {
    fn new(key: &str, text: &str) -> Self {
        Self { k: key.to_owned(), v: stored_value(text) }
    }

    /// Returns the attribute that the chats of a list have.
    pub(crate) fn of(filter: &MetadataFilter) -> Self {
        Self::new(&filter.key, &filter.text)
    }

    /// Returns the condition for chats that have the attribute.
    pub(crate) fn condition(&self) -> Document {
        doc! { ATTRS: { "$elemMatch": { "k": &self.k, "v": &self.v } } }
    }

    fn document(self) -> Bson {
        doc! { "k": self.k, "v": self.v }.into()
    }
}

/// Returns how a text is stored: a short one as it is, of a longer one the beginning with a digest, so that equal values of any
/// length are equal here, and no others are.
fn stored_value(text: &str) -> String {
    if text.chars().nth(MAX_VALUE_CHARS).is_none() {
        return text.to_owned();
    }
    let prefix: String = text.chars().take(PREFIX_CHARS).collect();
    // One character longer than the longest short value.
    format!("{prefix}\u{2026}{}", hex::encode(Sha256::digest(text)))
}

/// The keys that an app has declared, with their versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeclaredKeys {
    /// Grows with every change of the keys; 0 if the app has never declared any.
    pub(crate) version: i64,
    pub(crate) keys: Vec<DeclaredKey>,
}

/// A key that an app has declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeclaredKey {
    pub(crate) key: String,
    /// The version since which the key is declared.
    pub(crate) since: i64,
}

impl DeclaredKey {
    pub(crate) fn document(&self) -> Document {
        doc! { "key": &self.key, "since": self.since }
    }
}

impl DeclaredKeys {
    /// Returns the stored version, which is missing before the first change.
    pub(crate) fn stored_version(&self) -> Bson {
        match self.version {
            0 => Bson::Null,
            version => version.into(),
        }
    }

    /// Returns the keys after a change. A key that stays declared keeps its version, so that lists by it go on.
    pub(crate) fn changed_to(&self, keys: &MetadataKeys) -> Self {
        let version = self.version.saturating_add(1);
        let since = |key: &String| {
            let declared = self.keys.iter().find(|it| it.key == *key);
            declared.map_or(version, |it| it.since)
        };
        let declared = |key: &String| DeclaredKey { key: key.clone(), since: since(key) };
        Self { version, keys: keys.as_slice().iter().map(declared).collect() }
    }

    /// Returns the attributes of a chat.
    pub(crate) fn attributes(&self, metadata: &JsonObject) -> StoredAttributes {
        let attribute = |DeclaredKey { key, .. }: &DeclaredKey| {
            Some(Attribute::new(key, &listed_text(metadata.get(key)?)?))
        };
        let attrs: Vec<_> = self.keys.iter().filter_map(attribute).collect();
        StoredAttributes {
            attrs: Some(attrs).filter(|attrs| !attrs.is_empty()),
            attrs_version: Some(self.version).filter(|version| *version > 0),
        }
    }
}

/// The fields of a session about its attributes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredAttributes {
    pub(crate) attrs: Option<Vec<Attribute>>,
    pub(crate) attrs_version: Option<i64>,
}

impl StoredAttributes {
    /// Returns the fields with their values; one without a value is removed from the session.
    pub(crate) fn fields(self) -> [(&'static str, Option<Bson>); 2] {
        let attrs = self.attrs.map(|attrs| attrs.into_iter().map(Attribute::document).collect());
        [(ATTRS, attrs), (ATTRS_VERSION, self.attrs_version.map(Bson::from))]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_any_length_are_stored_in_few_characters_and_apart() {
        let short = "日".repeat(MAX_VALUE_CHARS);
        assert_eq!(stored_value(&short), short);
        let long = stored_value(&format!("{short}a"));
        assert_eq!(long.chars().count(), MAX_VALUE_CHARS + 1);
        assert_ne!(long, stored_value(&format!("{short}b")));
        assert_ne!(long, stored_value(&long));
    }

    #[test]
    fn a_key_that_stays_declared_keeps_its_version() {
        let keys = |keys: &[&str]| {
            MetadataKeys::parse(keys.iter().map(|key| (*key).to_owned()).collect()).unwrap()
        };
        let since = |declared: &DeclaredKeys| {
            let since = declared.keys.iter().map(|it| (it.key.clone(), it.since));
            (declared.version, since.collect::<Vec<_>>())
        };
        let first = DeclaredKeys::default().changed_to(&keys(&["a"]));
        assert_eq!(since(&first), (1, vec![("a".into(), 1)]));
        let second = first.changed_to(&keys(&["a", "b"]));
        assert_eq!(since(&second), (2, vec![("a".into(), 1), ("b".into(), 2)]));
        let again = second.changed_to(&keys(&["b"])).changed_to(&keys(&["a", "b"]));
        assert_eq!(since(&again), (4, vec![("a".into(), 4), ("b".into(), 2)]));
    }

    #[test]
    fn attributes_are_those_of_declared_keys() {
        let keys = MetadataKeys::parse(vec!["a".into(), "b".into(), "c".into()]).unwrap();
        let declared = DeclaredKeys::default().changed_to(&keys);
        let Ok(serde_json::Value::Object(metadata)) =
            Ok::<_, ()>(json!({ "b": 5.0, "a": "x", "c": null, "d": "y" }))
        else {
            panic!("an object")
        };
        let expected = vec![Attribute::new("a", "x"), Attribute::new("b", "5")];
        let stored = declared.attributes(&metadata);
        assert_eq!(stored, StoredAttributes { attrs: Some(expected), attrs_version: Some(1) });
        let none = DeclaredKeys::default().attributes(&metadata);
        assert_eq!(none, StoredAttributes::default());
    }
}

//! Lists of chats by their metadata: the keys that an app declares, and how a value is compared.

use serde_json::Value;

use crate::Invalid;
use crate::json::JsonObject;

/// The keys of the metadata of chats by which an app lists its chats: distinct, in the order of their characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataKeys(Vec<String>);

impl MetadataKeys {
    /// The most keys of an app.
    pub const MAX_KEYS: usize = 8;
    /// The most characters of a key.
    pub const MAX_KEY_CHARS: usize = 64;

    /// Takes keys in any order. An empty list declares none.
    pub fn parse(mut keys: Vec<String>) -> Result<Self, Invalid> {
        let refused = |detail: String| Err(Invalid::value("/metadata_keys", detail));
        if keys.len() > Self::MAX_KEYS {
            return refused(format!("must have at most {} keys", Self::MAX_KEYS));
        }
        let most = Self::MAX_KEY_CHARS;
        if keys.iter().any(|key| !(1..=most).contains(&key.chars().count())) {
            return refused(format!("each key must have 1 to {most} characters"));
        }
        if keys.iter().any(|key| key.contains('\0')) {
            return refused("a key must not contain NUL".to_owned());
        }
        keys.sort_unstable();
        if let Some([key, ..]) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return refused(format!("has the key {key:?} twice"));
        }
        Ok(Self(keys))
    }

    /// Takes keys that were parsed before they were stored.
    #[must_use]
    pub fn from_stored(mut keys: Vec<String>) -> Self {
        keys.sort_unstable();
        Self(keys)
    }

    /// Returns the keys.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Refuses a list by a key that is not declared.
    pub fn check(&self, filter: &MetadataFilter) -> Result<(), Invalid> {
        if self.0.contains(&filter.key) {
            return Ok(());
        }
        let key = &filter.key;
        let detail = match self.0.as_slice() {
            [] => format!("the app has not declared the key {key:?}; it has declared none"),
            keys => {
                let keys: Vec<_> = keys.iter().map(|key| format!("{key:?}")).collect();
                let keys = keys.join(", ");
                format!("the app has not declared the key {key:?}; declared are {keys}")
            }
        };
        Err(Invalid::value("/metadata", detail))
    }
}

impl From<MetadataKeys> for Vec<String> {
    fn from(keys: MetadataKeys) -> Self {
        keys.0
    }
}

/// A value of a key of the metadata that the chats of a list have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataFilter {
    /// The key.
    pub key: String,
    /// The text of the value, as [`listed_text`] returns it.
    pub text: String,
}

impl MetadataFilter {
    /// The most characters of a value.
    pub const MAX_TEXT_CHARS: usize = 1_024;

    /// Takes a filter such as `customer:acme`. The first colon ends the key; a backslash takes the character after it into the
    /// key as it is.
    pub fn parse(filter: &str) -> Result<Self, Invalid> {
        let refused = |detail: String| Invalid::value("/metadata", detail);
        let mut key = String::new();
        let mut rest = filter.chars();
        loop {
            match rest.next() {
                Some(':') => break,
                Some('\\') => key.extend(rest.next()),
                Some(other) => key.push(other),
                None => {
                    return Err(refused("must be a key, a colon and a value".to_owned()));
                }
            }
        }
        let text = rest.as_str().to_owned();
        if text.chars().count() > Self::MAX_TEXT_CHARS {
            let most = Self::MAX_TEXT_CHARS;
            return Err(refused(format!("the value must have at most {most} characters")));
        }
        Ok(Self { key, text })
    }

    /// Returns whether metadata have the value.
    #[must_use]
    pub fn is_in(&self, metadata: &JsonObject) -> bool {
        let text = metadata.get(&self.key).and_then(listed_text);
        text.is_some_and(|text| text == self.text)
    }
}

/// Returns the text by which a value of the metadata is listed; `None` for null, arrays and objects, which no list has.
///
/// A string is its own text. A boolean is `true` or `false`. A number is its shortest decimal form without an exponent: 5.0 is
/// `5`, and 1e3 is `1000`.
#[must_use]
pub fn listed_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            // The sum takes the sign from -0.0.
            Some(float) => Some((float + 0.0).to_string()),
            None => Some(number.to_string()),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(keys: &[&str]) -> Result<MetadataKeys, Invalid> {
        MetadataKeys::parse(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    #[test]
    fn keys_are_few_short_and_distinct() {
        assert_eq!(keys(&["b", "a"]).unwrap().as_slice(), ["a", "b"]);
        assert_eq!(keys(&[]).unwrap(), MetadataKeys::default());
        assert!(keys(&["1", "2", "3", "4", "5", "6", "7", "$where"]).is_ok());
        assert!(keys(&["1", "2", "3", "4", "5", "6", "7", "8", "9"]).is_err());
        assert!(keys(&[""]).is_err() && keys(&["a\0"]).is_err() && keys(&["a", "a"]).is_err());
        assert!(keys(&[&"日".repeat(64)]).is_ok() && keys(&[&"a".repeat(65)]).is_err());
    }

    #[test]
    fn a_filter_is_a_key_and_a_value() {
        let parsed = |filter: &str| {
            let MetadataFilter { key, text } = MetadataFilter::parse(filter).ok()?;
            Some((key, text))
        };
        let some = |key: &str, text: &str| Some((key.to_owned(), text.to_owned()));
        assert_eq!(parsed("customer:acme"), some("customer", "acme"));
        assert_eq!(parsed("url:https://a\\b"), some("url", "https://a\\b"));
        assert_eq!(parsed(r"a\:b\\c:"), some(r"a:b\c", ""));
        assert_eq!(parsed("customer"), None);
        assert_eq!(parsed(r"customer\:acme"), None);
        assert!(parsed(&format!("a:{}", "日".repeat(1_024))).is_some());
        assert!(parsed(&format!("a:{}", "a".repeat(1_025))).is_none());
    }

    #[test]
    fn values_are_compared_as_text() {
        for (value, text) in [
            (json!("Acme "), "Acme "),
            (json!(""), ""),
            (json!(true), "true"),
            (json!(-5), "-5"),
            (json!(5.0), "5"),
            (json!(-0.0), "0"),
            (json!(0.1), "0.1"),
            (json!(1e21), "1000000000000000000000"),
            (json!(-2.5e-3), "-0.0025"),
            (json!(i64::MAX), "9223372036854775807"),
        ] {
            assert_eq!(listed_text(&value).as_deref(), Some(text), "{value}");
        }
        for value in [json!(null), json!(["a"]), json!({ "a": "b" })] {
            assert_eq!(listed_text(&value), None, "{value}");
        }
    }

    #[test]
    fn an_undeclared_key_is_refused_with_those_that_are_declared() {
        let filter = MetadataFilter::parse("b:1").unwrap();
        assert!(keys(&["a", "b"]).unwrap().check(&filter).is_ok());
        let refusal = keys(&["a", "c"]).unwrap().check(&filter).unwrap_err();
        assert!(refusal.detail.ends_with(r#"declared are "a", "c""#), "{refusal}");
        assert!(keys(&[]).unwrap().check(&filter).is_err());
    }
}

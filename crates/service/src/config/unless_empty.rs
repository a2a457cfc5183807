use serde::{Deserialize, Deserializer};

/// Reads an empty setting as a missing one, because an environment variable can be empty but not null.
pub(super) fn unless_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(T::from))
}

//! Values that mean that nothing was set.

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer};

/// Reads an empty text as a missing value: an environment variable can be empty but not null, and programs in Go send such a
/// text for a field without a value.
pub(crate) fn unless_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty());
    text.map(|text| T::deserialize(text.into_deserializer())).transpose()
}

/// Reads null as the default: programs in Go send it for an empty list or object.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

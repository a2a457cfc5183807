use records::FieldChange;
use serde::{Deserialize, Deserializer};

/// Reads a field that is not missing: null clears it.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<FieldChange<T>, D::Error> {
    let value = Option::deserialize(deserializer)?;
    Ok(value.map_or(FieldChange::Clear, FieldChange::Set))
}

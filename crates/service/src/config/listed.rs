use serde::{Deserialize, Deserializer};

/// A list, or a text with commas: an environment variable can hold only a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    List(Vec<String>),
    Text(String),
}

/// Reads a list of texts, and leaves out empty ones.
pub(super) fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = match Listed::deserialize(deserializer)? {
        Listed::List(texts) => texts,
        Listed::Text(text) => text.split(',').map(|text| text.trim().to_owned()).collect(),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

use records::AppId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Who may read the metrics, and which apps they name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Whether everybody may read them; otherwise, with tokens, only the roles `service` and
    /// `operator`.
    pub public: bool,
    /// The apps that are named; all others are `other`.
    #[serde(deserialize_with = "listed")]
    pub apps: Vec<AppId>,
}

/// A list as it stands in a file, or with commas, as an environment variable has to say it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    List(Vec<String>),
    Text(String),
}

fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AppId>, D::Error> {
    let names = match Listed::deserialize(deserializer)? {
        Listed::List(names) => names,
        Listed::Text(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    let names = names.into_iter().filter(|name| !name.is_empty());
    names.map(|name| AppId::parse(name).map_err(D::Error::custom)).collect()
}

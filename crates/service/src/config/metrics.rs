use records::AppId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::listed;

/// Who may read the metrics, and which apps they name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Whether everybody may read them; otherwise, with tokens, only the roles `service` and
    /// `operator`.
    pub public: bool,
    /// The apps that are named; all others are `other`.
    #[serde(deserialize_with = "app_ids")]
    pub apps: Vec<AppId>,
}

fn app_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AppId>, D::Error> {
    let names = listed(deserializer)?.into_iter();
    names.map(|name| AppId::parse(name).map_err(D::Error::custom)).collect()
}

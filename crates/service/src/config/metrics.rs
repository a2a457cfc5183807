use std::collections::BTreeSet;

use records::AppId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::listed;

/// The settings of the metrics.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsConfig {
    /// Whether every caller may read the metrics. Otherwise, with authentication, only the roles `service` and
    /// `operator` may.
    pub public: bool,
    /// The apps with labels of their own; all others are labelled `other`.
    #[serde(deserialize_with = "app_ids")]
    pub apps: Vec<AppId>,
}

fn app_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AppId>, D::Error> {
    let names = listed(deserializer)?.into_iter();
    let apps: BTreeSet<AppId> =
        names.map(|name| AppId::parse(name).map_err(D::Error::custom)).collect::<Result<_, _>>()?;
    // An app that is named twice would have every series twice.
    Ok(apps.into_iter().collect())
}

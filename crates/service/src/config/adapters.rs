use records::{AppId, WorkflowName};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// The other systems whose clients the service answers in their own shapes; each is off by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptersConfig {
    /// The chat sessions of Hecate.
    pub hecate: HecateConfig,
    /// The chat sessions of Yao.
    pub yao: YaoConfig,
}

/// The settings of the adapter for Yao.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct YaoConfig {
    /// Whether the routes are served, below `/yao/{app_id}`.
    pub enabled: bool,
    /// The app of the paths below `/v1/chat`, which name none.
    pub app_id: Option<AppId>,
}

/// The settings of the adapter for Hecate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HecateConfig {
    /// Whether the routes are served, below `/hecate/{app_id}`.
    pub enabled: bool,
    /// The app of the paths below `/hecate/v1`, which name none.
    pub app_id: Option<AppId>,
    /// The workflow of the chats that are created; `chat` by default.
    pub workflow_name: Option<WorkflowName>,
    /// The number of sessions in a list that states no limit, from 1 to 200.
    pub list_default: usize,
}

impl Default for HecateConfig {
    fn default() -> Self {
        Self { enabled: false, app_id: None, workflow_name: None, list_default: 50 }
    }
}

impl HecateConfig {
    /// The most sessions in a list.
    pub(crate) const LIST_MAX: usize = 200;

    /// Checks the settings.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if (1..=Self::LIST_MAX).contains(&self.list_default) {
            return Ok(());
        }
        let rule = format!("it must be from 1 to {}", Self::LIST_MAX);
        Err(ConfigError::Unusable { name: "adapters.hecate.list_default", rule })
    }
}

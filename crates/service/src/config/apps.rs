use std::time::Duration;

use records::{Retention, Visibility};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// The settings of the registry of apps.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "AppsFields", into = "AppsFields")]
pub struct AppsConfig {
    /// Whether apps that are not registered are refused.
    pub require_registered: bool,
    /// How long the status and the settings of an app are cached, from 0 to 60,000. A change by another process
    /// applies after that time at the latest.
    pub cache_ms: u64,
    /// What holds for the chats of every app that has no settings of its own.
    pub settings: AppSettings,
}

impl Default for AppsConfig {
    fn default() -> Self {
        Self { require_registered: false, cache_ms: 3_000, settings: AppSettings::default() }
    }
}

impl AppsConfig {
    pub(crate) fn cache(&self) -> Duration {
        Duration::from_millis(self.cache_ms)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const MAX_CACHE_MS: u64 = 60_000;
        if self.cache_ms > MAX_CACHE_MS {
            return Err(ConfigError::Cache { cache_ms: self.cache_ms });
        }
        let Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        } = self.settings.retention;
        for days in [
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        ] {
            if days > Retention::MAX_DAYS {
                return Err(ConfigError::Retention { days });
            }
        }
        Ok(())
    }
}

/// The settings of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppSettings {
    /// The visibility of a new chat that states none: `private`, `team`, `link` or `app`.
    pub default_visibility: Visibility,
    /// Whether users may run the workflows of their own chats, instead of a program with the role `service`.
    pub users_may_run: bool,
    /// Whether people with the role `support` may read, say and manage in every chat.
    pub support_access: bool,
    /// For how long chats and runs of tools are kept, and when chats are archived, each from 0, for ever, to 36,500 days.
    pub retention: Retention,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            default_visibility: Visibility::default(),
            users_may_run: false,
            support_access: false,
            retention: Retention { deleted_days: 30, tool_run_days: 30, ..Retention::default() },
        }
    }
}

/// The settings of the registry of apps as they are written, in one table.
///
/// A flattened struct would not read them from the environment, where every value is a string.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AppsFields {
    require_registered: bool,
    cache_ms: u64,
    default_visibility: Visibility,
    users_may_run: bool,
    support_access: bool,
    completed_days: u32,
    failed_days: u32,
    abandoned_days: u32,
    deleted_days: u32,
    tool_run_days: u32,
    archive_after_days: u32,
}

impl Default for AppsFields {
    fn default() -> Self {
        AppsConfig::default().into()
    }
}

impl From<AppsConfig> for AppsFields {
    fn from(config: AppsConfig) -> Self {
        let AppsConfig { require_registered, cache_ms, settings } = config;
        let AppSettings { default_visibility, users_may_run, support_access, retention } = settings;
        let Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        } = retention;
        Self {
            require_registered,
            cache_ms,
            default_visibility,
            users_may_run,
            support_access,
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        }
    }
}

impl From<AppsFields> for AppsConfig {
    fn from(fields: AppsFields) -> Self {
        let AppsFields { require_registered, cache_ms, .. } = fields;
        let AppsFields { default_visibility, users_may_run, support_access, .. } = fields;
        let AppsFields {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
            ..
        } = fields;
        let retention = Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        };
        let settings = AppSettings { default_visibility, users_may_run, support_access, retention };
        Self { require_registered, cache_ms, settings }
    }
}

use std::sync::Arc;

use moka::sync::Cache;
use persistence::{Store, StoreError};
use records::{AppId, AppStatus};

use crate::config::{AppSettings, AppsConfig};
use crate::problem::{Problem, ProblemKind};

/// The most apps whose status is cached.
const MAX_APPS: u64 = 10_000;

/// Tells which apps may be used, from a cache in front of the store.
#[derive(Debug)]
pub(crate) struct AppRegistry {
    store: Arc<dyn Store>,
    require_registered: bool,
    settings: AppSettings,
    /// `None` for an app that is not registered.
    statuses: Cache<AppId, Option<AppStatus>>,
}

impl AppRegistry {
    pub(crate) fn new(store: Arc<dyn Store>, config: &AppsConfig) -> Self {
        let statuses = Cache::builder().max_capacity(MAX_APPS).time_to_live(config.cache());
        let AppsConfig { require_registered, settings, .. } = config.clone();
        Self { store, require_registered, settings, statuses: statuses.build() }
    }

    /// Returns the settings of an app. Refuses one that is disabled, and one that is not registered where registration
    /// is required.
    pub(crate) async fn check(&self, app_id: &AppId) -> Result<&AppSettings, Problem> {
        match self.status(app_id).await? {
            Some(AppStatus::Disabled) => {
                let detail = format!("app {app_id} is disabled; an operator can enable it");
                Err(Problem::new(ProblemKind::APP_DISABLED, detail))
            }
            None if self.require_registered => {
                let detail =
                    format!("app {app_id} is not registered; an operator must register it");
                Err(Problem::new(ProblemKind::INVALID_APP_ID, detail))
            }
            _ => Ok(&self.settings),
        }
    }

    /// Removes an app from the cache, after this process has changed it.
    pub(crate) fn forget(&self, app_id: &AppId) {
        self.statuses.invalidate(app_id);
    }

    async fn status(&self, app_id: &AppId) -> Result<Option<AppStatus>, StoreError> {
        if let Some(known) = self.statuses.get(app_id) {
            return Ok(known);
        }
        let status = self.store.get_app(app_id).await?.map(|app| app.status);
        self.statuses.insert(app_id.clone(), status);
        Ok(status)
    }
}

use std::sync::Arc;

use moka::sync::Cache;
use persistence::{Store, StoreError};
use records::{AppId, AppStatus};

use crate::config::AppsConfig;
use crate::problem::{Problem, ProblemKind};

/// Most apps whose status is remembered.
const MAX_APPS: u64 = 10_000;

/// Tells which apps may be called, without asking the store each time.
#[derive(Debug)]
pub(crate) struct AppRegistry {
    store: Arc<dyn Store>,
    require_registered: bool,
    /// `None` for an app that is not registered.
    known: Cache<AppId, Option<AppStatus>>,
}

impl AppRegistry {
    pub(crate) fn new(store: Arc<dyn Store>, config: &AppsConfig) -> Self {
        let known = Cache::builder().max_capacity(MAX_APPS).time_to_live(config.cache());
        Self { store, require_registered: config.require_registered, known: known.build() }
    }

    /// Refuses an app that is disabled, and one that is not registered but has to be.
    pub(crate) async fn check(&self, app_id: &AppId) -> Result<(), Problem> {
        match self.status(app_id).await? {
            Some(AppStatus::Disabled) => {
                let detail = format!("app {app_id} is disabled");
                Err(Problem::new(ProblemKind::APP_DISABLED, detail))
            }
            None if self.require_registered => {
                let detail = format!("app {app_id} is not registered");
                Err(Problem::new(ProblemKind::INVALID_APP_ID, detail))
            }
            _ => Ok(()),
        }
    }

    /// Has the store asked anew for an app that was changed here.
    pub(crate) fn forget(&self, app_id: &AppId) {
        self.known.invalidate(app_id);
    }

    async fn status(&self, app_id: &AppId) -> Result<Option<AppStatus>, StoreError> {
        if let Some(known) = self.known.get(app_id) {
            return Ok(known);
        }
        let status = self.store.get_app(app_id).await?.map(|app| app.status);
        self.known.insert(app_id.clone(), status);
        Ok(status)
    }
}

use std::sync::Arc;

use moka::sync::Cache;
use persistence::{Store, StoreError};
use records::{AppId, AppStatus, OwnSettings};

use crate::config::{AppSettings, AppsConfig};
use crate::problem::{Problem, ProblemKind};

/// The most apps that are cached.
const MAX_APPS: u64 = 10_000;

/// Tells which apps may be used, and with which settings, from a cache in front of the store.
#[derive(Debug)]
pub(crate) struct AppRegistry {
    store: Arc<dyn Store>,
    require_registered: bool,
    /// The settings of an app that has none of its own.
    settings: AppSettings,
    /// `None` for an app that is not registered.
    apps: Cache<AppId, Option<Registered>>,
}

/// What is cached of a registered app.
#[derive(Debug, Clone, Copy)]
struct Registered {
    status: AppStatus,
    /// Its own, and those of the service where it has none.
    settings: AppSettings,
}

impl AppRegistry {
    pub(crate) fn new(store: Arc<dyn Store>, config: &AppsConfig) -> Self {
        let apps = Cache::builder().max_capacity(MAX_APPS).time_to_live(config.cache()).build();
        let AppsConfig { require_registered, settings, .. } = *config;
        Self { store, require_registered, settings, apps }
    }

    /// Returns the settings of an app. Refuses one that is disabled, and one that is not registered where registration
    /// is required.
    pub(crate) async fn check(&self, app_id: &AppId) -> Result<AppSettings, Problem> {
        match self.registered(app_id).await? {
            Some(Registered { status: AppStatus::Disabled, .. }) => {
                let detail = format!("app {app_id} is disabled; an operator can enable it");
                Err(Problem::new(ProblemKind::APP_DISABLED, detail))
            }
            None if self.require_registered => {
                let detail =
                    format!("app {app_id} is not registered; an operator must register it");
                Err(Problem::new(ProblemKind::INVALID_APP_ID, detail))
            }
            None => Ok(self.settings),
            Some(app) => Ok(app.settings),
        }
    }

    /// Removes an app from the cache, after this process has changed it.
    pub(crate) fn forget(&self, app_id: &AppId) {
        self.apps.invalidate(app_id);
    }

    async fn registered(&self, app_id: &AppId) -> Result<Option<Registered>, StoreError> {
        if let Some(known) = self.apps.get(app_id) {
            return Ok(known);
        }
        let app = self.store.get_app(app_id).await?;
        let app = app.map(|app| Registered {
            status: app.status,
            settings: self.settings.overridden_by(&app.settings),
        });
        self.apps.insert(app_id.clone(), app);
        Ok(app)
    }
}

impl AppSettings {
    /// Returns the settings of an app that has these settings of its own.
    pub(crate) fn overridden_by(self, own: &OwnSettings) -> Self {
        Self {
            default_visibility: own.default_visibility.unwrap_or(self.default_visibility),
            users_may_run: own.users_may_run.unwrap_or(self.users_may_run),
            support_access: own.support_access.unwrap_or(self.support_access),
            retention: self.retention.overridden_by(own.retention),
        }
    }

    /// Refuses support in an app that does not admit it.
    pub(crate) fn admit_support(self) -> Result<(), Problem> {
        if self.support_access {
            return Ok(());
        }
        let detail = "the app does not admit support to its chats; see its setting support_access";
        Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
    }
}

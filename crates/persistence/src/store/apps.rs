use async_trait::async_trait;
use records::{Actor, App, AppId, AppStatus, SettingsChange};

use crate::StoreError;

/// Stores the registry of apps.
///
/// These calls are for operators and take no scope. A change takes its actor, and writes an entry of the
/// [audit log](super::AuditLog).
#[async_trait]
pub trait Apps: Send + Sync {
    /// Registers an app, enabled.
    ///
    /// Safe to repeat: an app that is already registered is returned unchanged, enabled or disabled.
    async fn register_app(&self, actor: &Actor, app_id: &AppId) -> Result<App, StoreError>;

    /// Returns an app, or `None` if it is not registered.
    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError>;

    /// Lists the apps after `after`, in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError>;

    /// Disables or enables an app.
    ///
    /// Safe to repeat: an app that already has the status is returned unchanged, with its times. If
    /// the app is not registered: [`AppNotFound`](StoreError::AppNotFound).
    async fn set_app_status(
        &self,
        actor: &Actor,
        app_id: &AppId,
        status: AppStatus,
    ) -> Result<App, StoreError>;

    /// Changes settings of an app.
    ///
    /// Safe to repeat: an app that already has these settings is returned unchanged, with its times. If
    /// the app is not registered: [`AppNotFound`](StoreError::AppNotFound).
    async fn update_app(
        &self,
        actor: &Actor,
        app_id: &AppId,
        change: SettingsChange,
    ) -> Result<App, StoreError>;
}

/// A page of apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPage {
    /// The apps.
    pub apps: Vec<App>,
    /// The app after which the next page begins, if there is a next page.
    pub next: Option<AppId>,
}

impl AppPage {
    /// Makes a page of the first `limit` apps.
    pub(crate) fn cut(mut apps: Vec<App>, limit: usize) -> Self {
        let last = super::cut(&mut apps, limit);
        let next = last.map(|app| app.app_id.clone());
        Self { apps, next }
    }
}

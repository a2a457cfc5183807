use async_trait::async_trait;
use records::{App, AppId, AppStatus};

use crate::StoreError;

/// Keeps the registry of apps.
///
/// It is about apps as such, and for operators: these calls take no scope.
#[async_trait]
pub trait Apps: Send + Sync {
    /// Registers an app, enabled.
    ///
    /// One that is registered already is answered as it is, disabled or not: repeating is safe.
    async fn register_app(&self, app_id: &AppId) -> Result<App, StoreError>;

    /// Returns an app, or `None` where it is not registered.
    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError>;

    /// Lists the apps after one, in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError>;

    /// Disables or enables an app.
    ///
    /// One that is so already is answered as it is and its times do not move: repeating is safe.
    /// One that is not registered is [`AppNotFound`](StoreError::AppNotFound).
    async fn set_app_status(&self, app_id: &AppId, status: AppStatus) -> Result<App, StoreError>;
}

/// A page of apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppPage {
    /// The apps.
    pub apps: Vec<App>,
    /// After which one the next page begins, when there is one.
    pub next: Option<AppId>,
}

impl AppPage {
    /// Makes a page of the first `limit` of the apps given.
    pub(crate) fn cut(mut apps: Vec<App>, limit: usize) -> Self {
        let last = super::cut(&mut apps, limit);
        let next = last.map(|app| app.app_id.clone());
        Self { apps, next }
    }
}

use std::ops::Bound;

use async_trait::async_trait;
use records::{Actor, App, AppId, AppStatus, AuditAction, OwnSettings, SettingsChange};

use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::{Audited, registry_action};
use crate::store::{AppPage, Apps};

#[async_trait]
impl Apps for MemoryStore {
    async fn register_app(&self, actor: &Actor, app_id: &AppId) -> Result<App, StoreError> {
        self.observe(Call::RegisterApp, || {
            let now = self.clock.now();
            let mut apps = held(&self.apps);
            if let Some(app) = apps.get(app_id) {
                return Ok(app.clone());
            }
            let audited = Audited::of_registry(actor, Some(app_id), AuditAction::RegisterApp);
            self.add_audit_entry(&audited, now)?;
            let app = App {
                app_id: app_id.clone(),
                status: AppStatus::Enabled,
                settings: OwnSettings::default(),
                created_at: now,
                last_updated_at: now,
            };
            apps.insert(app_id.clone(), app.clone());
            Ok(app)
        })
        .await
    }

    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError> {
        self.observe(Call::GetApp, || Ok(held(&self.apps).get(app_id).cloned())).await
    }

    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError> {
        self.observe(Call::ListApps, || {
            let start = after.map_or(Bound::Unbounded, Bound::Excluded);
            let apps = held(&self.apps);
            let listed = apps.range((start, Bound::Unbounded)).map(|(_, app)| app.clone());
            Ok(AppPage::cut(listed.take(limit.saturating_add(1)).collect(), limit))
        })
        .await
    }

    async fn set_app_status(
        &self,
        actor: &Actor,
        app_id: &AppId,
        status: AppStatus,
    ) -> Result<App, StoreError> {
        self.observe(Call::SetAppStatus, || {
            let now = self.clock.now();
            let mut apps = held(&self.apps);
            let app =
                apps.get_mut(app_id).ok_or_else(|| StoreError::AppNotFound(app_id.clone()))?;
            if app.status != status {
                let action = registry_action(status);
                self.add_audit_entry(&Audited::of_registry(actor, Some(app_id), action), now)?;
                app.status = status;
                app.last_updated_at = now;
            }
            Ok(app.clone())
        })
        .await
    }

    async fn update_app(
        &self,
        actor: &Actor,
        app_id: &AppId,
        change: SettingsChange,
    ) -> Result<App, StoreError> {
        self.observe(Call::UpdateApp, || {
            let now = self.clock.now();
            let mut apps = held(&self.apps);
            let app =
                apps.get_mut(app_id).ok_or_else(|| StoreError::AppNotFound(app_id.clone()))?;
            let settings = app.settings.clone().changed_by(change);
            if app.settings != settings {
                let action = AuditAction::UpdateApp;
                self.add_audit_entry(&Audited::of_registry(actor, Some(app_id), action), now)?;
                app.settings = settings;
                app.last_updated_at = now;
            }
            Ok(app.clone())
        })
        .await
    }
}

use records::{App, OwnRetention, OwnSettings, Visibility};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use super::values;

/// A registered app.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = App)]
pub(crate) struct AppResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    /// `enabled` or `disabled`.
    #[schema(value_type = values::AppStatus)]
    status: &'static str,
    settings: SettingsResponse,
    created_at: Time,
    last_updated_at: Time,
}

/// The settings of an app. Where one is null, the setting of the service applies.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AppSettings)]
pub(crate) struct SettingsResponse {
    /// The visibility of a new chat that states none: `private`, `team`, `link` or `app`.
    #[schema(value_type = Option<values::Visibility>)]
    default_visibility: Option<&'static str>,
    /// Whether users may run the workflows of their own chats.
    users_may_run: Option<bool>,
    /// Whether tokens with the role `support` are admitted to chats.
    support_access: Option<bool>,
    /// Days that a completed chat is kept after its last activity; 0 is for ever.
    completed_days: Option<u32>,
    /// Days that a failed chat is kept after its last activity; 0 is for ever.
    failed_days: Option<u32>,
    /// Days that a running or paused chat is kept after its last activity; 0 is for ever.
    abandoned_days: Option<u32>,
    /// Days that a deleted chat is kept after its deletion; 0 is for ever.
    deleted_days: Option<u32>,
    /// Days that a run of a tool is kept after it was recorded; 0 is for ever.
    tool_run_days: Option<u32>,
    /// Days without activity after which an active chat is archived; 0 is never.
    archive_after_days: Option<u32>,
    /// The keys of the metadata by which chats are listed; null is none.
    #[schema(value_type = Option<values::MetadataKeys>)]
    metadata_keys: Option<Vec<String>>,
}

impl From<OwnSettings> for SettingsResponse {
    fn from(settings: OwnSettings) -> Self {
        let OwnSettings { default_visibility, support_access, users_may_run, .. } = settings;
        let OwnSettings { retention, metadata_keys, .. } = settings;
        let OwnRetention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        } = retention;
        Self {
            default_visibility: default_visibility.map(Visibility::as_str),
            users_may_run,
            support_access,
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
            metadata_keys: Some(metadata_keys.into()).filter(|keys: &Vec<_>| !keys.is_empty()),
        }
    }
}

impl From<App> for AppResponse {
    fn from(app: App) -> Self {
        Self {
            app_id: app.app_id.into(),
            status: app.status.as_str(),
            settings: app.settings.into(),
            created_at: app.created_at.into(),
            last_updated_at: app.last_updated_at.into(),
        }
    }
}

use chrono::{DateTime, Utc};

use crate::{AppId, FieldChange, MetadataKeys, OwnRetention, RetentionChange, Visibility};

/// A registered application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The id of the app.
    pub app_id: AppId,
    /// Whether the app may be used.
    pub status: AppStatus,
    /// The settings of the app.
    pub settings: OwnSettings,
    /// When the app was registered.
    pub created_at: DateTime<Utc>,
    /// When the app was last registered, disabled or enabled, or its settings were changed.
    pub last_updated_at: DateTime<Utc>,
}

/// Whether an app may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppStatus {
    /// The app may be used.
    Enabled,
    /// Every call to the app is refused; its records are kept.
    Disabled,
}

impl AppStatus {
    /// Every status.
    pub const ALL: [Self; 2] = [Self::Enabled, Self::Disabled];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

/// The settings of one app. The settings of the service apply in place of a missing one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnSettings {
    /// The visibility of a new chat that states none.
    pub default_visibility: Option<Visibility>,
    /// Whether people with the role `support` may read, say and manage in the chats of the app.
    pub support_access: Option<bool>,
    /// Whether users may run the workflows of their own chats.
    pub users_may_run: Option<bool>,
    /// For how long the chats of the app are kept.
    pub retention: OwnRetention,
    /// The keys of the metadata by which chats are listed; the service has no setting for them.
    pub metadata_keys: MetadataKeys,
}

/// A change of the settings of an app.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// The change of [`OwnSettings::default_visibility`].
    pub default_visibility: FieldChange<Visibility>,
    /// The change of [`OwnSettings::support_access`].
    pub support_access: FieldChange<bool>,
    /// The change of [`OwnSettings::users_may_run`].
    pub users_may_run: FieldChange<bool>,
    /// The change of [`OwnSettings::retention`].
    pub retention: RetentionChange,
    /// The change of [`OwnSettings::metadata_keys`].
    pub metadata_keys: FieldChange<MetadataKeys>,
}

impl OwnSettings {
    /// Returns the settings after a change.
    #[must_use]
    pub fn changed_by(self, change: SettingsChange) -> Self {
        let metadata_keys = change.metadata_keys.or_default().unwrap_or(self.metadata_keys);
        Self {
            default_visibility: change.default_visibility.applied_to(self.default_visibility),
            support_access: change.support_access.applied_to(self.support_access),
            users_may_run: change.users_may_run.applied_to(self.users_may_run),
            retention: self.retention.changed_by(change.retention),
            metadata_keys,
        }
    }
}

use chrono::{DateTime, Utc};

use crate::AppId;

/// A registered application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The id of the app.
    pub app_id: AppId,
    /// Whether the app may be used.
    pub status: AppStatus,
    /// When the app was registered.
    pub created_at: DateTime<Utc>,
    /// When the app was last registered, disabled or enabled.
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

use chrono::{DateTime, Utc};

use crate::AppId;

/// An application that is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The app.
    pub app_id: AppId,
    /// Whether it may be used.
    pub status: AppStatus,
    /// When it was registered.
    pub created_at: DateTime<Utc>,
    /// When it was last registered, disabled or enabled.
    pub last_updated_at: DateTime<Utc>,
}

/// Whether an app may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppStatus {
    /// It may.
    Enabled,
    /// Every call to it is refused; what it holds stays.
    Disabled,
}

impl AppStatus {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Enabled, Self::Disabled];

    /// Returns the word for it, as it stands on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

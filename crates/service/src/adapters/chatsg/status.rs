use chrono::{DateTime, TimeDelta, Utc};
use persistence::{ChatFilter, ChatOrder};
use records::{ChatSession, Clock as _, Lifecycle, SystemClock, minute_of};

use crate::config::ChatsgConfig;

/// The status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStatus {
    /// In use.
    Active,
    /// Not used for a while. No write sets it: it follows from the last activity.
    Inactive,
    Archived,
    Deleted,
}

impl SessionStatus {
    const ALL: [Self; 4] = [Self::Active, Self::Inactive, Self::Archived, Self::Deleted];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Archived => "archived",
            Self::Deleted => "deleted",
        }
    }

    fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Active | Self::Inactive => Lifecycle::Active,
            Self::Archived => Lifecycle::Archived,
            Self::Deleted => Lifecycle::Deleted,
        }
    }

    /// Parses statuses that are separated by commas.
    pub(super) fn parse_list(words: &str) -> Result<Vec<Self>, &'static str> {
        let named = |word: &str| Self::ALL.into_iter().find(|it| it.as_str() == word.trim());
        let statuses: Option<Vec<_>> = words.split(',').map(named).collect();
        statuses.ok_or("must be some of active, inactive, archived, deleted, separated by commas")
    }
}

/// Tells the active sessions from those that are inactive now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    /// A session that was last active before this minute is inactive.
    since: DateTime<Utc>,
}

impl Activity {
    /// Returns what is active now.
    pub(super) fn now(config: &ChatsgConfig) -> Self {
        let time = TimeDelta::minutes(config.inactive_after_minutes.into());
        let now = SystemClock.now();
        Self { since: minute_of(now.checked_sub_signed(time).unwrap_or(now)) }
    }

    pub(super) fn status_of(self, chat: &ChatSession) -> SessionStatus {
        match chat.lifecycle {
            Lifecycle::Active if chat.active_minute() < self.since => SessionStatus::Inactive,
            Lifecycle::Active => SessionStatus::Active,
            Lifecycle::Archived => SessionStatus::Archived,
            Lifecycle::Deleted | Lifecycle::Purged => SessionStatus::Deleted,
        }
    }

    /// Returns the list of the store that holds the sessions with these statuses, the last active first. It may hold other
    /// sessions, too, if [it is not exact](Self::is_exact).
    pub(super) fn list_of(self, statuses: &[SessionStatus]) -> ChatFilter {
        let mut lifecycles: Vec<_> = statuses.iter().map(|status| status.lifecycle()).collect();
        lifecycles.sort();
        lifecycles.dedup();
        let is_only = |status| statuses.iter().all(|it| *it == status);
        ChatFilter {
            order: ChatOrder::Active,
            active_from: is_only(SessionStatus::Active).then_some(self.since),
            active_before: is_only(SessionStatus::Inactive).then_some(self.since),
            lifecycles,
            ..ChatFilter::default()
        }
    }

    /// Returns whether that list holds no other sessions.
    pub(super) fn is_exact(statuses: &[SessionStatus]) -> bool {
        let has = |status| statuses.contains(&status);
        let both = has(SessionStatus::Active) == has(SessionStatus::Inactive);
        let others = has(SessionStatus::Archived) || has(SessionStatus::Deleted);
        both || !others
    }
}

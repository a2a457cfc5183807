use chrono::{DateTime, TimeDelta, Utc};

use crate::{ChatSession, ChatStatus, FieldChange, Lifecycle};

/// For how many days chats, and runs of tools, are kept. 0 is for ever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Days that a completed chat is kept after its last activity.
    pub completed_days: u32,
    /// Days that a failed chat is kept after its last activity.
    pub failed_days: u32,
    /// Days that a running or paused chat is kept after its last activity.
    pub abandoned_days: u32,
    /// Days that a deleted chat is kept after its deletion.
    pub deleted_days: u32,
    /// Days that a run of a tool is kept after it was recorded.
    pub tool_run_days: u32,
    /// Days without activity after which an active chat is archived. 0 is never.
    pub archive_after_days: u32,
}

/// The retention of one app. If a field is missing, that of the service applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnRetention {
    /// See [`Retention::completed_days`].
    pub completed_days: Option<u32>,
    /// See [`Retention::failed_days`].
    pub failed_days: Option<u32>,
    /// See [`Retention::abandoned_days`].
    pub abandoned_days: Option<u32>,
    /// See [`Retention::deleted_days`].
    pub deleted_days: Option<u32>,
    /// See [`Retention::tool_run_days`].
    pub tool_run_days: Option<u32>,
    /// See [`Retention::archive_after_days`].
    pub archive_after_days: Option<u32>,
}

/// A change of the retention of an app.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionChange {
    /// The change of [`OwnRetention::completed_days`].
    pub completed_days: FieldChange<u32>,
    /// The change of [`OwnRetention::failed_days`].
    pub failed_days: FieldChange<u32>,
    /// The change of [`OwnRetention::abandoned_days`].
    pub abandoned_days: FieldChange<u32>,
    /// The change of [`OwnRetention::deleted_days`].
    pub deleted_days: FieldChange<u32>,
    /// The change of [`OwnRetention::tool_run_days`].
    pub tool_run_days: FieldChange<u32>,
    /// The change of [`OwnRetention::archive_after_days`].
    pub archive_after_days: FieldChange<u32>,
}

impl OwnRetention {
    /// Returns the retention after a change.
    #[must_use]
    pub fn changed_by(self, change: RetentionChange) -> Self {
        Self {
            completed_days: change.completed_days.applied_to(self.completed_days),
            failed_days: change.failed_days.applied_to(self.failed_days),
            abandoned_days: change.abandoned_days.applied_to(self.abandoned_days),
            deleted_days: change.deleted_days.applied_to(self.deleted_days),
            tool_run_days: change.tool_run_days.applied_to(self.tool_run_days),
            archive_after_days: change.archive_after_days.applied_to(self.archive_after_days),
        }
    }
}

/// Why a chat is due to be purged, or archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Due {
    /// It was completed long ago.
    Completed,
    /// It failed long ago.
    Failed,
    /// It is running or paused, and nothing has happened in it for long.
    Abandoned,
    /// It was deleted long ago.
    Deleted,
    /// It is active, and nothing has happened in it for a while. It is archived; for all other reasons it is purged.
    Inactive,
}

impl Due {
    /// Every reason to purge a chat.
    pub const PURGES: [Self; 4] = [Self::Completed, Self::Failed, Self::Abandoned, Self::Deleted];

    /// Every reason.
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::Failed, Self::Abandoned, Self::Deleted, Self::Inactive];

    /// Returns the name on the command line and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
            Self::Deleted => "deleted",
            Self::Inactive => "inactive",
        }
    }

    /// Returns the statuses of the chats that are due for this reason.
    pub fn statuses(self) -> &'static [ChatStatus] {
        match self {
            Self::Completed => &[ChatStatus::Completed],
            Self::Failed => &[ChatStatus::Failed],
            Self::Abandoned => &[ChatStatus::Running, ChatStatus::Paused],
            Self::Deleted | Self::Inactive => &ChatStatus::ALL,
        }
    }

    /// Returns the time from which the days of retention count: the last activity of a chat, or its deletion; `None`
    /// if it was not deleted.
    pub fn since(self, chat: &ChatSession) -> Option<DateTime<Utc>> {
        match self {
            Self::Deleted => chat.lifecycle_at,
            Self::Completed | Self::Failed | Self::Abandoned | Self::Inactive => {
                Some(chat.last_updated_at)
            }
        }
    }

    /// Returns whether a chat has been due for this reason since `before`: nothing has happened in it since, or it was
    /// deleted before. A chat under hold is never due.
    pub fn includes(self, chat: &ChatSession, before: DateTime<Utc>) -> bool {
        let is_of_lifecycle = match self {
            Self::Deleted => chat.lifecycle == Lifecycle::Deleted,
            Self::Inactive => chat.lifecycle == Lifecycle::Active,
            Self::Completed | Self::Failed | Self::Abandoned => chat.lifecycle.exists(),
        };
        chat.hold.is_none()
            && is_of_lifecycle
            && self.statuses().contains(&chat.status)
            && self.since(chat).is_some_and(|since| since <= before)
    }
}

impl Retention {
    /// The most days: 100 years.
    pub const MAX_DAYS: u32 = 36_500;

    /// Returns the retention of an app that has this one of its own.
    #[must_use]
    pub fn overridden_by(self, own: OwnRetention) -> Self {
        Self {
            completed_days: own.completed_days.unwrap_or(self.completed_days),
            failed_days: own.failed_days.unwrap_or(self.failed_days),
            abandoned_days: own.abandoned_days.unwrap_or(self.abandoned_days),
            deleted_days: own.deleted_days.unwrap_or(self.deleted_days),
            tool_run_days: own.tool_run_days.unwrap_or(self.tool_run_days),
            archive_after_days: own.archive_after_days.unwrap_or(self.archive_after_days),
        }
    }

    /// Returns the time before which a chat must have been left alone to be due for a reason; `None` if it never is.
    pub fn cutoff(&self, due: Due, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let days = match due {
            Due::Completed => self.completed_days,
            Due::Failed => self.failed_days,
            Due::Abandoned => self.abandoned_days,
            Due::Deleted => self.deleted_days,
            Due::Inactive => self.archive_after_days,
        };
        days_before(days, now)
    }

    /// Returns the reasons that are given days, each with the time from which on chats are not due.
    pub fn cutoffs(&self, now: DateTime<Utc>) -> Vec<(Due, DateTime<Utc>)> {
        Due::ALL.into_iter().filter_map(|due| Some((due, self.cutoff(due, now)?))).collect()
    }

    /// Returns the time up to which a run of a tool must have been recorded to be removed; `None` if it never is.
    pub fn tool_run_cutoff(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        days_before(self.tool_run_days, now)
    }
}

fn days_before(days: u32, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    if days == 0 { None } else { now.checked_sub_signed(TimeDelta::days(days.into())) }
}

/// Keeps a chat from being purged, such as for a dispute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Why, for operators.
    pub reason: String,
    /// When the hold began.
    pub since: DateTime<Utc>,
}

impl Hold {
    /// The most characters of a reason.
    pub const REASON_CHARS: usize = 1_000;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AppId, ChatId, NewChatSession, WorkflowName};

    fn day(day: u32) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(day.into())
    }

    #[test]
    fn days_count_from_the_last_activity_or_the_deletion() {
        let (app_id, chat_id) = (AppId::parse("app").unwrap(), ChatId::parse("chat").unwrap());
        let new = NewChatSession::of(WorkflowName::parse("research").unwrap());
        let mut chat = ChatSession::start(app_id, chat_id, new, day(1));
        (chat.lifecycle, chat.lifecycle_at) = (Lifecycle::Archived, Some(day(2)));
        chat.last_updated_at = day(3);
        assert_eq!(Due::Abandoned.since(&chat), Some(day(3)), "archiving is no activity");
        (chat.lifecycle, chat.lifecycle_at) = (Lifecycle::Deleted, Some(day(4)));
        chat.last_updated_at = day(5);
        assert_eq!(Due::Deleted.since(&chat), Some(day(4)));
    }
}

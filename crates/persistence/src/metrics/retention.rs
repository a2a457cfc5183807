use records::Due;

use super::family::Family;
use super::instrument::Counter;
use super::label::{By, label};

label! {
    /// What retention does, and what is done on request.
    RetentionAction: "action" {
        PurgeRequested = "purge_requested",
        PurgeCompleted = "purge_completed",
        PurgeFailed = "purge_failed",
        PurgeAbandoned = "purge_abandoned",
        PurgeDeleted = "purge_deleted",
        Archive = "archive",
        RemoveToolRun = "remove_tool_run",
        EraseUser = "erase_user",
    }
}

impl From<Due> for RetentionAction {
    fn from(due: Due) -> Self {
        match due {
            Due::Completed => Self::PurgeCompleted,
            Due::Failed => Self::PurgeFailed,
            Due::Abandoned => Self::PurgeAbandoned,
            Due::Deleted => Self::PurgeDeleted,
            Due::Inactive => Self::Archive,
        }
    }
}

/// What was purged, archived, removed and erased.
#[derive(Debug, Default)]
pub(crate) struct RetentionMetrics {
    actions: By<RetentionAction, Counter>,
}

impl RetentionMetrics {
    /// Counts the purge of a chat; without a reason it was requested.
    pub(crate) fn purged(&self, due: Option<Due>) {
        self.did(due.map_or(RetentionAction::PurgeRequested, RetentionAction::from), 1);
    }

    pub(crate) fn did(&self, action: RetentionAction, count: u64) {
        self.actions.of(action).add(usize::try_from(count).unwrap_or(usize::MAX));
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![Family::counter(
            "reprise_store_retention_actions_total",
            "Chats that were purged or archived, runs of tools that were removed, and persons who were erased.",
            &self.actions,
        )]
    }
}

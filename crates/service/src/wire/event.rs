use persistence::ChatHead;
use serde::Serialize;
use utoipa::ToSchema;

use super::values;

/// With `caught-up`: the state of the chat once the subscriber has everything there is.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CaughtUp)]
pub(crate) struct CaughtUpResponse {
    /// The sequence of the last message, -1 for an empty chat.
    #[schema(example = 41)]
    sequence: i64,
    /// The number of edits and deletions of messages so far.
    revision: u64,
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(value_type = values::ChatStatus)]
    status: &'static str,
    /// Why the chat was paused or failed.
    status_reason: Option<String>,
    /// The number of times the context snapshot has been written.
    context_version: u64,
    /// The number of times the last artifact has been replaced or removed.
    artifact_version: u64,
    /// The number of times the chat session itself has been changed, such as its title.
    session_version: u64,
    /// `active` or `archived`.
    #[schema(value_type = values::Lifecycle)]
    lifecycle: &'static str,
    /// The ids of the pending input requests; an `input-request` event for each follows.
    pending_inputs: Vec<String>,
}

impl CaughtUpResponse {
    /// Describes a chat to a subscriber that has its messages up to a sequence, and its edits up to a revision.
    pub(crate) fn new(head: &ChatHead, sequence: i64, revision: u64) -> Self {
        Self {
            sequence,
            revision,
            status: head.status.as_str(),
            status_reason: head.status_reason.clone(),
            context_version: head.context_version,
            artifact_version: head.artifact_version,
            session_version: head.session_version,
            lifecycle: head.lifecycle.as_str(),
            pending_inputs: head.pending_inputs.iter().map(ToString::to_string).collect(),
        }
    }
}

/// With `status`: the new status of the chat.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = StatusChanged)]
pub(crate) struct StatusResponse {
    /// `running`, `paused`, `completed` or `failed`.
    #[schema(value_type = values::ChatStatus)]
    status: &'static str,
    /// Why the chat was paused or failed.
    status_reason: Option<String>,
}

impl From<&ChatHead> for StatusResponse {
    fn from(head: &ChatHead) -> Self {
        Self { status: head.status.as_str(), status_reason: head.status_reason.clone() }
    }
}

/// With `context`, `artifact` and `chat`: it has changed; read it to get the new one.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = VersionChanged)]
pub(crate) struct VersionResponse {
    /// The number of changes so far.
    #[schema(example = 3)]
    pub(crate) version: u64,
}

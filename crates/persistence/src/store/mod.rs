//! The contracts: what every call of a store promises.
//!
//! These hold for every backend:
//!
//! - Each call takes a [`Scope`](records::Scope). Exceptions are the calls of operators, the stream
//!   of changes, which is for the process itself, and the redemption of a ticket, which
//!   returns the caller. A chat that the caller may not read does not exist for the caller: the result
//!   is [`ChatNotFound`](crate::StoreError::ChatNotFound), as for an id that was never used. A chat that
//!   the caller may read, without the permission of the scope, is
//!   [`Forbidden`](crate::StoreError::Forbidden).
//! - A call that returns `Ok` is durable: it survives the loss of any one database process.
//! - A write under a lease that is gone is [`Fenced`](crate::StoreError::Fenced), see [`Leases`].
//! - A call that returns an error has changed nothing, except for
//!   [`OutcomeUnknown`](crate::StoreError::OutcomeUnknown).
//! - JSON is returned as it was sent, with any keys. A value that cannot be stored is
//!   [`Invalid`](crate::StoreError::Invalid), with its location.

mod access_keys;
mod app_documents;
mod apps;
mod artifacts;
mod assistants;
mod audit;
mod calls;
mod changes;
mod chat_sessions;
mod context_history;
mod contexts;
mod erasures;
mod exchanges;
mod forks;
mod input_requests;
mod integrity;
mod interest;
mod leases;
mod members;
mod messages;
mod participants;
mod presence;
mod purges;
mod resumption;
mod revocations;
mod search;
mod stats;
mod streams;
mod tickets;
mod tool_runs;
mod turns;
mod wallets;
mod webhook_events;
mod written;

pub use access_keys::{AccessKeyPage, AccessKeys};
pub use app_documents::{
    AppDocuments, AppendCondition, AppendedDocument, DeletedDocuments, DocumentChange,
    DocumentContent, DocumentFilter, DocumentPage, DocumentRange, NamespacePage, PutCondition,
};
pub use apps::{AppPage, Apps};
pub use artifacts::Artifacts;
pub use assistants::{
    AssistantCursor, AssistantFilter, AssistantPage, AssistantTags, Assistants, DeletedAssistants,
};
pub use audit::{AuditCursor, AuditFilter, AuditLog, AuditPage};
pub use calls::{
    Billing, CallCursor, CallPage, CallSummary, Calls, Payment, RecordedCall, Recording,
};
pub use changes::{Change, Changes, ChatChange, ChatHead};
pub use chat_sessions::{
    ChatCount, ChatFilter, ChatOrder, ChatSessions, Cursor, Direction, ListCursor, Page, Position,
};
pub(crate) use chat_sessions::{page_end, sort_page};
pub use context_history::{ContextHistory, ContextVersionPage};
pub use contexts::{Contexts, RecordVersions};
pub use erasures::{Erasures, Inherited, PersonChat, PersonChats, SearchPosition};
pub use exchanges::{Exchange, Exchanges};
pub use forks::Forks;
pub use input_requests::{
    AnsweredInput, InputCursor, InputPage, InputRequests, PendingCursor, PendingInputs,
    PendingOrder, RequestedInput,
};
pub use integrity::{Integrity, SigningPass, sign_all};
pub use interest::Interest;
pub(crate) use interest::Interests;
pub use leases::{Interrupted, Leases};
pub use members::Members;
pub use messages::{
    Append, Appended, DeletedMessage, Deletion, FilteredPage, HistoryPage, HistoryPages,
    MessageFilter, MessageRange, Messages, Outcome, Transcript, one_by_one,
};
pub use participants::{Joined, ParticipantCursor, ParticipantPage, Participants};
pub use presence::{ChatPresence, Presence};
pub use purges::{HoldPage, PURGED_AGAIN_AFTER_MINUTES, Purges};
pub(crate) use resumption::resume_points_too_large;
pub use resumption::{MessageSource, ResumeSnapshot, Resumption};
pub use revocations::{RevocationCursor, RevocationEntry, RevocationPage, Revocations};
pub use search::{CatchUp, Hit, HitPage, HitPosition, INDEX_LEASE, MessageSearch, Search};
pub(crate) use stats::most_expensive_first;
pub use stats::{
    ChatStats, ChatStatsPage, CountedApps, HourlyStats, HourlyUsage, Stats, UsageBy, UsageFilter,
    UsageOrder, UsageShares, UserStats, UserStatsCursor, UserStatsPage, UserUsage, WorkflowStats,
    WorkflowSummary,
};
pub use streams::{EndedStream, StreamChange, StreamProgress, Streams, Takeover};
pub use tickets::Tickets;
pub use tool_runs::{
    Began, DueToolRuns, RecordedCursor, RecordedToolRun, ToolRunCursor, ToolRunFilter, ToolRunPage,
    ToolRuns, ToolStats, ToolUsage,
};
pub use turns::{AppendedTurn, ResumePointCursor, ResumePointFilter, ResumePointPage, Turns};
pub use wallets::{EntryPage, WalletPage, Wallets};
pub use webhook_events::WebhookEvents;
pub use written::Written;

/// A complete store.
#[async_trait::async_trait]
pub trait Store:
    ChatSessions
    + Forks
    + Messages
    + Members
    + Participants
    + Presence
    + Contexts
    + ContextHistory
    + Artifacts
    + Changes
    + Calls
    + Exchanges
    + InputRequests
    + Leases
    + Resumption
    + Stats
    + Apps
    + AuditLog
    + Wallets
    + Tickets
    + AccessKeys
    + Revocations
    + Turns
    + Purges
    + Erasures
    + Search
    + Integrity
    + ToolRuns
    + WebhookEvents
    + Assistants
    + AppDocuments
    + Streams
    + std::fmt::Debug
{
    /// Returns once the store can be read and written, or returns the error that prevents it.
    async fn ping(&self) -> Result<(), crate::StoreError>;

    /// Returns the metrics of the store.
    fn metrics(&self) -> &crate::metrics::StoreMetrics;
}

/// Truncates a list to `limit` items. Returns the last remaining item if more items followed it.
pub(crate) fn cut<T>(items: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    items.last().filter(|_| has_more)
}

//! The stored shapes, and nothing but them: records to documents and back.
//!
//! Most records have a struct whose name ends in `Document`. It lists the fields in the order in which they
//! are stored; [`stored`] reads and writes it with serde, and its neighbours in the same file convert it to
//! the record. Caller JSON in it is [`Json`](super::engine::json::Json), which does not look at keys.
//!
//! Messages, segments, tails and lineages are read field by field through [`fields::Fields`] instead
//! (decision 0031): 10,000 messages take 11.4 ms this way and 14 to 17 ms through structs, the extra fields
//! of a message keep their order, and a reader that wants a few fields of a session does not walk through
//! its messages. The sums of rollups are read in the same way, because their names are those of counters.

mod app;
mod blob;
mod chat_session;
mod context_version;
mod document_name;
pub(crate) mod field;
pub(crate) mod fields;
mod input_request;
mod lineage;
mod message;
mod message_version;
mod participant;
mod presence;
mod provider_call;
mod resume_point;
mod rollup;
mod segment;
mod status_change;
mod store_format;
pub(crate) mod stored;
mod ticket;
mod time;
mod turn_without_messages;
mod wallet;
mod word;

#[cfg(test)]
mod fixtures;

use bson::Binary;
use bson::spec::BinarySubtype;

pub(crate) use app::{AppDocument, app_record};
pub(crate) use blob::{BlobDocument, BlobKind, blob_data, blob_id, blob_range, one_blob};
pub(crate) use chat_session::{
    ArtifactDocument, ChatSessionDocument, LeaseDocument, Tail, WITHOUT_LARGE_FIELDS,
    append_turn_mark, artifact_record, chat_head_record, chat_session_record, head_projection,
    lease_record, open_chat_session, recent_digest, recent_turn, status_of,
};
pub(crate) use context_version::{
    StoredContext, context_version_id, context_versions_between, replaced_context, written_document,
};
pub(crate) use input_request::{
    InputRequestDocument, PENDING, StoredInput, closing_fields, input_app, input_key, input_record,
};
pub(crate) use lineage::{Base, Lineage};
pub(crate) use message::{MESSAGE_OVERHEAD, StoredMessage, known_messages, message_document};
pub(crate) use message_version::{VersionKey, version_document, version_message, versions_by};
pub(crate) use participant::{
    ParticipantDocument, StoredParticipant, participant_records, participants_with,
    participants_without,
};
pub(crate) use presence::{announced_record, announcement, presence_id, present_in};
pub(crate) use provider_call::{CallDocument, call_key, call_record, open_call};
pub(crate) use resume_point::{
    ResumePointDocument, TurnPoints, point_digest, point_record, points_in, points_of,
};
pub(crate) use rollup::{
    AGENT, CHAT, MODEL, StoredRollup, WORKFLOW, chat_stats, rollup_id, rollup_statement,
    rollup_sums, rollup_update,
};
pub(crate) use segment::{
    LINK, Segment, SegmentHead, segment_document, segment_id, segments_between,
};
pub(crate) use status_change::{StatusChangeDocument, status_change_id, status_change_record};
pub(crate) use store_format::{FormatDocument, format_number, one_format, raised_format};
pub(crate) use stored::{embedded, encode};
pub(crate) use ticket::{TicketDocument, ticket_record};
pub(crate) use turn_without_messages::{
    TurnWithoutMessagesDocument, turn_without_messages, turn_without_messages_digest,
};
pub(crate) use wallet::{
    EntryDocument, LineDocument, StoredWallet, WalletDocument, line_id, line_record, one_wallet,
    stored_wallet, wallet_id, wallets_after,
};

/// Chat sessions, each with the tail of its messages.
pub(crate) const CHAT_SESSIONS: &str = "chat_sessions";
/// Sealed messages.
pub(crate) const CHAT_SEGMENTS: &str = "chat_segments";
/// Messages that several chats share, as one of them has changed them.
pub(crate) const MESSAGE_VERSIONS: &str = "message_versions";
/// Large context snapshots and artifact payloads.
pub(crate) const CHAT_BLOBS: &str = "chat_blobs";
/// Context snapshots that were replaced.
pub(crate) const CONTEXT_SNAPSHOTS: &str = "context_snapshots";
/// Those who take part in chats.
pub(crate) const CHAT_PARTICIPANTS: &str = "chat_participants";
/// The connections over which people listen to chats.
pub(crate) const PRESENCE: &str = "presence";
/// Calls of models.
pub(crate) const PROVIDER_CALLS: &str = "provider_calls";
/// The questions of workflows.
pub(crate) const INPUT_REQUESTS: &str = "input_requests";
/// The steps from which turns can be resumed.
pub(crate) const RESUME_POINTS: &str = "resume_points";
/// The turns that have no messages, by which alone their names are known for good.
pub(crate) const TURNS_WITHOUT_MESSAGES: &str = "turns_without_messages";
/// The moves of chats from one status to another.
pub(crate) const STATUS_CHANGES: &str = "status_changes";
/// What the chats and calls of a workflow add up to.
pub(crate) const WORKFLOW_STATS: &str = "workflow_stats";
/// The registry of apps.
pub(crate) const APPS: &str = "apps";
/// Wallets, each with its newest entries.
pub(crate) const WALLETS: &str = "wallets";
/// The older entries of wallets, a line each.
pub(crate) const WALLET_ENTRIES: &str = "wallet_entries";
/// Tickets to chats.
pub(crate) const TICKETS: &str = "tickets";

/// The format that the database is at.
pub(crate) const STORE_FORMAT: &str = "store_format";

/// Every collection but the one of the format.
pub(crate) const COLLECTIONS: [&str; 17] = [
    CHAT_SESSIONS,
    CHAT_SEGMENTS,
    MESSAGE_VERSIONS,
    CHAT_BLOBS,
    CONTEXT_SNAPSHOTS,
    CHAT_PARTICIPANTS,
    PRESENCE,
    PROVIDER_CALLS,
    INPUT_REQUESTS,
    RESUME_POINTS,
    STATUS_CHANGES,
    WORKFLOW_STATS,
    APPS,
    WALLETS,
    WALLET_ENTRIES,
    TICKETS,
    TURNS_WITHOUT_MESSAGES,
];

/// The version written into every document that every release can read. One that uses a newer
/// [`Shape`](super::engine::format::Shape) carries the format of that shape.
pub(crate) const SCHEMA_VERSION: i64 = 1;

/// The newest version that can be read: the format of the newest shape.
pub(crate) const NEWEST_VERSION: i64 = 2;

/// Counters are kept as 64-bit integers with a sign.
pub(crate) fn counter(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Digests and the like.
fn binary(bytes: &[u8]) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }
}

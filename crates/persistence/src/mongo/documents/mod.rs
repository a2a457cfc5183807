//! The stored shapes: conversions of records to documents and back.
//!
//! A small record that only its own calls use keeps its shape in their file, such as `mongo/tickets.rs`;
//! all others are here.
//!
//! Most records have a struct whose name ends in `Document`. It lists the fields in the order in which they
//! are stored. [`stored`] reads and writes it with serde, and code in the same file converts it to the
//! record. Caller JSON is a [`Json`](super::engine::json::Json), which does not interpret keys.
//!
//! Messages, segments, tails and lineages are read field by field through [`fields::Fields`] instead
//! (decision 0031). This is faster: 10,000 messages take 11.4 ms, and 14 to 17 ms through structs. It keeps
//! the order of a message's extra fields, and reads a few fields of a session without parsing its messages.
//! Rollups are read field by field as well, because the names of their sums are those of counters and
//! measures.

mod attributes;
mod blob;
mod chat_session;
mod context_version;
mod document_name;
pub(crate) mod field;
pub(crate) mod fields;
mod input_request;
mod lineage;
mod member;
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
pub(crate) mod time;
mod turn_without_messages;
mod wallet;
pub(crate) mod word;

#[cfg(test)]
mod fixtures;

use bson::Binary;
use bson::spec::BinarySubtype;

use crate::rules::stored_digest::ERASED;

pub(crate) use attributes::{
    ATTRS, ATTRS_VERSION, Attribute, DeclaredKey, DeclaredKeys, StoredAttributes,
};
pub(crate) use blob::{BlobDocument, BlobKind, blob_data, blob_filter, blob_id, blobs_filter};
pub(crate) use chat_session::{
    AcquisitionDocument, ArtifactDocument, ChatSessionDocument, IS_UNCOUNTED, LIFECYCLE,
    LIFECYCLE_AT, LeaseDocument, NEWEST_LEASE, TITLE_KEY, TITLE_TRIGRAMS, Tail,
    WITHOUT_LARGE_FIELDS, acquisition_record, append_last_turn, artifact_record, chat_head_record,
    chat_session_record, head_projection, lease_record, open_chat_session, read_status,
    recent_digest, recent_turns_push, stored_trigrams,
};
pub(crate) use context_version::{
    StoredContext, context_version_id, context_versions_filter, context_written_document,
    recent_contexts_expression,
};
pub(crate) use input_request::{
    InputRequestDocument, PENDING, StoredInput, closing_fields, input_app, input_key, input_record,
};
pub(crate) use lineage::{Base, Lineage};
pub(crate) use member::{MemberDocument, member_records};
pub(crate) use message::{
    MESSAGE_OVERHEAD, StoredMessage, Tagged, has_salt, known_messages, message_document,
    with_known_messages,
};
pub(crate) use message_version::{
    TEXT_CHECK_AT, TEXT_KEPT_IN, VersionKey, version_document, version_id, version_message,
    versions_filter,
};
pub(crate) use participant::{
    ParticipantDocument, StoredParticipant, participant_records, participants_with_user,
    participants_without_user,
};
pub(crate) use presence::{announcement, announcement_record, presence_filter, presence_id};
pub(crate) use provider_call::{CallDocument, call_key, call_record, open_call};
pub(crate) use resume_point::{
    ResumePointDocument, TurnPoints, chat_points_filter, point_digest, point_record,
    turn_points_filter,
};
pub(crate) use rollup::{
    AGENT, CHAT, COUNTED_USER, ChatStart, MODEL, StoredRollup, USER, WORKFLOW, chat_stats,
    rollup_id, rollup_statement, rollup_sums, rollup_update, subject_key, subject_record,
};
pub(crate) use segment::{
    PRODUCED_BY_PATH, Segment, SegmentHead, segment_document, segment_id, segments_filter,
};
pub(crate) use status_change::{StatusChangeDocument, status_change_id, status_change_record};
pub(crate) use store_format::{FormatDocument, format_filter, format_number, raise_format_update};
pub(crate) use stored::{embedded, encode};
pub(crate) use turn_without_messages::{
    TurnWithoutMessagesDocument, turn_without_messages, turn_without_messages_digest,
};
pub(crate) use wallet::{
    EntryDocument, LineDocument, StoredWallet, WalletDocument, line_id, line_owner, line_record,
    stored_wallet, wallet_filter, wallet_id, wallets_after,
};

/// The `schema_version` of documents that every release can read. A document of a newer
/// [`Shape`](super::engine::format::Shape) has the format of that shape instead.
pub(crate) const SCHEMA_VERSION: i64 = 1;

/// The newest `schema_version` that this release can read: the format of the newest shape.
pub(crate) const NEWEST_VERSION: i64 = 12;

/// The `schema_version` of documents with a salt.
pub(crate) const SALTED_VERSION: i64 = 4;

/// The `schema_version` of rollups that name a user.
pub(crate) const USER_USAGE_VERSION: i64 = 5;

/// Converts a counter to the stored integer type; clamps at `i64::MAX`.
pub(crate) fn counter(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the digest that stands for that of an erased text.
pub(crate) fn erased_digest() -> Binary {
    binary(&ERASED)
}

/// Converts bytes, such as a digest, to BSON.
pub(crate) fn binary(bytes: &[u8]) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }
}

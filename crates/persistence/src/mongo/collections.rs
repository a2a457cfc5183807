//! The registry of collections: the one list from which everything about all collections follows.
//!
//! A new record adds a name to `collection_names.rs`, and one row to [`COLLECTIONS`]. From the row follow
//! the indexes, the recognition of a new database, and the tests of queries and of golden documents.

use std::fmt;

use bson::RawDocumentBuf;
use mongodb::options::Hint;
use records::ChatId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::access_keys::{AccessKeyDocument, access_key_record};
use crate::mongo::app_documents::{PartDocument, StoredDocument, stored_document, stored_part};
use crate::mongo::apps::{AppDocument, METADATA_KEYS_VERSION, app_record};
use crate::mongo::archive::Archive;
use crate::mongo::assistants::{AssistantDocument, assistant_record};
use crate::mongo::audit::{AuditEntryDocument, PseudonymKeyDocument, entry_record, pseudonym_key};
use crate::mongo::collection_names::{
    ACCESS_KEYS, APPS, ASSISTANTS, AUDIT_ENTRIES, CHAT_BLOBS, CHAT_PARTICIPANTS, CHAT_SEGMENTS,
    CHAT_SESSIONS, CONTEXT_SNAPSHOTS, DOCUMENT_PARTS, DOCUMENTS, ERASURES, INPUT_REQUESTS,
    INTEGRITY_BLOCKS, INTEGRITY_CHAINS, MESSAGE_VERSIONS, PRESENCE, PROVIDER_CALLS, PSEUDONYM_KEYS,
    RESUME_POINTS, REVOCATIONS, SEARCH_ENTRIES, SEARCH_MARKS, SEARCH_PROGRESS, STATUS_CHANGES,
    STORE_FORMAT, STREAM_GROUPS, STREAMS, TICKETS, TOOL_RUNS, TURNS_WITHOUT_MESSAGES,
    WALLET_ENTRIES, WALLETS, WEBHOOK_EVENTS, WORKFLOW_STATS,
};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{
    ATTRS, ATTRS_VERSION, BlobDocument, COUNTED_USER, CallDocument, FormatDocument,
    InputRequestDocument, LIFECYCLE, LIFECYCLE_AT, LineDocument, Lineage, PRODUCED_BY_PATH,
    Segment, StatusChangeDocument, StoredContext, StoredMessage, StoredRollup, TEXT_CHECK_AT,
    TEXT_KEPT_IN, TITLE_KEY, TITLE_TRIGRAMS, Tail, TurnWithoutMessagesDocument, WalletDocument,
    announcement_record, blob_data, call_record, chat_session_record, encode, format_number,
    input_record, line_record, open_call, open_chat_session, participant_records, point_record,
    status_change_record, stored_wallet, turn_without_messages_digest, version_message,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::index::Index;
use crate::mongo::engine::json::Json;
use crate::mongo::erasures::{ERASED_USER, ErasureDocument, erasure_record};
use crate::mongo::integrity::{ChainBlockDocument, ChainDocument};
use crate::mongo::revocations::{RevocationDocument, revocation_entry};
use crate::mongo::search::{MarkDocument, SearchEntryDocument, progress_rewritten};
use crate::mongo::streams::{
    REMOVED_AT, StreamDocument, StreamGroupDocument, stream_group_record, stream_record,
};
use crate::mongo::tickets::{TicketDocument, ticket_record};
use crate::mongo::tool_runs::{ToolRunDocument, tool_run_record};
use crate::mongo::webhook_events::{DUE_AT, WebhookEventDocument, webhook_event_record};

/// A collection of the database.
#[derive(Debug)]
pub struct StoredCollection {
    /// The name of the collection.
    pub name: &'static str,
    /// The records that it holds. `fixtures/stored` has a folder of golden documents for each.
    pub records: &'static [&'static str],
    /// One index for each kind of query; a query must never scan the collection.
    pub(crate) indexes: &'static [Index],
    /// Whose rights guard its documents, in words.
    pub rights: &'static str,
    /// What the export of a person's data takes from it, in words.
    pub export: &'static str,
    /// What the erasure of a person does with its documents, in words.
    pub erasure: &'static str,
    /// What finds a fault in its documents, in words.
    pub check: &'static str,
    /// What a purge of a chat does with its documents.
    pub purge: Purge,
    /// What an archive takes of it.
    pub archive: Archive,
    /// Reads a document as the calls of its record do, and writes it again.
    pub(crate) rewrite: Rewrite,
}

/// What a purge of a chat does with the documents of a collection.
#[derive(Debug, Clone, Copy)]
pub enum Purge {
    /// It deletes the documents whose `_id` begins with the chat.
    Deletes,
    /// It deletes the document whose `_id` is the chat.
    DeletesOne,
    /// It deletes the documents whose field `chat_id` is the chat. The index of `_id.app_id` and `chat_id` finds them.
    DeletesBound,
    /// It keeps the documents whose `_id` begins with the chat, without these fields, which become null.
    Clears(&'static [&'static str]),
    /// Code of its own decides.
    Itself,
    /// Nothing, for this reason.
    Keeps(&'static str),
}

impl fmt::Display for Purge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deletes | Self::DeletesOne | Self::DeletesBound => {
                f.write_str("deletes those of the chat")
            }
            Self::Clears(fields) => {
                write!(f, "takes `{}` from those of the chat", fields.join("`, `"))
            }
            Self::Itself => f.write_str("keeps the numbers, and what a fork still shows"),
            Self::Keeps(reason) => write!(f, "nothing: {reason}"),
        }
    }
}

/// Returns the document as the record's struct writes it; `None` for a record that is not written as one struct.
pub(crate) type Rewrite = fn(&RawDocumentBuf) -> Result<Option<RawDocumentBuf>, Failure>;

/// The field of a session with the ids of its members.
pub(crate) const MEMBERS_PATH: &str = "members.user_id";
/// The field of a session that every user of the app finds.
pub(crate) const IS_LISTED: &str = "is_listed";
/// The field of a session that lists by last activity are sorted by.
pub(crate) const ACTIVE_MINUTE: &str = "active_minute";
/// The field of a session with the time of the last edit of a message, if there was one. Appends do not change it.
pub(crate) const EDITED_AT: &str = "edited_at";
/// The field of a session with the outcome of its last turn.
pub(crate) const LAST_TURN_OUTCOME: &str = "last_turn.outcome";
/// The field that only sessions with pending input requests have.
pub(crate) const FIRST_PENDING_INPUT: &str = "pending_inputs.0";
/// The field that only sessions under hold have.
pub(crate) const HOLD: &str = "hold";

/// The field of a fork with the id of its source.
pub(crate) const FORKED_FROM: &str = "forked_from.chat_id";

/// Returns the keys of an index of lists. What selects a list comes first, then its order, then what narrows it.
macro_rules! list_keys {
    ([$($selects:expr),*], $time:expr, [$($narrows:expr),*]) => {
        &[
            ("app_id", 1),
            $(($selects, 1),)*
            (LIFECYCLE, 1),
            ("status", 1),
            ($time, -1),
            ("_id", -1),
            $(($narrows, 1),)*
        ]
    };
}

/// The paths of the parts of an attribute.
const ATTRS_KEY: &str = "attrs.k";
const ATTRS_VALUE: &str = "attrs.v";

/// Every collection.
pub static COLLECTIONS: &[StoredCollection] = &[
    StoredCollection {
        name: CHAT_SESSIONS,
        records: &["chat_session", "chat_fork", "chat_shared", "chat_purged"],
        rights: "those of the chat",
        export: "chats of the person whole; of others their names in it",
        erasure: "purges the chats of the person, and takes the person out of the others",
        check: "`check --deep` compares it with all records of the chat; `stats verify` counts them",
        purge: Purge::Itself,
        archive: Archive::Session,
        indexes: &[
            Index::of(
                "cs_ent_wf_created",
                &[("app_id", 1), ("workflow_name", 1), ("created_at", -1)],
            ),
            Index::of("idx_status", &[("status", 1)]),
            Index::of("cs_status_lease", &[("status", 1), ("lease.expires_at", 1)]),
            // The lists of `rules::lists::SERVED`. An append changes entries of those by last activity when a minute has passed
            // since the last. What narrows a list is behind its order, so that the server reads no chat that does not match.
            Index::of("cs_list_created", list_keys!([], "created_at", [])),
            Index::of("cs_list_workflow_created", list_keys!(["workflow_name"], "created_at", [])),
            Index::of(
                "cs_list_user_created",
                list_keys!(
                    ["user_id"],
                    "created_at",
                    ["workflow_name", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_member_created",
                list_keys!(
                    [MEMBERS_PATH],
                    "created_at",
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(MEMBERS_PATH),
            Index::of(
                "cs_list_team_created",
                list_keys!(
                    ["visibility", "team_id"],
                    "created_at",
                    ["workflow_name", "user_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_listed_created",
                list_keys!(
                    [IS_LISTED],
                    "created_at",
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(IS_LISTED),
            Index::of("cs_list_active", list_keys!([], ACTIVE_MINUTE, [])),
            Index::of("cs_list_workflow_active", list_keys!(["workflow_name"], ACTIVE_MINUTE, [])),
            Index::of(
                "cs_list_user_active",
                list_keys!(
                    ["user_id"],
                    ACTIVE_MINUTE,
                    ["workflow_name", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_member_active",
                list_keys!(
                    [MEMBERS_PATH],
                    ACTIVE_MINUTE,
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(MEMBERS_PATH),
            Index::of(
                "cs_list_team_active",
                list_keys!(
                    ["visibility", "team_id"],
                    ACTIVE_MINUTE,
                    ["workflow_name", "user_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_listed_active",
                list_keys!(
                    [IS_LISTED],
                    ACTIVE_MINUTE,
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(IS_LISTED),
            // No append changes an entry of those by title or sort.
            Index::of("cs_list_title_key", list_keys!([], TITLE_KEY, [])),
            Index::of(
                "cs_list_user_title_key",
                list_keys!(
                    ["user_id"],
                    TITLE_KEY,
                    ["workflow_name", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_member_title_key",
                list_keys!(
                    [MEMBERS_PATH],
                    TITLE_KEY,
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(MEMBERS_PATH),
            Index::of(
                "cs_list_team_title_key",
                list_keys!(
                    ["visibility", "team_id"],
                    TITLE_KEY,
                    ["workflow_name", "user_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of("cs_list_sort", list_keys!([], "sort", [])),
            Index::of(
                "cs_list_user_sort",
                list_keys!(
                    ["user_id"],
                    "sort",
                    ["workflow_name", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of(
                "cs_list_member_sort",
                list_keys!(
                    [MEMBERS_PATH],
                    "sort",
                    ["workflow_name", "user_id", "team_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            )
            .only_with(MEMBERS_PATH),
            Index::of(
                "cs_list_team_sort",
                list_keys!(
                    ["visibility", "team_id"],
                    "sort",
                    ["workflow_name", "user_id", "assistant_id", LAST_TURN_OUTCOME]
                ),
            ),
            Index::of("cs_list_assistant_active", list_keys!(["assistant_id"], ACTIVE_MINUTE, []))
                .only_with("assistant_id"),
            Index::of(
                "cs_list_turn_outcome_active",
                list_keys!([LAST_TURN_OUTCOME], ACTIVE_MINUTE, ["workflow_name", "assistant_id"]),
            )
            .only_with(LAST_TURN_OUTCOME),
            Index::of(
                "cs_list_waiting_active",
                list_keys!(
                    [],
                    ACTIVE_MINUTE,
                    ["workflow_name", "user_id", "team_id", "visibility", "assistant_id"]
                ),
            )
            .only_with(FIRST_PENDING_INPUT),
            Index::of(
                "cs_list_waiting_member_active",
                list_keys!(
                    [MEMBERS_PATH],
                    ACTIVE_MINUTE,
                    ["workflow_name", "user_id", "team_id", "assistant_id"]
                ),
            )
            .only_with(FIRST_PENDING_INPUT),
            // Not by activity: an append would change as many entries as the title has trigrams.
            Index::of("cs_list_title", list_keys!([TITLE_TRIGRAMS], "created_at", []))
                .only_with(TITLE_TRIGRAMS),
            // By creation, so that no append changes an entry.
            Index::of(
                "cs_list_attrs_created",
                list_keys!([ATTRS_KEY, ATTRS_VALUE], "created_at", []),
            )
            .only_with(ATTRS),
            // The chats whose attributes are behind the keys that their app has declared.
            Index::of("cs_attrs_version", &[("app_id", 1), (ATTRS_VERSION, 1)]),
            // For the proof of the statistics, which reads chats of every lifecycle and status.
            Index::of(
                "cs_app_workflow_created",
                &[("app_id", 1), ("workflow_name", 1), ("created_at", -1), ("_id", -1)],
            ),
            // What is due to be purged after its deletion.
            Index::of(
                "cs_app_lifecycle_at",
                &[("app_id", 1), (LIFECYCLE, 1), (LIFECYCLE_AT, 1), ("_id", 1)],
            )
            .only_with(LIFECYCLE),
            // The chats whose messages were edited, for the search index.
            Index::of("cs_app_edited", &[("app_id", 1), (EDITED_AT, 1), ("_id", 1)])
                .only_with(EDITED_AT),
            // The chats under hold.
            Index::of("cs_app_held", &[("app_id", 1), ("_id", 1)]).only_with(HOLD),
            Index::of("cs_purge_again", &[("purge_again_at", 1)]).only_with("purge_again_at"),
            // The forks that share messages of a chat.
            Index::of("cs_bases", &[("bases.chat_id", 1)]).only_with("bases.chat_id"),
            // All forks of a chat.
            Index::of("cs_list_forked_created", list_keys!([FORKED_FROM], "created_at", []))
                .only_with(FORKED_FROM),
        ],
        rewrite: read_chat_session,
    },
    StoredCollection {
        name: CHAT_SEGMENTS,
        records: &["chat_segment"],
        rights: "those of the chat",
        export: "messages of the chats of the person, and those they wrote elsewhere",
        erasure: "takes the text from the messages that the person wrote, and from all in their chats",
        check: "each read and `check --deep` check that the sequences have no gap",
        purge: Purge::Itself,
        archive: Archive::OfChat,
        indexes: &[
            Index::of(
                "seg_app_chat_event",
                &[("app_id", 1), ("_id.chat_id", 1), ("messages.event_id", 1)],
            ),
            // Finds the sealed messages of a call.
            Index::of(
                "seg_app_chat_call",
                &[
                    ("app_id", 1),
                    ("_id.chat_id", 1),
                    (PRODUCED_BY_PATH, 1),
                    ("_id.first_sequence", 1),
                ],
            )
            .only_with(PRODUCED_BY_PATH),
        ],
        rewrite: |raw| {
            Segment::read(&chat_id(CHAT_SEGMENTS, raw)?, raw)?;
            Ok(None)
        },
    },
    StoredCollection {
        name: MESSAGE_VERSIONS,
        records: &["message_version", "message_version_deleted"],
        rights: "those of the chat",
        export: "with the messages that they replace",
        erasure: "takes the text from the messages that the person wrote, and from all in their chats",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Itself,
        archive: Archive::OfChat,
        indexes: &[
            // Deleted messages whose text another chat may show.
            Index::of("mv_text_kept_in", &[(TEXT_KEPT_IN, 1)]).only_with(TEXT_KEPT_IN),
            Index::of("mv_text_check_at", &[(TEXT_CHECK_AT, 1)]).only_with(TEXT_CHECK_AT),
        ],
        rewrite: |raw| {
            version_message(&chat_id(MESSAGE_VERSIONS, raw)?, raw)?;
            Ok(None)
        },
    },
    StoredCollection {
        name: CHAT_BLOBS,
        records: &["chat_blob"],
        rights: "those of the chat",
        export: "with the snapshots and artifacts that they hold",
        erasure: "deletes those of the chats of the person",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[],
        rewrite: |raw| {
            blob_data(raw)?;
            rewritten::<BlobDocument<Json<Value>>>(CHAT_BLOBS, raw)
        },
    },
    StoredCollection {
        name: CONTEXT_SNAPSHOTS,
        records: &["context_snapshot"],
        rights: "those of the chat",
        export: "all kept versions in the chats of the person",
        erasure: "deletes those of the chats of the person, and what forks took over",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[],
        rewrite: |raw| {
            StoredContext::open(&chat_id(CONTEXT_SNAPSHOTS, raw)?, raw)?.data()?;
            Ok(None)
        },
    },
    StoredCollection {
        name: CHAT_PARTICIPANTS,
        records: &["chat_participants"],
        rights: "those of the chat",
        export: "all in the chats of the person, their own elsewhere",
        erasure: "replaces the id by the pseudonym, and removes the name",
        check: "`check --deep` looks for their chat; each read checks the shape",
        purge: Purge::DeletesOne,
        archive: Archive::OneOfChat,
        indexes: &[],
        rewrite: |raw| Ok(participant_records(raw).map(|_| None)?),
    },
    StoredCollection {
        name: PRESENCE,
        records: &["presence"],
        rights: "those of the chat",
        export: "nothing: it expires within minutes",
        erasure: "deletes those of the person",
        check: "`check --deep` looks for their chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::LeavesOut("it expires within minutes"),
        indexes: &[Index::of("presence_ttl", &[("expires_at", 1)])],
        rewrite: |raw| Ok(announcement_record(raw).map(|_| None)?),
    },
    StoredCollection {
        name: PROVIDER_CALLS,
        records: &["provider_call", "provider_call_kind"],
        rights: "those of the chat",
        export: "nothing: they are numbers",
        erasure: "takes the ids that providers gave from those of the chats of the person",
        check: "`stats verify` adds them up; `check --deep` looks for their chat",
        purge: Purge::Clears(&["request_id"]),
        archive: Archive::OfChat,
        indexes: &[
            Index::of(
                "call_app_chat_called",
                &[("app_id", 1), ("_id.chat_id", 1), ("called_at", -1), ("_id.call_id", -1)],
            ),
            Index::of(
                "call_app_workflow_called",
                &[("app_id", 1), ("workflow_name", 1), ("called_at", 1)],
            ),
        ],
        rewrite: |raw| {
            call_record(&open_call(raw)?)?;
            rewritten::<CallDocument>(PROVIDER_CALLS, raw)
        },
    },
    StoredCollection {
        name: TOOL_RUNS,
        records: &["tool_run"],
        rights: "those of the chat; their sums in an app: `observe`",
        export: "all in the chats of the person",
        erasure: "deletes those of the chats of the person",
        check: "`check --deep` looks for their chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[
            // What a list filters and the statistics sum up stands behind the order, so that only runs of the page are read.
            Index::of(
                "run_app_chat_started",
                &[
                    ("app_id", 1),
                    ("_id.chat_id", 1),
                    ("started_at", -1),
                    ("_id.run_id", -1),
                    ("tool_name", 1),
                    ("is_success", 1),
                    ("execution_time_ms", 1),
                ],
            ),
            Index::of(
                "run_app_started",
                &[
                    ("app_id", 1),
                    ("started_at", -1),
                    ("tool_name", 1),
                    ("is_success", 1),
                    ("execution_time_ms", 1),
                ],
            ),
            // For the retention.
            Index::of("run_app_recorded", &[("app_id", 1), ("recorded_at", 1), ("_id", 1)]),
        ],
        rewrite: |raw| {
            tool_run_record(raw)?;
            rewritten::<ToolRunDocument<'_>>(TOOL_RUNS, raw)
        },
    },
    StoredCollection {
        name: INPUT_REQUESTS,
        records: &["input_request"],
        rights: "those of the chat",
        export: "all in the chats of the person, those they answered elsewhere",
        erasure: "deletes those of the chats of the person, and takes the text from their answers elsewhere",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[
            Index::of(
                "in_app_chat_created",
                &[("app_id", 1), ("_id.chat_id", 1), ("created_at", -1), ("_id.request_id", -1)],
            ),
            // The pending requests of an app.
            Index::of(
                "in_app_state_created",
                &[
                    ("app_id", 1),
                    ("state", 1),
                    ("created_at", 1),
                    ("_id.chat_id", 1),
                    ("_id.request_id", 1),
                ],
            ),
            Index::of("in_app_request", &[("app_id", 1), ("_id.request_id", 1)]),
            Index::of("in_state_expires", &[("state", 1), ("expires_at", 1)]),
        ],
        rewrite: |raw| {
            input_record(raw)?;
            rewritten::<InputRequestDocument<'_>>(INPUT_REQUESTS, raw)
        },
    },
    StoredCollection {
        name: RESUME_POINTS,
        records: &["resume_point", "resume_point_cut"],
        rights: "those of the chat",
        export: "all in the chats of the person",
        erasure: "deletes those of the chats of the person, and of turns with their messages elsewhere",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[Index::of(
            "rp_app_chat_turn",
            &[("app_id", 1), ("_id.chat_id", 1), ("turn", 1), ("_id.sequence", 1)],
        )],
        rewrite: |raw| Ok(point_record(raw).map(|_| None)?),
    },
    StoredCollection {
        name: TURNS_WITHOUT_MESSAGES,
        records: &["turn_without_messages"],
        rights: "those of the chat",
        export: "nothing: they are digests",
        erasure: "deletes those of the chats of the person",
        check: "`check --deep` compares them with the chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::OfChat,
        indexes: &[],
        rewrite: |raw| {
            turn_without_messages_digest(raw)?;
            rewritten::<TurnWithoutMessagesDocument>(TURNS_WITHOUT_MESSAGES, raw)
        },
    },
    StoredCollection {
        name: STREAMS,
        records: &["stream"],
        rights: "those of the chat",
        export: "nothing: they end as turns within the hour",
        erasure: "deletes those of the chats of the person",
        check: "`check --deep` looks for their chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::LeavesOut("they end as turns within the hour"),
        // What is due to be removed.
        indexes: &[Index::of("stream_removed_at", &[(REMOVED_AT, 1)])],
        rewrite: |raw| {
            stream_record(raw)?;
            rewritten::<StreamDocument>(STREAMS, raw)
        },
    },
    StoredCollection {
        name: STREAM_GROUPS,
        records: &["stream_group", "stream_group_ended"],
        rights: "those of the chat",
        export: "nothing: they end as turns within the hour",
        erasure: "deletes those of the chats of the person",
        check: "`check --deep` looks for their chat; each read checks the shape",
        purge: Purge::Deletes,
        archive: Archive::LeavesOut("they end as turns within the hour"),
        indexes: &[],
        rewrite: |raw| {
            stream_group_record(raw)?;
            rewritten::<StreamGroupDocument<'_>>(STREAM_GROUPS, raw)
        },
    },
    StoredCollection {
        name: INTEGRITY_CHAINS,
        records: &["integrity_chain"],
        rights: "those of the chat",
        export: "nothing: they are digests",
        erasure: "forgets the salts of erased messages; deletes those of the chats of the person",
        check: "`check --deep` verifies the signatures, and compares the messages",
        purge: Purge::DeletesOne,
        archive: Archive::LeavesOut("another installation signs with another key"),
        // For the export of checkpoints.
        indexes: &[Index::of("ic_app_chat", &[("app_id", 1), ("_id", 1)])],
        rewrite: |raw| rewritten::<ChainDocument>(INTEGRITY_CHAINS, raw),
    },
    StoredCollection {
        name: INTEGRITY_BLOCKS,
        records: &["integrity_block"],
        rights: "those of the chat",
        export: "nothing: they are digests",
        erasure: "forgets the salts of erased messages; deletes those of the chats of the person",
        check: "`check --deep` verifies the signatures, and compares the messages",
        purge: Purge::Deletes,
        archive: Archive::LeavesOut("another installation signs with another key"),
        indexes: &[],
        rewrite: |raw| rewritten::<ChainBlockDocument>(INTEGRITY_BLOCKS, raw),
    },
    StoredCollection {
        name: STATUS_CHANGES,
        records: &["status_change"],
        rights: "only the statistics read them",
        export: "nothing: they name no person and have no text",
        erasure: "nothing: they name no person and have no text",
        check: "`stats verify` counts them; `check --deep` looks for their chat",
        purge: Purge::Keeps("the statistics count them, and they have no text"),
        archive: Archive::OfChat,
        indexes: &[Index::of(
            "change_app_workflow_changed",
            &[("app_id", 1), ("workflow_name", 1), ("changed_at", 1)],
        )],
        rewrite: |raw| {
            status_change_record(raw)?;
            rewritten::<StatusChangeDocument>(STATUS_CHANGES, raw)
        },
    },
    StoredCollection {
        name: WEBHOOK_EVENTS,
        records: &["webhook_event"],
        rights: "only the sender of webhooks reads them",
        export: "nothing: they name no person and have no text",
        erasure: "nothing: they name no person and have no text",
        check: "each read checks the shape",
        purge: Purge::Keeps("they have no text, and go once their receiver has taken them"),
        archive: Archive::LeavesOut("each installation tells of what was done in it"),
        indexes: &[
            Index::of("webhook_due", &[(DUE_AT, 1)]),
            Index::of("webhook_ttl", &[("expires_at", 1)]),
        ],
        rewrite: |raw| {
            webhook_event_record(raw)?;
            rewritten::<WebhookEventDocument>(WEBHOOK_EVENTS, raw)
        },
    },
    StoredCollection {
        name: WORKFLOW_STATS,
        records: &["rollup", "workflow_stats"],
        rights: "`observe` of the app",
        export: "the usage of the chats that the person owns or owned",
        erasure: "counts the calls of the chats of the person for the pseudonym",
        check: "`stats verify` compares them with all records",
        purge: Purge::Keeps("they are sums, and say for whom the calls of the chat count"),
        archive: Archive::RollupOfChat,
        indexes: &[
            Index::of(
                "ws_app_kind_workflow_hour",
                &[("_id.app_id", 1), ("_id.kind", 1), ("_id.workflow_name", 1), ("_id.hour", 1)],
            ),
            Index::of("ws_app_kind_hour", &[("_id.app_id", 1), ("_id.kind", 1), ("_id.hour", 1)]),
            Index::of(
                "ws_app_workflow_kind_started",
                &[
                    ("_id.app_id", 1),
                    ("_id.workflow_name", 1),
                    ("_id.kind", 1),
                    ("started_at", -1),
                    ("_id.name", -1),
                ],
            ),
            // A call changes no entry: it adds one for each new hour of a user.
            Index::of(
                "ws_app_user_kind_hour",
                &[("_id.app_id", 1), (COUNTED_USER, 1), ("_id.kind", 1), ("_id.hour", 1)],
            )
            .only_with(COUNTED_USER),
        ],
        rewrite: |raw| {
            StoredRollup::read(raw)?.sums()?;
            Ok(None)
        },
    },
    StoredCollection {
        name: APPS,
        records: &["app"],
        rights: "`administer`",
        export: "nothing: they name no person",
        erasure: "nothing: they name no person",
        check: "each read checks the shape",
        purge: Purge::Keeps("an app is of no chat"),
        archive: Archive::App,
        // The apps that have declared keys of the metadata.
        indexes: &[Index::of("apps_metadata_keys", &[(METADATA_KEYS_VERSION, 1)])
            .only_with(METADATA_KEYS_VERSION)],
        rewrite: |raw| {
            app_record(raw)?;
            rewritten::<AppDocument>(APPS, raw)
        },
    },
    StoredCollection {
        name: WALLETS,
        records: &["wallet"],
        rights: "the person reads it, `bill` of the app changes it",
        export: "that of the person",
        erasure: "replaces the id by the pseudonym, and removes the reasons",
        check: "`wallets verify` compares it with its entries",
        purge: Purge::Keeps("a wallet is of a user"),
        archive: Archive::Wallets,
        indexes: &[],
        rewrite: |raw| {
            stored_wallet(raw)?;
            rewritten::<WalletDocument>(WALLETS, raw)
        },
    },
    StoredCollection {
        name: WALLET_ENTRIES,
        records: &["wallet_entry"],
        rights: "the person reads it, `bill` of the app changes it",
        export: "those of the person",
        erasure: "replaces the id by the pseudonym, and removes the reasons",
        check: "`wallets verify` adds them up",
        purge: Purge::Keeps("an entry is of a wallet"),
        archive: Archive::WalletEntries,
        indexes: &[Index::of(
            "we_app_user_sequence",
            &[("app_id", 1), ("user_id", 1), ("sequence", -1)],
        )],
        rewrite: |raw| {
            line_record(raw)?;
            rewritten::<LineDocument>(WALLET_ENTRIES, raw)
        },
    },
    StoredCollection {
        name: ASSISTANTS,
        records: &["assistant"],
        rights: "its owner, its team and its visibility, as those of a chat",
        export: "those of the person",
        erasure: "deletes those of the person",
        check: "each read checks the shape",
        purge: Purge::Keeps("an assistant is of no chat"),
        archive: Archive::Assistants,
        indexes: &[
            Index::of("as_app_sort", &[("_id.app_id", 1), ("sort", 1), ("_id.assistant_id", 1)]),
            Index::of("as_app_user", &[("_id.app_id", 1), ("user_id", 1)]),
        ],
        rewrite: |raw| {
            assistant_record(raw)?;
            rewritten::<AssistantDocument<'_>>(ASSISTANTS, raw)
        },
    },
    StoredCollection {
        name: DOCUMENTS,
        records: &["document", "document_of_chat"],
        rights: "those of the chat, or its owner, its team and its visibility",
        export: "those of the person, with their contents",
        erasure: "deletes those of the person, except those of chats under hold",
        check: "`check --deep` compares it with its parts and its chat; each read checks that all parts are there",
        purge: Purge::DeletesBound,
        archive: Archive::Documents,
        indexes: &[
            Index::of("doc_app_chat", &[("_id.app_id", 1), ("chat_id", 1)]).only_with("chat_id"),
            Index::of("doc_app_user", &[("_id.app_id", 1), ("user_id", 1)]).only_with("user_id"),
            Index::of("document_ttl", &[("expires_at", 1)]).only_with("expires_at"),
        ],
        rewrite: |raw| {
            stored_document(raw)?;
            rewritten::<StoredDocument>(DOCUMENTS, raw)
        },
    },
    StoredCollection {
        name: DOCUMENT_PARTS,
        records: &["document_part", "document_part_of_chat"],
        rights: "those of the document",
        export: "those of the documents of the person",
        erasure: "deletes those of the documents of the person",
        check: "`check --deep` compares them with the document; each read checks the shape",
        purge: Purge::DeletesBound,
        archive: Archive::Documents,
        indexes: &[
            Index::of("part_app_chat", &[("_id.app_id", 1), ("chat_id", 1)]).only_with("chat_id"),
            Index::of("part_app_user", &[("_id.app_id", 1), ("user_id", 1)]).only_with("user_id"),
            Index::of("part_ttl", &[("expires_at", 1)]).only_with("expires_at"),
        ],
        rewrite: |raw| {
            stored_part(raw)?;
            rewritten::<PartDocument>(DOCUMENT_PARTS, raw)
        },
    },
    StoredCollection {
        name: TICKETS,
        records: &["ticket"],
        rights: "who presents one",
        export: "nothing: it expires within minutes",
        erasure: "deletes those of the person",
        check: "each read checks the shape",
        purge: Purge::Keeps("a ticket expires within minutes, and admits to no chat that is gone"),
        archive: Archive::LeavesOut("a ticket expires within minutes"),
        indexes: &[Index::of("ticket_ttl", &[("expires_at", 1)])],
        rewrite: |raw| {
            ticket_record(raw)?;
            rewritten::<TicketDocument>(TICKETS, raw)
        },
    },
    StoredCollection {
        name: ACCESS_KEYS,
        records: &["access_key"],
        rights: "`administer`",
        export: "nothing: they are digests of secrets",
        erasure: "deletes those of the person for this app alone",
        check: "each read checks the shape",
        purge: Purge::Keeps("a key is of no chat"),
        archive: Archive::LeavesOut("each installation has its own keys"),
        indexes: &[
            Index::of("access_key_ttl", &[("forget_at", 1)]),
            Index::of("ak_kind", &[("kind", 1), ("_id", 1)]),
        ],
        rewrite: |raw| {
            access_key_record(raw)?;
            rewritten::<AccessKeyDocument>(ACCESS_KEYS, raw)
        },
    },
    StoredCollection {
        name: REVOCATIONS,
        records: &["revocation"],
        rights: "`administer`, and the service itself",
        export: "nothing: they say whom they keep out, until they expire",
        erasure: "nothing: each names whom it keeps out, until it expires",
        check: "each read checks the shape",
        purge: Purge::Keeps("a revocation is of no chat"),
        archive: Archive::LeavesOut("each installation has its own tokens"),
        indexes: &[
            Index::of("revocation_changed", &[("changed_at", 1), ("_id", 1)]),
            Index::of("revocation_ttl", &[("expires_at", 1)]),
        ],
        rewrite: |raw| {
            revocation_entry(raw)?;
            rewritten::<RevocationDocument>(REVOCATIONS, raw)
        },
    },
    StoredCollection {
        name: AUDIT_ENTRIES,
        records: &["audit_entry"],
        rights: "an operator reads them in the database, by `reprise audit`",
        export: "nothing: they name persons by pseudonyms",
        erasure: "nothing: they name persons by pseudonyms",
        check: "each read checks the shape",
        purge: Purge::Keeps("the log names persons by pseudonyms and has no text"),
        archive: Archive::LeavesOut("the log says what was done in its database"),
        indexes: &[
            // The log is listed newest first.
            Index::of("audit_at", &[("at", -1), ("_id", -1)]),
            Index::of("audit_app_at", &[("app_id", 1), ("at", -1), ("_id", -1)]),
            Index::of("audit_chat_at", &[("chat_id", 1), ("at", -1), ("_id", -1)]),
            Index::of("audit_person_at", &[("persons", 1), ("at", -1), ("_id", -1)]),
            Index::of("audit_ttl", &[("expires_at", 1)]),
        ],
        rewrite: |raw| {
            entry_record(raw)?;
            rewritten::<AuditEntryDocument>(AUDIT_ENTRIES, raw)
        },
    },
    StoredCollection {
        name: PSEUDONYM_KEYS,
        records: &["pseudonym_key"],
        rights: "only the audit log reads them",
        export: "nothing: they are random keys",
        erasure: "deletes that of the person, at the end",
        check: "each read checks the shape",
        purge: Purge::Keeps("a key is of a person"),
        archive: Archive::LeavesOut("they belong to the log"),
        indexes: &[],
        rewrite: |raw| {
            pseudonym_key(raw)?;
            rewritten::<PseudonymKeyDocument>(PSEUDONYM_KEYS, raw)
        },
    },
    StoredCollection {
        name: ERASURES,
        records: &["erasure", "erasure_finished"],
        rights: "`administer` of the app",
        export: "nothing: they name no person once they are finished",
        erasure: "removes the id of the person, at the end",
        check: "each read checks the shape",
        purge: Purge::Keeps("an erasure is of a person"),
        archive: Archive::LeavesOut("they say what was done in their database"),
        indexes: &[Index::of("erasure_user", &[(ERASED_USER, 1)]).only_with(ERASED_USER)],
        rewrite: |raw| {
            erasure_record(raw)?;
            rewritten::<ErasureDocument>(ERASURES, raw)
        },
    },
    StoredCollection {
        name: SEARCH_ENTRIES,
        records: &["search_entry"],
        rights: "those of the chat",
        export: "nothing: they repeat words of messages",
        erasure: "takes the words from those of the messages whose text it takes",
        check: "each hit is compared with its message; `search rebuild` writes them anew",
        purge: Purge::Deletes,
        archive: Archive::LeavesOut("they are written anew"),
        indexes: &[
            Index::of("se_words", &[("app_id", 1), ("words", 1), ("rank", -1)]),
            Index::of("se_chat", &[("app_id", 1), ("_id.chat_id", 1), ("rank", -1)]),
        ],
        rewrite: |raw| rewritten::<SearchEntryDocument>(SEARCH_ENTRIES, raw),
    },
    StoredCollection {
        name: SEARCH_MARKS,
        records: &["search_mark"],
        rights: "only the index of the search reads them",
        export: "nothing: they are numbers",
        erasure: "nothing: they name no person and have no text",
        check: "`search rebuild` writes them anew",
        purge: Purge::DeletesOne,
        archive: Archive::LeavesOut("they are written anew"),
        indexes: &[],
        rewrite: |raw| rewritten::<MarkDocument>(SEARCH_MARKS, raw),
    },
    StoredCollection {
        name: SEARCH_PROGRESS,
        records: &["search_progress", "search_leader"],
        rights: "only the index of the search reads them",
        export: "nothing: they are times",
        erasure: "nothing: they name no person and have no text",
        check: "each read checks the shape",
        purge: Purge::Keeps("it is of an app"),
        archive: Archive::LeavesOut("it is written anew"),
        indexes: &[],
        rewrite: progress_rewritten,
    },
    StoredCollection {
        name: STORE_FORMAT,
        records: &["store_format"],
        rights: "only the store reads it",
        export: "nothing: it names no person",
        erasure: "nothing: it names no person",
        check: "each start checks the number",
        purge: Purge::Keeps("it is of no chat"),
        archive: Archive::LeavesOut("the first line names the format"),
        indexes: &[],
        rewrite: |raw| {
            format_number(raw)?;
            rewritten::<FormatDocument>(STORE_FORMAT, raw)
        },
    },
];

/// Returns the hint that makes a query of sessions read an index.
pub(crate) fn session_index(name: &str) -> Hint {
    index_of(CHAT_SESSIONS, name)
}

/// Returns the hint that makes a query of rollups read an index.
pub(crate) fn stats_index(name: &str) -> Hint {
    index_of(WORKFLOW_STATS, name)
}

/// Returns the hint that makes a query of runs of tools read an index.
pub(crate) fn tool_run_index(name: &str) -> Hint {
    index_of(TOOL_RUNS, name)
}

/// Returns the hint that makes a query of assistants read an index.
pub(crate) fn assistant_index(name: &str) -> Hint {
    index_of(ASSISTANTS, name)
}

/// Returns the hint for an index. It names the keys, because the database may have them under another name.
fn index_of(collection: &str, name: &str) -> Hint {
    let collection = COLLECTIONS.iter().find(|stored| stored.name == collection);
    let index = collection.and_then(|stored| stored.indexes.iter().find(|it| it.name == name));
    index.map_or_else(|| Hint::Name(name.to_owned()), |index| Hint::Keys(index.model().keys))
}

/// Returns a document as its struct writes it.
fn rewritten<'de, D: Deserialize<'de> + Serialize>(
    collection: &'static str,
    raw: &'de RawDocumentBuf,
) -> Result<Option<RawDocumentBuf>, Failure> {
    encode(&read_document::<D>(collection, raw)?).map(Some)
}

/// Returns the chat that a document belongs to, from its id.
fn chat_id(collection: &'static str, raw: &RawDocumentBuf) -> Result<ChatId, StoreError> {
    let fields = Fields::open(collection, "(a document)", raw)?;
    fields.inside(fields.document("_id")?).parsed("chat_id")
}

/// Reads a session with everything that its document holds.
fn read_chat_session(raw: &RawDocumentBuf) -> Result<Option<RawDocumentBuf>, Failure> {
    let fields = open_chat_session(raw)?;
    let chat = chat_session_record(raw)?;
    Lineage::read(&chat.chat_id, &fields)?;
    StoredContext::in_session(&fields)?;
    Tail::read(&fields)?;
    for message in fields.documents("messages")? {
        StoredMessage::read(0, &message?)?;
    }
    Ok(None)
}

use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::PRODUCED_BY_PATH;
use crate::mongo::engine::failure::{Failure, code};

/// The state of an index after [`MongoStore::ensure_indexes`](crate::mongo::MongoStore::ensure_indexes).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexReport {
    /// The collection of the index.
    pub collection: String,
    /// The name of the index.
    pub name: String,
    /// The state of the index.
    pub state: IndexState,
}

/// Whether an index exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// The index exists, or was created now.
    Ready,
    /// Another index has the same keys and another name, or the same name and other keys. If it has
    /// the same keys, queries use it.
    Conflicting,
}

/// 85: same keys, other name or options; 86: same name, other keys.
const CONFLICTS: [i32; 2] = [85, 86];

/// Creates the missing indexes.
///
/// Each index is created separately, so that a conflict of one does not prevent the others.
pub(crate) async fn ensure(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    // A new database is recognised by having no collections, and an index creates one.
    store.read(|| store.read_format_once()).await?;
    let mut reports = Vec::new();
    for (collection, name, keys) in wanted(store) {
        let options = IndexOptions::builder()
            .name(name.to_owned())
            .expire_after(name.ends_with("_ttl").then_some(Duration::ZERO))
            .partial_filter_expression(
                (name == SEGMENT_CALLS).then(|| doc! { PRODUCED_BY_PATH: { "$exists": true } }),
            )
            .build();
        let index = IndexModel::builder().keys(keys).options(options).build();
        let state = store.read(|| async { create(collection, index.clone()).await }).await?;
        let report =
            IndexReport { collection: collection.name().to_owned(), name: name.to_owned(), state };
        if state == IndexState::Conflicting {
            tracing::warn!(
                collection = report.collection,
                index = name,
                "an existing index conflicts with a required one"
            );
        }
        reports.push(report);
    }
    Ok(reports)
}

async fn create(
    collection: &Collection<RawDocumentBuf>,
    index: IndexModel,
) -> Result<IndexState, Failure> {
    match collection.create_index(index).await {
        Ok(_) => Ok(IndexState::Ready),
        Err(error) if code(&error).is_some_and(|code| CONFLICTS.contains(&code)) => {
            Ok(IndexState::Conflicting)
        }
        Err(error) => Err(error.into()),
    }
}

/// The index that finds the sealed messages of a call. Chats whose messages name no call have no entries.
const SEGMENT_CALLS: &str = "seg_app_chat_call";

/// Returns one index for each kind of query; a query must never scan a collection.
///
/// An index whose name ends in `_ttl` removes expired documents. Lists of chats are ordered by
/// creation and then by id, so their indexes end with these fields.
fn wanted(store: &MongoStore) -> [(&Collection<RawDocumentBuf>, &'static str, Document); 22] {
    let sessions = &store.inner.chat_sessions;
    let segments = &store.inner.chat_segments;
    let calls = &store.inner.provider_calls;
    let inputs = &store.inner.input_requests;
    let changes = &store.inner.status_changes;
    let rollups = &store.inner.workflow_stats;
    let lines = &store.inner.wallet_entries;
    let tickets = &store.inner.tickets;
    [
        (&store.inner.presence, "presence_ttl", doc! { "expires_at": 1 }),
        (sessions, "cs_ent_wf_created", doc! { "app_id": 1, "workflow_name": 1, "created_at": -1 }),
        (sessions, "idx_status", doc! { "status": 1 }),
        (sessions, "cs_status_lease", doc! { "status": 1, "lease.expires_at": 1 }),
        (sessions, "cs_app_created", doc! { "app_id": 1, "created_at": -1, "_id": -1 }),
        (
            sessions,
            "cs_app_workflow_created",
            doc! { "app_id": 1, "workflow_name": 1, "created_at": -1, "_id": -1 },
        ),
        (
            sessions,
            "cs_app_user_created",
            doc! { "app_id": 1, "user_id": 1, "created_at": -1, "_id": -1 },
        ),
        (
            sessions,
            "cs_app_status_created",
            doc! { "app_id": 1, "status": 1, "created_at": -1, "_id": -1 },
        ),
        (
            segments,
            "seg_app_chat_event",
            doc! { "app_id": 1, "_id.chat_id": 1, "messages.event_id": 1 },
        ),
        (
            segments,
            SEGMENT_CALLS,
            doc! { "app_id": 1, "_id.chat_id": 1, PRODUCED_BY_PATH: 1, "_id.first_sequence": 1 },
        ),
        (
            calls,
            "call_app_chat_called",
            doc! { "app_id": 1, "_id.chat_id": 1, "called_at": -1, "_id.call_id": -1 },
        ),
        (
            calls,
            "call_app_workflow_called",
            doc! { "app_id": 1, "workflow_name": 1, "called_at": 1 },
        ),
        (
            inputs,
            "in_app_chat_created",
            doc! { "app_id": 1, "_id.chat_id": 1, "created_at": -1, "_id.request_id": -1 },
        ),
        (inputs, "in_app_request", doc! { "app_id": 1, "_id.request_id": 1 }),
        (inputs, "in_state_expires", doc! { "state": 1, "expires_at": 1 }),
        (
            &store.inner.resume_points,
            "rp_app_chat_turn",
            doc! { "app_id": 1, "_id.chat_id": 1, "turn": 1, "_id.sequence": 1 },
        ),
        (
            changes,
            "change_app_workflow_changed",
            doc! { "app_id": 1, "workflow_name": 1, "changed_at": 1 },
        ),
        (
            rollups,
            "ws_app_kind_workflow_hour",
            doc! { "_id.app_id": 1, "_id.kind": 1, "_id.workflow_name": 1, "_id.hour": 1 },
        ),
        (rollups, "ws_app_kind_hour", doc! { "_id.app_id": 1, "_id.kind": 1, "_id.hour": 1 }),
        (
            rollups,
            "ws_app_workflow_kind_started",
            doc! {
                "_id.app_id": 1, "_id.workflow_name": 1, "_id.kind": 1, "started_at": -1,
                "_id.name": -1,
            },
        ),
        (lines, "we_app_user_sequence", doc! { "app_id": 1, "user_id": 1, "sequence": -1 }),
        (tickets, "ticket_ttl", doc! { "expires_at": 1 }),
    ]
}

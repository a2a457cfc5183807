use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    CHAT_SEGMENTS, CHAT_SESSIONS, INPUT_REQUESTS, PRESENCE, PRODUCED_BY_PATH, PROVIDER_CALLS,
    RESUME_POINTS, STATUS_CHANGES, TICKETS, WALLET_ENTRIES, WORKFLOW_STATS,
};
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
    for index in INDEXES {
        let collection = store.inner.database.collection(index.collection);
        let state = store.read(|| async { create(&collection, index.model()).await }).await?;
        let (collection, name) = (index.collection.to_owned(), index.name.to_owned());
        let report = IndexReport { collection, name, state };
        if state == IndexState::Conflicting {
            tracing::warn!(
                collection = report.collection,
                index = report.name,
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

/// An index that the store needs.
struct Index {
    collection: &'static str,
    name: &'static str,
    /// The fields in order, each ascending (1) or descending (-1).
    keys: &'static [(&'static str, i32)],
    /// If set, only documents with this field have entries.
    required_field: Option<&'static str>,
}

impl Index {
    const fn of(
        collection: &'static str,
        name: &'static str,
        keys: &'static [(&'static str, i32)],
    ) -> Self {
        Self { collection, name, keys, required_field: None }
    }

    const fn only_with(self, field: &'static str) -> Self {
        Self { required_field: Some(field), ..self }
    }

    fn model(&self) -> IndexModel {
        let removes_expired = self.name.ends_with("_ttl").then_some(Duration::ZERO);
        let partial = self.required_field.map(|field| doc! { field: { "$exists": true } });
        let options = IndexOptions::builder()
            .name(self.name.to_owned())
            .expire_after(removes_expired)
            .partial_filter_expression(partial)
            .build();
        let keys: Document =
            self.keys.iter().map(|(field, order)| ((*field).to_owned(), (*order).into())).collect();
        IndexModel::builder().keys(keys).options(options).build()
    }
}

/// One index for each kind of query; a query must never scan a collection.
///
/// An index whose name ends in `_ttl` removes expired documents. Lists of chats are ordered by
/// creation and then by id, so their indexes end with these fields.
const INDEXES: &[Index] = &[
    Index::of(PRESENCE, "presence_ttl", &[("expires_at", 1)]),
    Index::of(
        CHAT_SESSIONS,
        "cs_ent_wf_created",
        &[("app_id", 1), ("workflow_name", 1), ("created_at", -1)],
    ),
    Index::of(CHAT_SESSIONS, "idx_status", &[("status", 1)]),
    Index::of(CHAT_SESSIONS, "cs_status_lease", &[("status", 1), ("lease.expires_at", 1)]),
    Index::of(CHAT_SESSIONS, "cs_app_created", &[("app_id", 1), ("created_at", -1), ("_id", -1)]),
    Index::of(
        CHAT_SESSIONS,
        "cs_app_workflow_created",
        &[("app_id", 1), ("workflow_name", 1), ("created_at", -1), ("_id", -1)],
    ),
    Index::of(
        CHAT_SESSIONS,
        "cs_app_user_created",
        &[("app_id", 1), ("user_id", 1), ("created_at", -1), ("_id", -1)],
    ),
    Index::of(
        CHAT_SESSIONS,
        "cs_app_status_created",
        &[("app_id", 1), ("status", 1), ("created_at", -1), ("_id", -1)],
    ),
    Index::of(
        CHAT_SEGMENTS,
        "seg_app_chat_event",
        &[("app_id", 1), ("_id.chat_id", 1), ("messages.event_id", 1)],
    ),
    // Finds the sealed messages of a call.
    Index::of(
        CHAT_SEGMENTS,
        "seg_app_chat_call",
        &[("app_id", 1), ("_id.chat_id", 1), (PRODUCED_BY_PATH, 1), ("_id.first_sequence", 1)],
    )
    .only_with(PRODUCED_BY_PATH),
    Index::of(
        PROVIDER_CALLS,
        "call_app_chat_called",
        &[("app_id", 1), ("_id.chat_id", 1), ("called_at", -1), ("_id.call_id", -1)],
    ),
    Index::of(
        PROVIDER_CALLS,
        "call_app_workflow_called",
        &[("app_id", 1), ("workflow_name", 1), ("called_at", 1)],
    ),
    Index::of(
        INPUT_REQUESTS,
        "in_app_chat_created",
        &[("app_id", 1), ("_id.chat_id", 1), ("created_at", -1), ("_id.request_id", -1)],
    ),
    Index::of(INPUT_REQUESTS, "in_app_request", &[("app_id", 1), ("_id.request_id", 1)]),
    Index::of(INPUT_REQUESTS, "in_state_expires", &[("state", 1), ("expires_at", 1)]),
    Index::of(
        RESUME_POINTS,
        "rp_app_chat_turn",
        &[("app_id", 1), ("_id.chat_id", 1), ("turn", 1), ("_id.sequence", 1)],
    ),
    Index::of(
        STATUS_CHANGES,
        "change_app_workflow_changed",
        &[("app_id", 1), ("workflow_name", 1), ("changed_at", 1)],
    ),
    Index::of(
        WORKFLOW_STATS,
        "ws_app_kind_workflow_hour",
        &[("_id.app_id", 1), ("_id.kind", 1), ("_id.workflow_name", 1), ("_id.hour", 1)],
    ),
    Index::of(
        WORKFLOW_STATS,
        "ws_app_kind_hour",
        &[("_id.app_id", 1), ("_id.kind", 1), ("_id.hour", 1)],
    ),
    Index::of(
        WORKFLOW_STATS,
        "ws_app_workflow_kind_started",
        &[
            ("_id.app_id", 1),
            ("_id.workflow_name", 1),
            ("_id.kind", 1),
            ("started_at", -1),
            ("_id.name", -1),
        ],
    ),
    Index::of(
        WALLET_ENTRIES,
        "we_app_user_sequence",
        &[("app_id", 1), ("user_id", 1), ("sequence", -1)],
    ),
    Index::of(TICKETS, "ticket_ttl", &[("expires_at", 1)]),
];

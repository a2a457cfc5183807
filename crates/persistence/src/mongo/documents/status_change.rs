use bson::{DateTime, Document, RawDocumentBuf, doc};
use records::{AppId, ChatId, ChatStatus, StatusChange, WorkflowName};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::STATUS_CHANGES;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_record;
use crate::mongo::documents::word::StoredNumber;

/// A stored change of a chat's status.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StatusChangeDocument {
    #[serde(rename = "_id")]
    id: StatusChangeKey,
    app_id: AppId,
    workflow_name: WorkflowName,
    from: StoredNumber<ChatStatus>,
    to: StoredNumber<ChatStatus>,
    changed_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct StatusChangeKey {
    chat_id: ChatId,
    change_id: String,
}

/// Returns the id of a status change. The chat comes first, so that a chat's changes form a range of ids.
pub(crate) fn status_change_id(chat_id: &ChatId, change_id: &str) -> Document {
    doc! { "chat_id": chat_id.as_str(), "change_id": change_id }
}

impl StatusChangeDocument {
    /// Creates the document of a status change. `change_id` is the id of the store call that makes it, by
    /// which a retry recognises its own write.
    pub(crate) fn new(
        app_id: &AppId,
        workflow_name: &WorkflowName,
        change: &StatusChange,
        change_id: &str,
    ) -> Self {
        let id =
            StatusChangeKey { chat_id: change.chat_id.clone(), change_id: change_id.to_owned() };
        Self {
            id,
            app_id: app_id.clone(),
            workflow_name: workflow_name.clone(),
            from: StoredNumber(change.from),
            to: StoredNumber(change.to),
            changed_at: DateTime::from_chrono(change.changed_at),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<StatusChangeDocument> for StatusChange {
    fn from(document: StatusChangeDocument) -> Self {
        Self {
            chat_id: document.id.chat_id,
            from: document.from.0,
            to: document.to.0,
            changed_at: document.changed_at.to_chrono(),
        }
    }
}

/// Reads a status change.
pub(crate) fn status_change_record(raw: &RawDocumentBuf) -> Result<StatusChange, StoreError> {
    read_record::<StatusChangeDocument, _>(STATUS_CHANGES, raw)
}

use bson::{DateTime, Document, RawDocumentBuf, doc};
use records::{AppId, ChatId, ChatStatus, StatusChange, WorkflowName};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, STATUS_CHANGES, encode};
use crate::mongo::engine::failure::Failure;

/// Returns the id of a move: its chat comes first, for the chat's own to be found together.
pub(crate) fn status_change_id(chat_id: &ChatId, change_id: &str) -> Document {
    doc! { "chat_id": chat_id.as_str(), "change_id": change_id }
}

/// Returns the document of a move; `change_id` names the store call that makes it, so that its retry
/// knows its own work.
pub(crate) fn status_change_document(
    app_id: &AppId,
    workflow_name: &WorkflowName,
    change: &StatusChange,
    change_id: &str,
) -> Result<RawDocumentBuf, Failure> {
    encode(&doc! {
        "_id": status_change_id(&change.chat_id, change_id),
        "app_id": app_id.as_str(),
        "workflow_name": workflow_name.as_str(),
        "from": change.from.number(),
        "to": change.to.number(),
        "changed_at": DateTime::from_chrono(change.changed_at),
        "schema_version": SCHEMA_VERSION,
    })
}

/// Reads a move.
pub(crate) fn status_change_record(raw: &RawDocumentBuf) -> Result<StatusChange, StoreError> {
    let fields = Fields::open(STATUS_CHANGES, "(a move)", raw)?;
    let status = |name| {
        let number = fields.field(name)?.number()?;
        fields.required(name, ChatStatus::from_number(number))
    };
    Ok(StatusChange {
        chat_id: fields.inside(fields.document("_id")?).parsed("chat_id")?,
        from: status("from")?,
        to: status("to")?,
        changed_at: fields.time("changed_at")?,
    })
}

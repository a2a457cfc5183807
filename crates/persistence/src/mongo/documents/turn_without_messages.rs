use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use records::json::Digest;
use records::{ChatId, Scope, TurnId};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, TURNS_WITHOUT_MESSAGES, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::rules::turn_batch::TurnMark;

/// Returns the filter for the turn without messages that has a name.
pub(crate) fn turn_without_messages(
    scope: &Scope,
    chat_id: &ChatId,
    request_id: &TurnId,
) -> Document {
    doc! { "_id": id(chat_id, request_id), "app_id": scope.app_id.as_str() }
}

/// Returns the document by which a turn without messages is known for good; `turn` is its number.
pub(crate) fn turn_without_messages_document(
    scope: &Scope,
    chat_id: &ChatId,
    mark: &TurnMark,
    turn: u64,
    now: Time<Utc>,
) -> Result<RawDocumentBuf, Failure> {
    encode(&doc! {
        "_id": id(chat_id, &mark.request_id),
        "app_id": scope.app_id.as_str(),
        "turn": counter(turn),
        "digest": super::binary(&mark.digest),
        "created_at": DateTime::from_chrono(now),
        "schema_version": SCHEMA_VERSION,
    })
}

/// Reads the digest of a turn without messages.
pub(crate) fn turn_without_messages_digest(raw: &RawDocumentBuf) -> Result<Digest, StoreError> {
    let id = "(a turn without messages)";
    Fields::open(TURNS_WITHOUT_MESSAGES, id, raw)?.bytes("digest")
}

fn id(chat_id: &ChatId, request_id: &TurnId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "request_id": request_id.as_str() }
}

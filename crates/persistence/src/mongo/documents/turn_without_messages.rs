use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use records::json::{Digest, Salt};
use records::{AppId, ChatId, Scope, TurnId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::TURNS_WITHOUT_MESSAGES;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{SALTED_VERSION, SCHEMA_VERSION};
use crate::rules::stored_digest::StoredDigest;
use crate::rules::turn_batch::TurnMark;

/// A stored turn without messages. It keeps the id of the turn forever, so that a retry is recognised. Other
/// turns are recognised by their messages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TurnWithoutMessagesDocument {
    #[serde(rename = "_id")]
    id: TurnKey,
    app_id: AppId,
    turn: u64,
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Option::is_none")]
    salt: Option<Salt>,
    #[serde(with = "serde_bytes")]
    digest: Digest,
    created_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct TurnKey {
    chat_id: ChatId,
    request_id: TurnId,
}

/// Returns the filter for the turn without messages that has this id.
pub(crate) fn turn_without_messages(
    scope: &Scope,
    chat_id: &ChatId,
    request_id: &TurnId,
) -> Document {
    let id = doc! { "chat_id": chat_id.as_str(), "request_id": request_id.as_str() };
    doc! { "_id": id, "app_id": scope.app_id.as_str() }
}

impl TurnWithoutMessagesDocument {
    /// Creates the document of a turn without messages. `turn` is its number in the chat.
    pub(crate) fn new(
        scope: &Scope,
        chat_id: &ChatId,
        mark: &TurnMark,
        digest: &StoredDigest,
        turn: u64,
        now: Time<Utc>,
    ) -> Self {
        let (chat_id, request_id) = (chat_id.clone(), mark.request_id.clone());
        Self {
            id: TurnKey { chat_id, request_id },
            app_id: scope.app_id.clone(),
            turn,
            salt: digest.salt,
            digest: digest.digest,
            created_at: DateTime::from_chrono(now),
            schema_version: digest.version(SALTED_VERSION, SCHEMA_VERSION),
        }
    }
}

/// Reads the digest of a turn without messages.
pub(crate) fn turn_without_messages_digest(
    raw: &RawDocumentBuf,
) -> Result<StoredDigest, StoreError> {
    let document: TurnWithoutMessagesDocument = read_document(TURNS_WITHOUT_MESSAGES, raw)?;
    Ok(StoredDigest { digest: document.digest, salt: document.salt })
}

use bson::{DateTime, Document, RawDocument, doc};
use records::{ChatId, DisplayName, Limits, Participant, Scope, UserId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::CHAT_PARTICIPANTS;
use crate::mongo::documents::NEWEST_VERSION;
use crate::mongo::documents::stored::read_document;

/// A participant, with the store call that added it.
#[derive(Debug)]
pub(crate) struct StoredParticipant {
    pub(crate) participant: Participant,
    /// The id of that call, by which a retry recognises its own write.
    pub(crate) join_id: String,
}

/// The fields of a chat's participants document that are read.
#[derive(Debug, Deserialize)]
struct ParticipantsDocument {
    participants: Vec<ParticipantDocument>,
}

/// One participant in the document of a chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ParticipantDocument {
    user_id: UserId,
    display_name: Option<DisplayName>,
    joined_at: DateTime,
    join_id: String,
}

impl From<&StoredParticipant> for ParticipantDocument {
    fn from(stored: &StoredParticipant) -> Self {
        let Participant { user_id, display_name, joined_at } = &stored.participant;
        Self {
            user_id: user_id.clone(),
            display_name: display_name.clone(),
            joined_at: DateTime::from_chrono(*joined_at),
            join_id: stored.join_id.clone(),
        }
    }
}

impl From<ParticipantDocument> for StoredParticipant {
    fn from(document: ParticipantDocument) -> Self {
        let ParticipantDocument { user_id, display_name, joined_at, join_id } = document;
        let joined_at = joined_at.to_chrono();
        Self { participant: Participant { user_id, display_name, joined_at }, join_id }
    }
}

/// Returns the filter for the participants document of a chat.
pub(crate) fn participants_filter(scope: &Scope, chat_id: &ChatId) -> Document {
    doc! {
        "_id": chat_id.as_str(),
        "app_id": scope.app_id.as_str(),
        "schema_version": { "$lte": NEWEST_VERSION },
    }
}

/// Returns the filter for the participants document of a chat, if it has this user.
pub(crate) fn participants_with_user(
    scope: &Scope,
    chat_id: &ChatId,
    user_id: &UserId,
) -> Document {
    let mut filter = participants_filter(scope, chat_id);
    filter.insert("participants.user_id", user_id.as_str());
    filter
}

/// Returns the filter for the participants document of a chat, if it lacks this user and has room for one
/// more participant.
pub(crate) fn participants_without_user(
    scope: &Scope,
    chat_id: &ChatId,
    user_id: &UserId,
) -> Document {
    let mut filter = participants_filter(scope, chat_id);
    filter.insert("participants.user_id", doc! { "$ne": user_id.as_str() });
    let last = format!("participants.{}", Limits::PARTICIPANTS - 1);
    filter.insert(last, doc! { "$exists": false });
    filter
}

/// Reads the participants of a chat.
pub(crate) fn participant_records(raw: &RawDocument) -> Result<Vec<StoredParticipant>, StoreError> {
    let ParticipantsDocument { participants } = read_document(CHAT_PARTICIPANTS, raw)?;
    Ok(participants.into_iter().map(StoredParticipant::from).collect())
}

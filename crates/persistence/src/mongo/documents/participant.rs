use bson::{DateTime, Document, RawDocument, doc};
use records::{ChatId, Limits, Participant, Scope, UserId};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{CHAT_PARTICIPANTS, NEWEST_VERSION};

/// A participant as stored: with the store call that had them join.
#[derive(Debug)]
pub(crate) struct StoredParticipant {
    pub(crate) participant: Participant,
    pub(crate) join_id: String,
}

impl StoredParticipant {
    /// Returns what is pushed to those of a chat.
    pub(crate) fn document(&self) -> Document {
        let Participant { user_id, display_name, joined_at } = &self.participant;
        doc! {
            "user_id": user_id.as_str(),
            "display_name": display_name.as_ref().map(records::DisplayName::as_str),
            "joined_at": DateTime::from_chrono(*joined_at),
            "join_id": self.join_id.as_str(),
        }
    }

    fn read(fields: &Fields<'_>) -> Result<Self, StoreError> {
        let participant = Participant {
            user_id: fields.parsed("user_id")?,
            display_name: fields.field("display_name")?.optional_parsed()?,
            joined_at: fields.time("joined_at")?,
        };
        Ok(Self { participant, join_id: fields.field("join_id")?.text()?.to_owned() })
    }
}

/// Returns the filter for the participants of a chat.
pub(crate) fn participants_of(scope: &Scope, chat_id: &ChatId) -> Document {
    doc! {
        "_id": chat_id.as_str(),
        "app_id": scope.app_id.as_str(),
        "schema_version": { "$lte": NEWEST_VERSION },
    }
}

/// Returns the filter for the participants of a chat with one user among them.
pub(crate) fn participants_with(scope: &Scope, chat_id: &ChatId, user_id: &UserId) -> Document {
    let mut filter = participants_of(scope, chat_id);
    filter.insert("participants.user_id", user_id.as_str());
    filter
}

/// Returns the filter for the participants of a chat without a user, and with room for one.
pub(crate) fn participants_without(scope: &Scope, chat_id: &ChatId, user_id: &UserId) -> Document {
    let mut filter = participants_of(scope, chat_id);
    filter.insert("participants.user_id", doc! { "$ne": user_id.as_str() });
    let last = format!("participants.{}", Limits::PARTICIPANTS - 1);
    filter.insert(last, doc! { "$exists": false });
    filter
}

/// Reads the participants of a chat.
pub(crate) fn participant_records(raw: &RawDocument) -> Result<Vec<StoredParticipant>, StoreError> {
    let id = raw.get_str("_id").unwrap_or("(without a text id)");
    let fields = Fields::open(CHAT_PARTICIPANTS, id, raw)?;
    let participants = fields.documents("participants")?;
    participants.map(|fields| StoredParticipant::read(&fields?)).collect()
}

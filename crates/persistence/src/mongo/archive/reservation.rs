//! The ids of chats that an archive brings.
//!
//! The session of such a chat is stored last, so that the chat appears when all of it is there. Until then a reservation has
//! its place: otherwise a caller could create a chat of that id, which would show the documents that are stored already.
//! A reservation has no app, so that no call finds a chat.

use bson::{Bson, DateTime, Document, RawDocument, doc};
use records::{Actor, AppId, AuditAction, ChatId, Lifecycle};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{LIFECYCLE, encode};
use crate::mongo::engine::failure::is_duplicate_key;
use crate::rules::audit::Audited;

/// The field of a reservation with the app of the chat, and the time at which its import began.
const IMPORTING: &str = "importing";

/// Matches the reservation of a chat.
pub(super) fn reservation_filter(app_id: &AppId, chat_id: &ChatId) -> Document {
    let mut filter = reservations_of(app_id);
    filter.insert("_id", chat_id.as_str());
    filter
}

/// Matches the reservations of an app.
pub(crate) fn reservations_of(app_id: &AppId) -> Document {
    doc! { "app_id": Bson::Null, "importing.app_id": app_id.as_str() }
}

/// Returns whether a document of the sessions is the reservation of a chat.
pub(crate) fn is_reservation(raw: &RawDocument) -> bool {
    raw.get_str("app_id").is_err() && raw.get_document(IMPORTING).is_ok()
}

impl MongoStore {
    /// Reserves the id of a chat whose documents an archive brings, until its session is stored or it is purged.
    ///
    /// Returns `false` if the database has the chat, of whatever app. Safe to repeat, also by another import.
    pub async fn reserve_chat(&self, app_id: &AppId, chat_id: &ChatId) -> Result<bool, StoreError> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        let reservation = doc! {
            "_id": chat_id.as_str(),
            // For a reader of all sessions, it is a chat without text.
            LIFECYCLE: Lifecycle::Purged.number(),
            IMPORTING: { "app_id": app_id.as_str(), "since": now },
        };
        let sessions = &self.inner.chat_sessions;
        self.write_until(self.deadline(), |_| async {
            let reservation = encode(&reservation)?;
            match sessions.insert_one(&reservation).await {
                Ok(_) => Ok(true),
                Err(error) if is_duplicate_key(&error) => {
                    let reserved = sessions.find_one(reservation_filter(app_id, chat_id));
                    Ok(reserved.projection(doc! { "_id": 1 }).await?.is_some())
                }
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Removes what an import has stored of a chat whose session it did not store. Returns whether there was such a chat.
    pub(crate) async fn purge_reserved(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<bool, StoreError> {
        let reserved = reservation_filter(app_id, chat_id);
        let sessions = &self.inner.chat_sessions;
        let find = || async { Ok(sessions.find_one(reserved.clone()).await?) };
        if self.read(find).await?.is_none() {
            return Ok(false);
        }
        let action = AuditAction::PurgeChat;
        self.write_entry(Audited::of_operator(actor, Some(app_id), Some(chat_id), action)).await?;
        self.write_until(self.deadline(), |_| async {
            self.remove_records(app_id, chat_id).await?;
            sessions.delete_one(reserved.clone()).await?;
            Ok(true)
        })
        .await
    }
}

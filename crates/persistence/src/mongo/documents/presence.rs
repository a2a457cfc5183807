use std::time::Duration;

use bson::raw::RawDocumentBuf;
use bson::{Bson, DateTime, Document, RawDocument, doc, rawdoc};
use chrono::{DateTime as Time, Utc};
use records::{ChatId, Connection, Scope, UserId};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::collection_names::PRESENCE;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_record;
use crate::rules::presence::Announced;

/// Returns the id of a connection's announcement.
pub(crate) fn presence_id(connection: &Connection) -> Document {
    let Connection { chat_id, connection_id, .. } = connection;
    doc! { "chat_id": chat_id.as_str(), "connection_id": connection_id.as_str() }
}

/// Returns the filter for the announcements of a chat that have not expired.
pub(crate) fn presence_filter(scope: &Scope, chat_id: &ChatId, now: Time<Utc>) -> Document {
    let id =
        |connection_id: Bson| doc! { "chat_id": chat_id.as_str(), "connection_id": connection_id };
    doc! {
        "_id": { "$gte": id(Bson::MinKey), "$lt": id(Bson::MaxKey) },
        "app_id": scope.app_id.as_str(),
        "expires_at": { "$gt": DateTime::from_chrono(now) },
    }
}

/// Creates the statement of an `update` command that announces a connection, or renews its announcement,
/// for the time `lasting`.
pub(crate) fn announcement(
    scope: &Scope,
    connection: &Connection,
    now: Time<Utc>,
    lasting: Duration,
) -> RawDocumentBuf {
    rawdoc! {
        "q": {
            "_id": {
                "chat_id": connection.chat_id.as_str(),
                "connection_id": connection.connection_id.as_str(),
            },
            "app_id": scope.app_id.as_str(),
        },
        "u": {
            "$set": { "expires_at": DateTime::from_chrono(now + lasting) },
            "$setOnInsert": {
                "user_id": connection.user_id.as_str(),
                "since": DateTime::from_chrono(now),
                "schema_version": SCHEMA_VERSION,
            },
        },
        "upsert": true,
        "hint": "_id_",
    }
}

/// The fields of an announcement that are read.
#[derive(Debug, Deserialize)]
struct AnnouncementDocument {
    user_id: UserId,
    since: DateTime,
    expires_at: DateTime,
}

impl From<AnnouncementDocument> for Announced {
    fn from(document: AnnouncementDocument) -> Self {
        let AnnouncementDocument { user_id, since, expires_at } = document;
        Self { user_id, since: since.to_chrono(), expires_at: expires_at.to_chrono() }
    }
}

/// Reads an announcement.
pub(crate) fn announcement_record(raw: &RawDocument) -> Result<Announced, StoreError> {
    read_record::<AnnouncementDocument, _>(PRESENCE, raw)
}

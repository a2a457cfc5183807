use bson::{Document, RawDocumentBuf, doc, rawdoc};
use records::{AppId, ChatId, Message, search_rank};
use serde::{Deserialize, Serialize};

use crate::mongo::documents::time::Time;
use crate::mongo::documents::{SCHEMA_VERSION, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::rules::search::words_of;
use crate::store::HitPosition;

/// The fields of entries that queries name.
pub(super) const WORDS: &str = "words";
pub(super) const RANK: &str = "rank";
pub(super) const ENTRY_CHAT: &str = "_id.chat_id";

/// The words of a message.
///
/// A message without words has an entry, too: a slower process then cannot add the words that it had before.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SearchEntryDocument {
    #[serde(rename = "_id")]
    id: EntryKey,
    app_id: AppId,
    words: Vec<String>,
    /// The order of hits; see [`search_rank`].
    rank: i64,
    /// The revision of the chat from which on the message was read. An entry of a later one is never replaced.
    revision: i64,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct EntryKey {
    chat_id: ChatId,
    sequence: u64,
}

/// How far the messages of a chat are indexed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MarkDocument {
    #[serde(rename = "_id")]
    pub(super) chat_id: ChatId,
    pub(super) app_id: AppId,
    /// The messages below this sequence have entries.
    pub(super) next_sequence: u64,
    /// The edits of these messages up to this revision are in the entries.
    pub(super) revision: u64,
    pub(super) indexed_at: Time,
    pub(super) schema_version: i64,
}

/// How far the chats of an app are known to be indexed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProgressDocument {
    #[serde(rename = "_id")]
    pub(super) app_id: AppId,
    /// Every change before this time is in the index.
    pub(super) indexed_to: Time,
    pub(super) schema_version: i64,
}

/// The position of an entry, as queries read it.
#[derive(Debug, Deserialize)]
pub(super) struct EntryRow {
    #[serde(rename = "_id")]
    id: EntryKey,
    pub(super) rank: i64,
    #[serde(default)]
    pub(super) words: Vec<String>,
}

impl EntryRow {
    pub(super) fn position(&self) -> HitPosition {
        let EntryKey { chat_id, sequence } = &self.id;
        HitPosition { rank: self.rank, chat_id: chat_id.clone(), sequence: *sequence }
    }
}

pub(super) fn entry_id(chat_id: &ChatId, sequence: u64) -> Document {
    doc! { "chat_id": chat_id.as_str(), "sequence": counter(sequence) }
}

/// Returns the statement of an `update` command that stores the entry of a message, unless there is one of a later revision:
/// the statement then fails, because the entry exists.
pub(super) fn entry_statement(
    app_id: &AppId,
    chat_id: &ChatId,
    revision: u64,
    message: &Message,
) -> Result<RawDocumentBuf, Failure> {
    let sequence = message.sequence;
    let mut entry = encode(&SearchEntryDocument {
        id: EntryKey { chat_id: chat_id.clone(), sequence },
        app_id: app_id.clone(),
        words: words_of(message),
        rank: search_rank(message.created_at, chat_id, sequence),
        revision: counter(revision),
        schema_version: SCHEMA_VERSION,
    })?;
    let mut older = doc! { "_id": entry_id(chat_id, sequence), "app_id": app_id.as_str() };
    older.insert("revision", doc! { "$lte": counter(revision) });
    entry = rawdoc! { "q": encode(&older)?, "u": entry, "upsert": true, "hint": "_id_" };
    Ok(entry)
}

impl MarkDocument {
    /// Returns the statement of an `update` command that creates the mark of a chat that has none.
    pub(super) fn creation(&self) -> Result<RawDocumentBuf, Failure> {
        let mut mark = Document::try_from(encode(self)?).map_err(mongodb::error::Error::from)?;
        let id = mark.remove("_id");
        let statement = doc! {
            "q": { "_id": id }, "u": { "$setOnInsert": mark }, "upsert": true, "hint": "_id_",
        };
        encode(&statement)
    }

    /// Returns the statement of an `update` command that moves the mark, unless it was moved since it was read.
    pub(super) fn move_to(&self, next_sequence: u64, revision: u64, now: Time) -> RawDocumentBuf {
        rawdoc! {
            "q": {
                "_id": self.chat_id.as_str(),
                "app_id": self.app_id.as_str(),
                "next_sequence": counter(self.next_sequence),
                "revision": counter(self.revision),
            },
            "u": { "$set": {
                "next_sequence": counter(next_sequence),
                "revision": counter(revision),
                "indexed_at": bson::DateTime::from_chrono(now.0),
            } },
            "hint": "_id_",
        }
    }
}

//! Overwrites messages where they are stored, also those that forks share: for erasures (decision 0053) and for deleted
//! texts (decision 0054). Edits never do.

use bson::{DateTime, Document, RawDocument, doc};
use records::{AppId, ChatId};

use crate::mongo::MongoStore;
use crate::mongo::collections::EDITED_AT;
use crate::mongo::documents::{Segment, StoredMessage, counter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::chats_showing;
use crate::mongo::transcript::edit::{decode_document, push_recent_edits, segment_filter};
use crate::mongo::transcript::reader::{MAX_READ_ATTEMPTS, gap_error};

impl MongoStore {
    /// Overwrites messages in the last segment of a chat that a filter matches, if there is one: those for which `change`
    /// returns a new one. It is called again if the segment was edited meanwhile.
    pub(crate) async fn overwrite_in_segment(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        filter: Document,
        mut change: impl FnMut(StoredMessage) -> Result<Option<StoredMessage>, Failure> + Send,
    ) -> Result<Vec<u64>, Failure> {
        let segments = &self.inner.chat_segments;
        for _ in 0..MAX_READ_ATTEMPTS {
            let find = segments.find_one(filter.clone()).sort(doc! { "_id": -1 });
            let Some(raw) = find.await? else { return Ok(Vec::new()) };
            let Segment { head, messages } = Segment::read(chat_id, &raw)?;
            let (mut set, mut overwritten) = (Document::new(), Vec::new());
            for (index, old) in messages.into_iter().enumerate() {
                if let Some(new) = change(old)? {
                    set.insert(format!("messages.{index}"), decode_document(&new.document())?);
                    overwritten.push(new.message.sequence);
                }
            }
            if set.is_empty() {
                return Ok(Vec::new());
            }
            let update = doc! { "$set": set, "$inc": { "edits": 1_i64 } };
            let unchanged = segment_filter(app_id, chat_id, &head);
            if segments.update_one(unchanged, update).await?.matched_count == 1 {
                return Ok(overwritten);
            }
        }
        Err(gap_error(chat_id))
    }

    /// Overwrites the message of a version, unless a later edit has removed the version.
    pub(crate) async fn overwrite_version(
        &self,
        app_id: &AppId,
        version: &RawDocument,
        message: &StoredMessage,
    ) -> Result<(), Failure> {
        let id = decode_document(version)?.remove("_id");
        let one = doc! { "_id": id, "app_id": app_id.as_str() };
        let set = doc! { "$set": { "message": decode_document(&message.document())? } };
        self.inner.message_versions.update_one(one, set).await?;
        Ok(())
    }

    /// Records in chats, and in the forks that share their messages, that sealed messages were overwritten.
    pub(crate) async fn record_overwritten(
        &self,
        app_id: &AppId,
        chats: &[&str],
        sequences: &[u64],
    ) -> Result<(), Failure> {
        let these = chats_showing(app_id, chats);
        let count = counter(sequences.len() as u64);
        let tell = doc! {
            "$set": { EDITED_AT: DateTime::from_chrono(self.inner.clock.now()) },
            "$inc": { "revision": count },
            "$push": push_recent_edits(sequences.iter().copied()),
        };
        self.inner.chat_sessions.update_many(these, tell).await?;
        Ok(())
    }
}

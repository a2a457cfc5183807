//! What a purge removes after its decision, and what it leaves to forks.

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::options::ReadConcern;
use mongodb::{ClientSession, SessionCursor};
use records::{AppId, ChatId, Lifecycle};

use super::purged_filter;
use crate::mongo::MongoStore;
use crate::mongo::collections::{COLLECTIONS, Purge};
use crate::mongo::documents::{
    Base, LIFECYCLE, Lineage, Segment, counter, open_chat_session, segment_id, segments_filter,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::{chat_filter, chat_ids, chats_showing};

/// How far the sealed messages and the overlays of a purged chat are shared with chats that exist.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shared {
    /// The messages below this sequence are.
    below: u64,
    /// The overlays up to this revision are.
    revision: i64,
}

impl MongoStore {
    /// Removes the records of a purged chat, except what other chats share. Safe to repeat.
    pub(in crate::mongo) async fn remove_records(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        self.inner.chat_cache.forget_tail(chat_id);
        self.inner.chains.forget_chat(chat_id);
        self.remove_shared(app_id, chat_id).await?;
        for stored in COLLECTIONS {
            let collection = self.inner.database.collection::<RawDocumentBuf>(stored.name);
            match stored.purge {
                Purge::Deletes => {
                    collection.delete_many(records_filter(app_id, chat_id)).await?;
                }
                Purge::DeletesOne => {
                    let one = chat_filter(app_id, chat_id);
                    collection.delete_many(one).await?;
                }
                Purge::DeletesBound => {
                    collection.delete_many(bound_filter(app_id, chat_id)).await?;
                }
                Purge::Clears(fields) => {
                    let cleared = fields.iter().map(|field| ((*field).to_owned(), Bson::Null));
                    let cleared = doc! { "$set": cleared.collect::<Document>() };
                    collection.update_many(records_filter(app_id, chat_id), cleared).await?;
                }
                Purge::Itself | Purge::Keeps(_) => {}
            }
        }
        // The purged chat may have been the last fork of chats that were purged before it.
        let one = chat_filter(app_id, chat_id);
        let find = self.inner.chat_sessions.find_one(one);
        let Some(raw) = find.projection(Lineage::projection()).await? else { return Ok(()) };
        let lineage = Lineage::read(chat_id, &open_chat_session(&raw)?)?;
        // What is deleted in all others may have been shown by this one only.
        if lineage.is_shared() {
            self.check_deleted_texts(app_id, chat_id).await?;
        }
        for base in lineage.base_chats() {
            self.check_deleted_texts(app_id, base).await?;
            let purged = self.inner.chat_sessions.find_one(purged_filter(app_id, base));
            if purged.projection(doc! { "_id": 1 }).await?.is_some() {
                self.remove_shared(app_id, base).await?;
            }
        }
        Ok(())
    }

    /// Removes the sealed messages and the overlays of a purged chat that no chat shares.
    pub(super) async fn remove_shared(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        let shared = self.shared_with_forks(app_id, chat_id).await?;
        let Shared { below, revision } = shared;
        let (segments, versions) = (&self.inner.chat_segments, &self.inner.message_versions);
        let mut unshared = records_filter(app_id, chat_id);
        if shared == Shared::default() {
            segments.delete_many(unshared.clone()).await?;
            versions.delete_many(unshared).await?;
            return Ok(());
        }
        segments.delete_many(segments_filter(app_id, chat_id, below..u64::MAX)).await?;
        self.cut_segment(app_id, chat_id, below).await?;
        unshared.insert(
            "$or",
            vec![
                doc! { "_id.sequence": { "$gte": counter(below) } },
                doc! { "_id.revision": { "$gt": revision } },
            ],
        );
        versions.delete_many(unshared).await?;
        Ok(())
    }

    /// Removes the messages from a sequence on from the segment that has them.
    async fn cut_segment(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        below: u64,
    ) -> Result<(), Failure> {
        let before = segments_filter(app_id, chat_id, 0..below);
        let find = self.inner.chat_segments.find_one(before).sort(doc! { "_id": -1 });
        let head = doc! { "count": 1, "schema_version": 1 };
        let Some(raw) = find.projection(head).await? else { return Ok(()) };
        let (first_sequence, fields) = Segment::open(chat_id, &raw)?;
        let kept = below - first_sequence;
        if fields.count("count")? <= kept {
            return Ok(());
        }
        let one = doc! { "_id": segment_id(chat_id, first_sequence), "app_id": app_id.as_str() };
        let cut = doc! {
            "$push": { "messages": { "$each": [], "$slice": counter(kept) } },
            "$set": { "count": counter(kept) },
        };
        self.inner.chat_segments.update_one(one, cut).await?;
        Ok(())
    }

    /// Finds the chats that show sealed messages of a chat, with the fields of their lineages: the chat itself, and the chats
    /// that share them. None of them is purged.
    pub(crate) async fn chats_that_show(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        session: &mut ClientSession,
    ) -> Result<SessionCursor<RawDocumentBuf>, Failure> {
        let mut chats = chats_showing(app_id, &[chat_id.as_str()]);
        chats.insert(LIFECYCLE, doc! { "$not": { "$gte": Lifecycle::Purged.number() } });
        let find = self.inner.chat_sessions.find(chats).projection(Lineage::projection());
        Ok(find.read_concern(ReadConcern::snapshot()).session(session).await?)
    }

    /// Returns the ids of the chats that show sealed messages of a chat, purged ones too.
    pub(crate) async fn ids_that_show(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Vec<ChatId>, Failure> {
        let shows = chats_showing(app_id, &[chat_id.as_str()]);
        let found = self.inner.chat_sessions.find(shows).projection(doc! { "_id": 1 }).await?;
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        Ok(chat_ids(&found).collect())
    }

    /// Returns how far the messages of a purged chat are shared with chats that are not purged.
    ///
    /// It reads one snapshot: a fork of a fork may appear while the fork itself is purged, and a scan could miss both. No
    /// chat can begin to share the messages later, because it would have to fork one that shares them.
    pub(super) async fn shared_with_forks(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Shared, Failure> {
        let mut session = self.snapshot_session().await?;
        let mut found = self.chats_that_show(app_id, chat_id, &mut session).await?;
        let mut shared = Shared::default();
        while let Some(raw) = found.next(&mut session).await.transpose()? {
            let lineage = Lineage::read(chat_id, &open_chat_session(&raw)?)?;
            for Base { below, revision, .. } in lineage.bases_in(chat_id) {
                shared.below = shared.below.max(*below);
                shared.revision = shared.revision.max(*revision);
            }
        }
        Ok(shared)
    }
}

/// Returns the filter for the documents whose `_id` begins with a chat.
pub(crate) fn records_filter(app_id: &AppId, chat_id: &ChatId) -> Document {
    let first = doc! { "chat_id": chat_id.as_str() };
    // The name of the second field does not matter: no value is greater.
    let last = doc! { "chat_id": chat_id.as_str(), "last": Bson::MaxKey };
    doc! { "_id": { "$gte": first, "$lt": last }, "app_id": app_id.as_str() }
}

/// Returns the filter for the documents of an app that are bound to a chat.
pub(crate) fn bound_filter(app_id: &AppId, chat_id: &ChatId) -> Document {
    doc! { "_id.app_id": app_id.as_str(), "chat_id": chat_id.as_str() }
}

//! Erases the text of messages where it is stored: in tails, segments and versions.
//!
//! Unlike a deletion, this writes segments and versions that forks share.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{AppId, ChatId, MessageBody};

use crate::mongo::MongoStore;
use crate::mongo::collections::EDITED_AT;
use crate::mongo::documents::{
    Lineage, NEWEST_VERSION, Segment, StoredMessage, counter, erased_digest, open_chat_session,
    segment_id, version_id, version_message,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::{chat_filter, chats_showing};
use crate::mongo::purges::records_filter;
use crate::mongo::transcript::edit::{decode_document, push_recent_edits};
use crate::mongo::transcript::reader::{Direction, MAX_READ_ATTEMPTS, SessionView, gap_error};
use crate::rules::erasure::{Extent, Person};

/// Messages that are erased.
#[derive(Debug)]
pub(super) struct Erasing<'a> {
    pub(super) person: &'a Person,
    pub(super) app_id: &'a AppId,
    pub(super) chat_id: &'a ChatId,
    pub(super) extent: Extent,
}

/// What was found to erase of the messages of one chat.
#[derive(Debug, Default)]
struct Found {
    sequences: BTreeSet<u64>,
    /// Those whose text goes, and who says them then.
    texts: BTreeMap<u64, String>,
    /// The messages that this process has erased. Each is erased in one conditional update where its chat has it, so of several
    /// processes that share the work one counts it.
    erased: BTreeSet<u64>,
    /// The turns of the messages, their connectors and their modes.
    turns: BTreeSet<String>,
    connectors: BTreeSet<String>,
    modes: BTreeSet<String>,
}

/// Where a chat has its messages, once its tail has nothing to erase any more.
///
/// They decide where a message counts, so that no copy of it counts again: in the tail; in a segment, if it is sealed (a sealing
/// that did not end leaves copies of the tail); and in a version, if its segment is that of another chat.
#[derive(Debug)]
struct Places {
    lineage: Lineage,
    first_sequence: u64,
}

impl Places {
    /// Returns whether the chat has a message in a segment of its own, or in its tail.
    fn has_its_own(&self, sequence: u64) -> bool {
        sequence >= self.first_sequence || self.lineage.owner(sequence) == self.lineage.chat_id()
    }
}

impl Found {
    /// Returns the values that a session may repeat, by the field of the message.
    fn repeated(&mut self) -> [(&'static str, &mut BTreeSet<String>); 3] {
        [
            (MessageBody::REQUEST_ID, &mut self.turns),
            (MessageBody::CONNECTOR, &mut self.connectors),
            (MessageBody::MODE, &mut self.modes),
        ]
    }
}

impl Erasing<'_> {
    /// Erases a message; returns its document if there was anything to erase.
    fn wipe(
        &self,
        store: &MongoStore,
        mut stored: StoredMessage,
        found: &mut Found,
    ) -> Result<Option<StoredMessage>, Failure> {
        let body = stored.message.body.clone();
        if !self.person.wipe(&mut stored.message, &mut stored.digest, &self.extent) {
            return Ok(None);
        }
        let sequence = stored.message.sequence;
        found.sequences.insert(sequence);
        if body != stored.message.body {
            found.texts.insert(sequence, stored.message.body.speaker().to_owned());
            for (field, values) in found.repeated() {
                values.extend(body.extra_text(field).map(str::to_owned));
            }
        }
        stored.measure()?;
        store.tag_change(self.app_id, self.chat_id, &mut stored);
        Ok(Some(stored))
    }

    /// Returns the messages among which the ones to erase are.
    fn span(&self) -> Range<u64> {
        0..self.extent.end()
    }

    /// Returns a filter for segments with messages to erase.
    fn segments(&self) -> Document {
        let (chat_id, end) = (self.chat_id, self.extent.end());
        let range = doc! { "$gte": segment_id(chat_id, 0), "$lt": segment_id(chat_id, end) };
        self.filter(doc! { "_id": range }, "messages")
    }

    /// Returns a filter for versions of messages to erase.
    fn versions(&self) -> Document {
        let of = |sequence| version_id(self.chat_id, sequence, 0);
        let range = doc! { "$gte": of(0), "$lt": of(self.extent.end()) };
        self.filter(doc! { "_id": range }, "message")
    }

    /// Returns a filter for documents with messages to erase, if their array of messages has this name.
    fn filter(&self, mut filter: Document, messages: &str) -> Document {
        filter.insert("app_id", self.app_id.as_str());
        if self.extent == Extent::Written {
            filter.extend(named_in(messages, self.person.user_id.as_str()));
        }
        filter
    }
}

/// Returns the condition that messages name a person.
pub(super) fn named_in(messages: &str, user_id: &str) -> Document {
    let fields = ["author.user_id", "edited_by", "deleted_by"];
    let named = fields.map(|field| doc! { format!("{messages}.{field}"): user_id });
    doc! { "$or": named.to_vec() }
}

impl MongoStore {
    /// Erases messages of a chat, wherever they are stored, and tells listeners. Returns how many this process has erased: what
    /// another one has erased meanwhile is counted there.
    ///
    /// What is repeated of the messages goes first: once they are overwritten, nothing tells any more what that was, and the
    /// process may be killed in between. It goes again afterwards, because messages may have been written meanwhile.
    pub(super) async fn erase_messages(&self, erasing: &Erasing<'_>) -> Result<u64, Failure> {
        let Erasing { app_id, chat_id, .. } = erasing;
        let to_erase = self.messages_to_erase(erasing).await?;
        if to_erase.sequences.is_empty() {
            // An earlier attempt may have erased them.
            self.index_again(app_id, chat_id).await?;
            return Ok(0);
        }
        self.erase_repeated(app_id, chat_id, &to_erase).await?;
        self.forget_commitments(app_id, chat_id, &to_erase.sequences).await?;
        let mut found = Found::default();
        let places = self.erase_in_tail(erasing, &mut found).await?;
        let in_tail = found.sequences.clone();
        self.erase_in_segments(erasing, places.as_ref(), &mut found).await?;
        self.erase_in_versions(erasing, places.as_ref(), &mut found).await?;
        let sealed: Vec<u64> = found.sequences.difference(&in_tail).copied().collect();
        if !sealed.is_empty() {
            // Forks that share them show the same. The update of the tail has told of those in it.
            self.record_overwritten(app_id, &[chat_id.as_str()], &sealed).await?;
            self.check_deleted_texts(app_id, chat_id).await?;
        }
        // A pass may have committed to them meanwhile.
        self.forget_commitments(app_id, chat_id, &found.sequences).await?;
        self.erase_repeated(app_id, chat_id, &found).await?;
        // Also if an earlier attempt has erased them.
        self.index_again(app_id, chat_id).await?;
        if !found.sequences.is_empty() {
            self.inner.chat_cache.forget_tail(chat_id);
            self.notify_change(chat_id);
        }
        Ok(found.erased.len() as u64)
    }

    /// Finds the messages to erase, and changes nothing.
    ///
    /// The tail is read first: messages move from it to segments and versions, and never back, so none is missed.
    async fn messages_to_erase(&self, erasing: &Erasing<'_>) -> Result<Found, Failure> {
        let chat_id = erasing.chat_id;
        let mut found = Found::default();
        let session = self.inner.chat_sessions.find_one(chat_filter(erasing.app_id, chat_id));
        if let Some(raw) = session.projection(SessionView::projection()).await? {
            let session = SessionView::read(chat_id, &raw)?;
            for message in session.tail_messages(&erasing.span(), Direction::OldestFirst)? {
                erasing.wipe(self, message.decode()?, &mut found)?;
            }
        }
        let mut segments = self.inner.chat_segments.find(erasing.segments()).await?;
        while let Some(raw) = segments.try_next().await? {
            for message in Segment::read(chat_id, &raw)?.messages {
                erasing.wipe(self, message, &mut found)?;
            }
        }
        let mut versions = self.inner.message_versions.find(erasing.versions()).await?;
        while let Some(raw) = versions.try_next().await? {
            erasing.wipe(self, version_message(chat_id, &raw)?, &mut found)?;
        }
        Ok(found)
    }

    /// Returns where the chat has its messages afterwards; `None` if there is no chat.
    async fn erase_in_tail(
        &self,
        erasing: &Erasing<'_>,
        found: &mut Found,
    ) -> Result<Option<Places>, Failure> {
        let Erasing { app_id, chat_id, .. } = erasing;
        let (one, span) = (chat_filter(app_id, chat_id), erasing.span());
        for _ in 0..MAX_READ_ATTEMPTS {
            let find = self.inner.chat_sessions.find_one(one.clone());
            let Some(raw) = find.projection(SessionView::projection()).await? else {
                return Ok(None);
            };
            let session = SessionView::read(chat_id, &raw)?;
            let tail = session.tail;
            let (mut set, mut growth) = (Document::new(), 0);
            let mut sequences = BTreeSet::new();
            for message in session.tail_messages(&span, Direction::OldestFirst)? {
                let old = message.decode()?;
                let (bytes, index) = (old.bytes, old.message.sequence - tail.first_sequence);
                if let Some(new) = erasing.wipe(self, old, found)? {
                    set.insert(format!("messages.{index}"), decode_document(&new.document())?);
                    growth += counter(new.bytes) - counter(bytes);
                    sequences.insert(new.message.sequence);
                }
            }
            let first_sequence = tail.first_sequence;
            let places = Places { lineage: session.lineage, first_sequence };
            if sequences.is_empty() {
                return Ok(Some(places));
            }
            set.insert(EDITED_AT, DateTime::from_chrono(erasing.person.now));
            let mut filter = one.clone();
            filter.insert("first_sequence", counter(tail.first_sequence));
            filter.insert("revision", tail.revision);
            filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
            let update = doc! {
                "$set": set,
                "$inc": { "revision": counter(sequences.len() as u64), "tail_bytes": growth },
                "$push": push_recent_edits(sequences.iter().copied()),
            };
            if self.inner.chat_sessions.update_one(filter, update).await?.matched_count == 1 {
                found.erased.extend(sequences);
                return Ok(Some(places));
            }
        }
        Err(gap_error(chat_id))
    }

    async fn erase_in_segments(
        &self,
        erasing: &Erasing<'_>,
        places: Option<&Places>,
        found: &mut Found,
    ) -> Result<(), Failure> {
        let segments = self.inner.chat_segments.find(erasing.segments());
        let ids = segments.projection(doc! { "_id": 1 }).await?;
        let ids: Vec<RawDocumentBuf> = ids.try_collect().await?;
        for id in &ids {
            // An edit may have split the segment meanwhile: the next pass finds the parts.
            let one = erasing.filter(decode_document(id)?, "messages");
            let wipe = |old| erasing.wipe(self, old, found);
            let overwriting = self.overwrite_in_segment(erasing.app_id, erasing.chat_id, one, wipe);
            let overwritten = overwriting.await?;
            let is_sealed = |it: &u64| places.is_none_or(|places| *it < places.first_sequence);
            found.erased.extend(overwritten.into_iter().filter(is_sealed));
        }
        Ok(())
    }

    async fn erase_in_versions(
        &self,
        erasing: &Erasing<'_>,
        places: Option<&Places>,
        found: &mut Found,
    ) -> Result<(), Failure> {
        let versions = self.inner.message_versions.find(erasing.versions());
        let ids = versions.projection(doc! { "_id": 1 }).await?;
        let ids: Vec<RawDocumentBuf> = ids.try_collect().await?;
        for id in &ids {
            let overwritten = self.erase_in_version(erasing, decode_document(id)?, found).await?;
            let is_shared = |it: &u64| places.is_some_and(|places| !places.has_its_own(*it));
            found.erased.extend(overwritten.filter(is_shared));
        }
        Ok(())
    }

    /// Erases the message of a version. Returns its sequence if this process has overwritten it.
    async fn erase_in_version(
        &self,
        erasing: &Erasing<'_>,
        id: Document,
        found: &mut Found,
    ) -> Result<Option<u64>, Failure> {
        let versions = &self.inner.message_versions;
        let one = erasing.filter(id, "message");
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some(raw) = versions.find_one(one.clone()).await? else { return Ok(None) };
            let old = version_message(erasing.chat_id, &raw)?;
            let Some(new) = erasing.wipe(self, old, found)? else { return Ok(None) };
            let mut unchanged = one.clone();
            unchanged.insert("message", doc! { "$eq": decode_document(&raw)?.remove("message") });
            let set = doc! { "$set": { "message": decode_document(&new.document())? } };
            if versions.update_one(unchanged, set).await?.matched_count == 1 {
                return Ok(Some(new.message.sequence));
            }
        }
        Err(gap_error(erasing.chat_id))
    }

    /// Erases what is repeated of erased messages: the unfinished steps of their turns, the digests of their turns, from which a
    /// short text could be guessed, and the newest speaker, connector and mode.
    async fn erase_repeated(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        found: &Found,
    ) -> Result<(), Failure> {
        let sessions = &self.inner.chat_sessions;
        let one = chat_filter(app_id, chat_id);
        let texts =
            |values: &BTreeSet<String>| doc! { "$in": values.iter().cloned().collect::<Vec<_>>() };
        if !found.turns.is_empty() {
            let erase = doc! {
                "$set": { "recent_turns.$[these].digest": erased_digest() },
                "$unset": { "recent_turns.$[these].salt": "" },
            };
            let these = doc! { "these.request_id": texts(&found.turns) };
            sessions.update_one(one.clone(), erase).array_filters([these]).await?;
            let mut last = one.clone();
            last.insert("last_turn.request_id", texts(&found.turns));
            let forget = doc! { "last_connector": Bson::Null, "last_mode": Bson::Null };
            sessions.update_one(last, doc! { "$set": forget }).await?;
        }
        if !found.texts.is_empty() {
            self.delete_points_showing(app_id, chat_id, found).await?;
        }
        if let Some((last, speaker)) = found.texts.last_key_value() {
            // It is never that of a message which a fork has taken over.
            let mut own = one.clone();
            own.insert("forked_from.sequence", doc! { "$not": { "$gt": counter(*last) } });
            own.insert("last_sequence", counter(last.saturating_add(1)));
            let set = doc! { "$set": { "last_speaker": speaker } };
            sessions.update_one(own, set).await?;
        }
        for (field, values) in [("last_connector", &found.connectors), ("last_mode", &found.modes)]
        {
            if !values.is_empty() {
                let mut same = one.clone();
                same.insert(field, texts(values));
                sessions.update_one(same, doc! { "$set": { field: Bson::Null } }).await?;
            }
        }
        Ok(())
    }

    /// Deletes the unfinished steps of the chats that show erased messages: their input may repeat any message before it, which
    /// cannot be seen.
    async fn delete_points_showing(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        found: &Found,
    ) -> Result<(), Failure> {
        let shows = chats_showing(app_id, &[chat_id.as_str()]);
        let mut shows =
            self.inner.chat_sessions.find(shows).projection(Lineage::projection()).await?;
        while let Some(raw) = shows.try_next().await? {
            let fields = open_chat_session(&raw)?;
            let shown_in: ChatId = fields.parsed("_id")?;
            let lineage = Lineage::read(&shown_in, &fields)?;
            let is_shown = shown_in == *chat_id
                || found.texts.keys().any(|sequence| lineage.owner(*sequence) == chat_id);
            if is_shown {
                let points = records_filter(app_id, &shown_in);
                self.inner.resume_points.delete_many(points).await?;
            }
        }
        Ok(())
    }
}

//! Removes the text of deleted messages that several chats share, once none of them shows it (decision 0054).
//!
//! A chat that shows a message as deleted never shows its text again, and a chat that begins to share it shows what its
//! source shows. So what was found in one snapshot of the database stays true.

use std::collections::BTreeSet;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::options::{ReadConcern, SessionOptions};
use mongodb::{ClientSession, SessionCursor};
use records::{AppId, ChatId, Lifecycle, Scope};

use crate::StoreError;
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::MESSAGE_VERSIONS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Base, LIFECYCLE, Lineage, NEWEST_VERSION, Segment, StoredMessage, TEXT_CHECK_AT, TEXT_KEPT_IN,
    VersionKey, open_chat_session, segment_id, version_id, version_message,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::transcript::edit::{decode_document, push_recent_edits, segment_filter};
use crate::mongo::transcript::reader::{MAX_READ_ATTEMPTS, gap_error, visible_versions};

/// How many chats that share a message are looked at together.
const CHATS_AT_ONCE: usize = 100;

/// A deleted message whose text another chat may show.
#[derive(Debug)]
pub(crate) struct DeletedText<'a> {
    pub(crate) app_id: &'a AppId,
    /// The chat whose segment has the text.
    pub(crate) owner: &'a ChatId,
    pub(crate) sequence: u64,
}

impl DeletedText<'_> {
    /// Returns the filter for the versions of the message that these chats have made.
    fn versions<'a>(&self, chats: impl IntoIterator<Item = &'a ChatId>) -> Document {
        let end = self.sequence.saturating_add(1);
        let by = |chat_id: &ChatId| {
            let start = version_id(chat_id, self.sequence, 0);
            doc! { "_id": { "$gte": start, "$lt": version_id(chat_id, end, 0) } }
        };
        let made: Vec<Document> = chats.into_iter().map(by).collect();
        doc! { "app_id": self.app_id.as_str(), "$or": made }
    }
}

impl MongoStore {
    /// Looks whether the texts of deleted messages that are due are still shown, and removes those that are not.
    pub(crate) async fn sweep_deleted_texts(&self, limit: usize) -> Result<usize, StoreError> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        let due = Overdue {
            sweep: Sweep::DeletedTexts,
            collection: &self.inner.message_versions,
            filter: doc! {
                TEXT_CHECK_AT: { "$lte": now },
                "schema_version": { "$lte": NEWEST_VERSION },
            },
            index: doc! { TEXT_CHECK_AT: 1 },
            projection: doc! {
                "app_id": 1, "message.bytes": 1, TEXT_KEPT_IN: 1, TEXT_CHECK_AT: 1, "schema_version": 1,
            },
        };
        let check = |raw: RawDocumentBuf| async move {
            let fields = Fields::open(MESSAGE_VERSIONS, "(deleted)", &raw)?;
            let (app_id, owner) = (fields.parsed("app_id")?, fields.parsed(TEXT_KEPT_IN)?);
            let (checked_at, key) = (fields.time(TEXT_CHECK_AT)?, VersionKey::read(&owner, &raw)?);
            let text = DeletedText { app_id: &app_id, owner: &owner, sequence: key.sequence };
            self.write_until(self.deadline(), |_| async {
                if !self.remove_deleted_text(&text).await? {
                    // A chat that was purged meanwhile has set another time.
                    let one = doc! {
                        "_id": key.id(),
                        "app_id": app_id.as_str(),
                        TEXT_CHECK_AT: DateTime::from_chrono(checked_at),
                    };
                    let checked = doc! { "$unset": { TEXT_CHECK_AT: "" } };
                    self.inner.message_versions.update_one(one, checked).await?;
                }
                Ok(true)
            })
            .await
        };
        self.sweep(&due, limit, check).await
    }

    /// Removes the text of a message that was deleted just now, if no chat shows it any more. Returns whether it is still
    /// stored.
    ///
    /// The deletion itself is done: if this breaks off, the sweep goes on.
    pub(crate) async fn settle_deletion(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<bool, Failure> {
        let fields = Lineage::add_to_projection(doc! { "revision": 1, "schema_version": 1 });
        let raw = self.session_within(scope, chat_id, fields).await?;
        let lineage = Lineage::read(chat_id, &open_chat_session(&raw)?)?;
        let (app_id, owner) = (&scope.app_id, lineage.owner(sequence));
        Ok(!self.remove_deleted_text(&DeletedText { app_id, owner, sequence }).await?)
    }

    /// Lets the sweep look again at the deleted messages whose text is in the segments of a chat.
    pub(crate) async fn check_deleted_texts(
        &self,
        app_id: &AppId,
        owner: &ChatId,
    ) -> Result<(), Failure> {
        let kept = doc! { TEXT_KEPT_IN: owner.as_str(), "app_id": app_id.as_str() };
        let now = DateTime::from_chrono(self.inner.clock.now());
        let check = doc! { "$set": { TEXT_CHECK_AT: now } };
        self.inner.message_versions.update_many(kept, check).await?;
        Ok(())
    }

    /// Removes a text unless a chat shows it. Returns whether it is gone.
    async fn remove_deleted_text(&self, text: &DeletedText<'_>) -> Result<bool, Failure> {
        let Some(editors) = self.editors_unless_shown(text).await? else { return Ok(false) };
        self.wipe_in_segment(text).await?;
        self.wipe_in_versions(text, &editors).await?;
        Ok(true)
    }

    /// Returns the chats that may have made versions of a message, unless a chat still shows its text.
    async fn editors_unless_shown(
        &self,
        text: &DeletedText<'_>,
    ) -> Result<Option<BTreeSet<ChatId>>, Failure> {
        let moment = SessionOptions::builder().snapshot(true).build();
        let mut session = self.inner.database.client().start_session().with_options(moment).await?;
        let in_segment = self.is_deleted_in_segment(text, &mut session).await?;
        let sharing = doc! {
            "$or": [{ "_id": text.owner.as_str() }, { "bases.chat_id": text.owner.as_str() }],
            "app_id": text.app_id.as_str(),
            LIFECYCLE: { "$not": { "$gte": Lifecycle::Purged.number() } },
        };
        let projection = Lineage::add_to_projection(doc! { "revision": 1, "schema_version": 1 });
        let find = self.inner.chat_sessions.find(sharing).projection(projection);
        let find = find.read_concern(ReadConcern::snapshot()).session(&mut session);
        let mut chats: SessionCursor<RawDocumentBuf> = find.await?;
        // Of a purged owner, the versions that forks show.
        let mut all = BTreeSet::from([text.owner.clone()]);
        loop {
            let mut some: Vec<Vec<Base>> = Vec::new();
            while some.len() < CHATS_AT_ONCE
                && let Some(raw) = chats.next(&mut session).await.transpose()?
            {
                let fields = open_chat_session(&raw)?;
                let lineage = Lineage::read(&fields.parsed("_id")?, &fields)?;
                if lineage.owner(text.sequence) == text.owner {
                    let span = text.sequence..text.sequence.saturating_add(1);
                    some.push(lineage.editors(&span));
                }
            }
            if some.is_empty() {
                return Ok(Some(all));
            }
            all.extend(some.iter().flatten().map(|editor| editor.chat_id.clone()));
            if !self.are_deleted(text, &some, in_segment, &mut session).await? {
                return Ok(None);
            }
        }
    }

    /// Returns whether chats, each given by its editors, show a message as deleted.
    async fn are_deleted(
        &self,
        text: &DeletedText<'_>,
        chats: &[Vec<Base>],
        in_segment: bool,
        session: &mut ClientSession,
    ) -> Result<bool, Failure> {
        let editors: BTreeSet<&ChatId> =
            chats.iter().flatten().map(|editor| &editor.chat_id).collect();
        let mut versions = Vec::new();
        if !editors.is_empty() {
            let mut fields = VersionKey::projection();
            fields.insert("message.deleted_at", 1);
            let find = self.inner.message_versions.find(text.versions(editors)).projection(fields);
            let find = find.read_concern(ReadConcern::snapshot()).session(&mut *session);
            let mut found: SessionCursor<RawDocumentBuf> = find.await?;
            while let Some(raw) = found.next(&mut *session).await.transpose()? {
                let message = raw.get_document("message").ok();
                let is_deleted = message.is_some_and(|it| it.get_datetime("deleted_at").is_ok());
                versions.push((VersionKey::read(text.owner, &raw)?, is_deleted));
            }
        }
        Ok(chats.iter().all(|editors| {
            let made_by = |key: &VersionKey, editor: &Base| {
                key.chat_id == editor.chat_id && key.revision <= editor.revision
            };
            let of_chat = versions
                .iter()
                .map(|(key, _)| key)
                .filter(|key| editors.iter().any(|editor| made_by(key, editor)));
            let shown = visible_versions(editors, of_chat.cloned().collect()).pop();
            shown.map_or(in_segment, |shown| {
                versions.iter().any(|(key, is_deleted)| *key == shown && *is_deleted)
            })
        }))
    }

    /// Returns whether a message has no text in its segment, or no segment any more.
    async fn is_deleted_in_segment(
        &self,
        text: &DeletedText<'_>,
        session: &mut ClientSession,
    ) -> Result<bool, Failure> {
        let find = self.inner.chat_segments.find_one(segment_of(text)).sort(doc! { "_id": -1 });
        let find = find.projection(doc! { "messages.deleted_at": 1, "schema_version": 1 });
        let find = find.read_concern(ReadConcern::snapshot()).session(session);
        let Some(raw) = find.await? else { return Ok(true) };
        let (first_sequence, fields) = Segment::open(text.owner, &raw)?;
        for (sequence, message) in (first_sequence..).zip(fields.documents("messages")?) {
            if sequence == text.sequence {
                return Ok(message?.field("deleted_at")?.optional_time()?.is_some());
            }
        }
        Ok(true)
    }

    async fn wipe_in_segment(&self, text: &DeletedText<'_>) -> Result<(), Failure> {
        let segments = &self.inner.chat_segments;
        for _ in 0..MAX_READ_ATTEMPTS {
            let find = segments.find_one(segment_of(text)).sort(doc! { "_id": -1 });
            let Some(raw) = find.await? else { return Ok(()) };
            let Segment { head, messages } = Segment::read(text.owner, &raw)?;
            let mut at = messages.into_iter().enumerate();
            let found = at.find(|(_, stored)| stored.message.sequence == text.sequence);
            let Some((index, stored)) = found else { return Ok(()) };
            let Some(wiped) = self.wiped(stored)? else { return Ok(()) };
            let update = doc! {
                "$set": { format!("messages.{index}"): decode_document(&wiped.document())? },
                "$inc": { "edits": 1_i64 },
            };
            let unchanged = segment_filter(text.app_id, text.owner, &head);
            if segments.update_one(unchanged, update).await?.matched_count == 1 {
                return Ok(());
            }
        }
        Err(gap_error(text.owner))
    }

    /// Removes the text from all versions, and then the note that it is kept, so that a call that broke off is repeated.
    async fn wipe_in_versions(
        &self,
        text: &DeletedText<'_>,
        editors: &BTreeSet<ChatId>,
    ) -> Result<(), Failure> {
        let versions = &self.inner.message_versions;
        let mut noted = BTreeSet::new();
        let editors: Vec<&ChatId> = editors.iter().collect();
        for editors in editors.chunks(CHATS_AT_ONCE) {
            let made = text.versions(editors.iter().copied());
            let all: Vec<RawDocumentBuf> = versions.find(made.clone()).await?.try_collect().await?;
            for raw in &all {
                let key = VersionKey::read(text.owner, raw)?;
                let stored = version_message(text.owner, raw)?;
                if stored.message.is_text_kept {
                    noted.insert(key.chat_id.to_string());
                }
                let Some(wiped) = self.wiped(stored)? else { continue };
                // A version never changes, but a later edit may have removed it.
                let one = doc! { "_id": key.id(), "app_id": text.app_id.as_str() };
                let wiped = doc! { "$set": { "message": decode_document(&wiped.document())? } };
                versions.update_one(one, wiped).await?;
            }
        }
        if noted.is_empty() {
            return Ok(());
        }
        let noted: Vec<String> = noted.into_iter().collect();
        let these = doc! {
            "app_id": text.app_id.as_str(),
            "$or": [{ "_id": { "$in": &noted } }, { "bases.chat_id": { "$in": &noted } }],
        };
        let tell = doc! {
            "$inc": { "revision": 1_i64 }, "$push": push_recent_edits([text.sequence]),
        };
        self.inner.chat_sessions.update_many(these, tell).await?;
        let forget = doc! { "$unset": { TEXT_KEPT_IN: "", TEXT_CHECK_AT: "" } };
        for editors in editors.chunks(CHATS_AT_ONCE) {
            let made = text.versions(editors.iter().copied());
            versions.update_many(made, forget.clone()).await?;
        }
        Ok(())
    }

    /// Returns a message without its text; `None` if it has none.
    fn wiped(&self, mut stored: StoredMessage) -> Result<Option<StoredMessage>, StoreError> {
        if stored.message.deleted_at.is_some() {
            return Ok(None);
        }
        stored.message.body = stored.message.body.tombstone();
        stored.message.deleted_at = Some(self.inner.clock.now());
        stored.measure()?;
        Ok(Some(stored))
    }
}

/// Returns the filter for the segments of a message and those before it. The last of them has the message.
fn segment_of(text: &DeletedText<'_>) -> Document {
    let end = segment_id(text.owner, text.sequence.saturating_add(1));
    doc! {
        "_id": { "$gte": segment_id(text.owner, 0), "$lt": end },
        "app_id": text.app_id.as_str(),
    }
}

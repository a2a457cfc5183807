//! Removes the text of deleted messages that several chats share, once none of them shows it (decision 0054).
//!
//! A chat that shows a message as deleted never shows its text again, and a chat that begins to share it shows what its
//! source shows. So what was found in one snapshot of the database stays true.

use std::collections::BTreeSet;
use std::ops::Range;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::options::ReadConcern;
use records::{AppId, ChatId, Scope};

use crate::StoreError;
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::MESSAGE_VERSIONS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Base, Lineage, NEWEST_VERSION, Segment, StoredMessage, TEXT_CHECK_AT, TEXT_KEPT_IN, VersionKey,
    open_chat_session, segments_filter, version_message, versions_filter,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::transcript::reader::visible_versions;

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
    fn span(&self) -> Range<u64> {
        self.sequence..self.sequence.saturating_add(1)
    }

    /// Returns the filter for the versions of the message that these chats have made.
    fn versions<'a>(&self, chats: impl IntoIterator<Item = &'a ChatId>) -> Document {
        let Range { start, end: below } = self.span();
        let editor =
            |chat_id: &ChatId| Base { chat_id: chat_id.clone(), below, revision: i64::MAX };
        let editors: Vec<Base> = chats.into_iter().map(editor).collect();
        versions_filter(self.app_id, &editors, start)
    }

    /// Returns the filter for the segments up to that of the message, which is the last of them.
    fn segments(&self) -> Document {
        segments_filter(self.app_id, self.owner, 0..self.span().end)
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
        let raw = self.session_within(scope, chat_id, Lineage::projection()).await?;
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
        let mut session = self.snapshot_session().await?;
        let in_segment = self.is_deleted_in_segment(text, &mut session).await?;
        let mut chats = self.chats_that_show(text.app_id, text.owner, &mut session).await?;
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
                    some.push(lineage.editors(&text.span()));
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
        let (mut versions, mut deleted) = (Vec::new(), Vec::new());
        if !editors.is_empty() {
            let mut fields = VersionKey::projection();
            fields.insert("message.deleted_at", 1);
            let find = self.inner.message_versions.find(text.versions(editors)).projection(fields);
            for raw in ReadAt::Snapshot(session).all(find).await? {
                let key = VersionKey::read(text.owner, &raw)?;
                let message = raw.get_document("message").ok();
                if message.is_some_and(|it| it.get_datetime("deleted_at").is_ok()) {
                    deleted.push(key.clone());
                }
                versions.push(key);
            }
        }
        Ok(chats.iter().all(|editors| {
            let is_inherited = |key: &&VersionKey| {
                editors
                    .iter()
                    .any(|editor| key.chat_id == editor.chat_id && key.revision <= editor.revision)
            };
            let inherited = versions.iter().filter(is_inherited).cloned().collect();
            let shown = visible_versions(editors, inherited).pop();
            shown.map_or(in_segment, |shown| deleted.contains(&shown))
        }))
    }

    /// Returns whether a message has no text in its segment, or no segment any more.
    async fn is_deleted_in_segment(
        &self,
        text: &DeletedText<'_>,
        session: &mut ClientSession,
    ) -> Result<bool, Failure> {
        let find = self.inner.chat_segments.find_one(text.segments()).sort(doc! { "_id": -1 });
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
        let wipe = |stored: StoredMessage| {
            let is_it = stored.message.sequence == text.sequence;
            if is_it { Ok(self.wiped(text.app_id, text.owner, stored)?) } else { Ok(None) }
        };
        self.overwrite_in_segment(text.app_id, text.owner, text.segments(), wipe).await?;
        Ok(())
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
                    noted.insert(key.chat_id.clone());
                }
                let Some(wiped) = self.wiped(text.app_id, &key.chat_id, stored)? else { continue };
                self.overwrite_version(text.app_id, raw, &wiped).await?;
            }
        }
        if noted.is_empty() {
            return Ok(());
        }
        let noted: Vec<&str> = noted.iter().map(ChatId::as_str).collect();
        self.record_overwritten(text.app_id, &noted, &[text.sequence]).await?;
        let forget = doc! { "$unset": { TEXT_KEPT_IN: "", TEXT_CHECK_AT: "" } };
        for editors in editors.chunks(CHATS_AT_ONCE) {
            let made = text.versions(editors.iter().copied());
            versions.update_many(made, forget.clone()).await?;
        }
        Ok(())
    }

    /// Returns a message without its text; `None` if it has none.
    fn wiped(
        &self,
        app_id: &AppId,
        holder: &ChatId,
        mut stored: StoredMessage,
    ) -> Result<Option<StoredMessage>, StoreError> {
        if stored.message.deleted_at.is_some() {
            return Ok(None);
        }
        stored.message.body = stored.message.body.tombstone();
        stored.message.deleted_at = Some(self.inner.clock.now());
        stored.measure()?;
        self.tag_change(app_id, holder, &mut stored);
        Ok(Some(stored))
    }
}

//! Edits messages in place: in the tail, in their segment or, if several chats share one, in an overlay.

mod write;

pub(crate) use write::push_recent_edits;

use std::collections::BTreeSet;
use std::iter::zip;

use bson::{Document, RawDocument, doc};
use chrono::Utc;
use records::{AppId, ChatId, Message, MessageEdit, Scope};

use self::write::Change;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    Lineage, Segment, SegmentHead, StoredMessage, Tail, VersionKey, counter, open_chat_session,
    segment_id,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::transcript::reader::{
    Direction, MAX_READ_ATTEMPTS, SealedCursor, SessionView, gap_error,
};
use crate::rules::if_match::{check_expected, check_seen};
use crate::rules::rights::check_edit;
use crate::store::ChatHead;

/// A message and its place.
pub(crate) struct FoundMessage {
    pub(crate) stored: StoredMessage,
    pub(crate) place: MessageLocation,
}

/// Messages that are stored in one place.
struct FoundMessages {
    stored: Vec<StoredMessage>,
    place: MessageLocation,
}

/// Where a message is stored.
pub(crate) enum MessageLocation {
    Tail(Tail),
    /// A segment that only this chat uses.
    Segment(Segment, Lineage),
    /// A segment that several chats share.
    Shared(Shared),
}

/// The place of a message that several chats share.
pub(crate) struct Shared {
    lineage: Lineage,
    /// The overlay that the chat shows, if there is one.
    pub(crate) version: Option<VersionKey>,
}

/// The kind of an edit.
enum Edit {
    Replace(Box<MessageEdit>),
    Delete,
}

impl Edit {
    /// Applies the edit, and returns whether it is one: to delete a deleted message is none, and to replace it is refused,
    /// because it is not found.
    fn apply(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        message: &mut Message,
        at: chrono::DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        match self {
            Self::Replace(_) if message.deleted_at.is_some() => {
                return Err(not_found(chat_id, message.sequence));
            }
            Self::Replace(edit) => {
                edit.check()?;
                message.body = edit.apply(&message.body);
                message.edited_at = Some(at);
                message.edited_by = scope.caller.person().cloned();
            }
            Self::Delete if message.deleted_at.is_some() => return Ok(false),
            Self::Delete => {
                message.body = message.body.tombstone();
                message.deleted_at = Some(at);
                message.deleted_by = scope.caller.person().cloned();
            }
        }
        Ok(true)
    }
}

fn not_found(chat_id: &ChatId, sequence: u64) -> StoreError {
    StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence }
}

/// Returns the filter for a chat whose messages the caller may edit now.
fn editable_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = writable_chat(scope, chat_id);
    if let Some(expected) = scope.expected_last_sequence {
        filter.insert("last_sequence", counter(expected));
    }
    filter
}

impl MongoStore {
    pub(crate) async fn edit_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError> {
        let edit = Edit::Replace(Box::new(edit));
        let edited = self.change_messages(scope, chat_id, [sequence].into(), edit).await?;
        edited.into_iter().next().ok_or_else(|| not_found(chat_id, sequence))
    }

    pub(crate) async fn tombstone_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        let one = [sequence].into();
        let deleted = self.change_messages(scope, chat_id, one, Edit::Delete).await?;
        deleted.into_iter().next().ok_or_else(|| not_found(chat_id, sequence))
    }

    /// Deletes messages, those that are stored together in one write.
    pub(crate) async fn tombstone_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        mut sequences: BTreeSet<u64>,
    ) -> Result<(), StoreError> {
        while !sequences.is_empty() {
            // Listeners hear of so many edits of one write.
            let next = sequences.iter().copied().take(ChatHead::RECENT_EDITS).collect();
            for deleted in self.change_messages(scope, chat_id, next, Edit::Delete).await? {
                sequences.remove(&deleted.sequence);
            }
        }
        Ok(())
    }

    /// Edits the first of some messages, and those of the others that are stored in the same place. Returns these as they are
    /// now, at least one.
    async fn change_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequences: BTreeSet<u64>,
        edit: Edit,
    ) -> Result<Vec<Message>, StoreError> {
        let (at, write_id) = (self.inner.clock.now(), self.inner.ids.mint("edit_"));
        let (scope, chat_id) = (scope.clone(), chat_id.clone());
        self.write(|call| async move {
            let round =
                |tx| call.edit_round(tx, &scope, &chat_id, &sequences, &edit, &write_id, at);
            let mut messages = call.transact(&scope, &chat_id, round).await?;
            call.notify_change(&chat_id);
            if matches!(edit, Edit::Delete) {
                let remove = |_| call.remove_void_copies(&scope.app_id, &chat_id);
                call.attempt(remove).await?;
            }
            for message in messages.iter_mut().filter(|message| message.is_text_kept) {
                let settled = call.settle_deletion(&scope, &chat_id, message.sequence).await;
                // The message is deleted already, and the sweep will look again.
                message.is_text_kept = settled.unwrap_or(true);
            }
            Ok(messages)
        })
        .await
    }

    /// Edits messages in place, unless their place has changed since it was read.
    ///
    /// A retry that finds the mark of its call returns the current messages and does not apply the edit again.
    /// Another caller may have edited them since.
    #[expect(clippy::too_many_arguments, reason = "which messages, how, and in which call")]
    async fn edit_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        sequences: &BTreeSet<u64>,
        edit: &Edit,
        write_id: &str,
        at: chrono::DateTime<Utc>,
    ) -> Result<Round<Vec<Message>>, Failure> {
        let is_written = self.was_written(tx.attempt(), scope, chat_id, write_id).await?;
        let FoundMessages { stored: found, place } =
            self.find_messages_within(scope, chat_id, sequences).await?;
        for old in &found {
            let replacement = match edit {
                Edit::Replace(edit) => Some(&**edit),
                Edit::Delete => None,
            };
            check_edit(scope, chat_id, &old.message, replacement)?;
        }
        let mut messages: Vec<Message> = found.iter().map(|old| old.message.clone()).collect();
        if is_written {
            return Ok(Round::Done(messages));
        }
        let (mut change, mut answers_else) = (Change::new(at, write_id), Vec::new());
        let is_deletion = matches!(edit, Edit::Delete);
        for (old, message) in zip(&found, &mut messages) {
            let mut stored = old.clone();
            let is_edit = edit.apply(scope, chat_id, &mut stored.message, at)?;
            check_seen(scope, chat_id, &old.message)?;
            if !is_edit {
                continue;
            }
            stored.measure()?;
            self.tag_change(&scope.app_id, chat_id, &mut stored);
            if matches!(place, MessageLocation::Shared(_)) {
                stored.message.is_text_kept = is_deletion;
            }
            if is_deletion || stored.message.body.content != old.message.body.content {
                answers_else.push(&old.message);
            }
            *message = stored.message.clone();
            change.push(old, stored);
        }
        if change.stored.is_empty() {
            return Ok(Round::Done(messages));
        }
        if scope.expected_last_sequence.is_some() {
            let raw = self.session_within(scope, chat_id, Tail::projection()).await?;
            let tail = Tail::read(&open_chat_session(&raw)?)?;
            check_expected(scope, chat_id, tail.last_sequence)?;
        }
        // Before the edit, so that none is left if this breaks off here.
        self.remove_streams_of(scope, chat_id, &answers_else).await?;
        if is_deletion || matches!(edit, Edit::Replace(edit) if edit.name.is_some()) {
            self.set_speaker(scope, chat_id, &change).await?;
        }
        let repeats = self.repeats_of(scope, chat_id, &answers_else, is_deletion).await?;
        if repeats.is_some() || !matches!(place, MessageLocation::Tail(_)) {
            tx.begin().await?;
        }
        let written = match place {
            MessageLocation::Tail(tail) => {
                self.write_in_tail(&tx, scope, chat_id, &tail, &change).await?
            }
            MessageLocation::Segment(segment, lineage) => {
                self.write_in_segment(&tx, scope, &lineage, segment, &change).await?
            }
            MessageLocation::Shared(shared) => {
                self.write_overlay(&tx, scope, &shared, &change).await?
            }
        };
        if let (Some(()), Some(repeats)) = (written, repeats) {
            // What is deleted says the same everywhere, and an edit is one of a single message.
            let says = &change.stored[0].message;
            self.rewrite_repeats(&tx, scope, chat_id, repeats, says).await?;
        }
        Ok(Round::of(written.map(|()| messages)))
    }

    /// Names who says the last message of a chat after a change of it.
    async fn set_speaker(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change: &Change,
    ) -> Result<(), Failure> {
        let Some(last) = change.stored.last().map(|last| &last.message) else { return Ok(()) };
        let mut is_last = writable_chat(scope, chat_id);
        is_last.insert("last_sequence", counter(last.sequence.saturating_add(1)));
        let set = doc! { "$set": { "last_speaker": last.body.speaker() } };
        self.inner.chat_sessions.update_one(is_last, set).await?;
        Ok(())
    }

    /// Finds the first of some messages, and those of the others that are stored in the same place.
    async fn find_messages_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequences: &BTreeSet<u64>,
    ) -> Result<FoundMessages, Failure> {
        let (Some(&first), Some(&last)) = (sequences.first(), sequences.last()) else {
            return Err(gap_error(chat_id));
        };
        for _ in 0..MAX_READ_ATTEMPTS {
            let raw = self.session_within(scope, chat_id, SessionView::projection()).await?;
            let session = SessionView::read(chat_id, &raw)?;
            if first >= session.tail.first_sequence {
                let span = first..last.saturating_add(1);
                let messages = session.tail_messages(&span, Direction::OldestFirst)?;
                let mut stored = Vec::new();
                for message in messages.iter().filter(|it| sequences.contains(&it.sequence)) {
                    stored.push(message.decode()?);
                }
                if stored.first().is_none_or(|found| found.message.sequence != first) {
                    return Err(not_found(chat_id, first).into());
                }
                return Ok(FoundMessages { stored, place: MessageLocation::Tail(session.tail) });
            }
            let sealed_below = session.tail.first_sequence;
            if let Some(found) = self.find_sealed(scope, session.lineage, first).await? {
                let FoundMessage { stored, place } = found;
                let stored = match &place {
                    MessageLocation::Segment(segment, lineage) => {
                        let own = lineage.shared_below()..sealed_below;
                        let is_wanted = |stored: &&StoredMessage| {
                            let sequence = stored.message.sequence;
                            own.contains(&sequence) && sequences.contains(&sequence)
                        };
                        segment.messages.iter().filter(is_wanted).cloned().collect()
                    }
                    _ => vec![stored],
                };
                return Ok(FoundMessages { stored, place });
            }
        }
        Err(gap_error(chat_id))
    }

    /// Finds a sealed message. Returns `None` if its segment or overlay is being replaced.
    pub(crate) async fn find_sealed(
        &self,
        scope: &Scope,
        lineage: Lineage,
        sequence: u64,
    ) -> Result<Option<FoundMessage>, Failure> {
        let span = sequence..sequence.saturating_add(1);
        let mut cursor = SealedCursor::new(lineage.clone(), span, Direction::NewestFirst);
        let fetched = self.fetch_sealed(&mut ReadAt::Latest, scope, &cursor, u64::MAX).await?;
        let Some(message) = cursor.advance(&fetched)?.pop() else { return Ok(None) };
        let (stored, overlay) = (message.decode()?, message.overlay);
        if sequence < lineage.shared_below() {
            let version = overlay.map(|overlay| overlay.key.clone());
            return Ok(Some(FoundMessage {
                stored,
                place: MessageLocation::Shared(Shared { lineage, version }),
            }));
        }
        let segment = fetched.segments()?.pop().ok_or_else(|| gap_error(&fetched.owner))?;
        let segment = Segment::read(&fetched.owner, segment)?;
        Ok(Some(FoundMessage { stored, place: MessageLocation::Segment(segment, lineage) }))
    }
}

/// Returns the filter for a segment that no edit has changed since it was read.
pub(crate) fn segment_filter(app_id: &AppId, chat_id: &ChatId, head: &SegmentHead) -> Document {
    doc! {
        "_id": segment_id(chat_id, head.first_sequence),
        "app_id": app_id.as_str(),
        "edits": head.edits,
    }
}

/// Decodes a raw document, because an update consists of decoded ones.
pub(crate) fn decode_document(document: &RawDocument) -> Result<Document, Failure> {
    Ok(Document::try_from(document).map_err(mongodb::error::Error::from)?)
}

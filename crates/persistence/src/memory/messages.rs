use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::stream;
use futures::{StreamExt, TryStreamExt};
use records::{ChatId, EventId, Message, MessageBody, MessageEdit, NewMessage, Scope};

use super::{Chat, Kept, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::batch::{Batch, ChangedMessage, Known, Plan, last_speaker, last_text};
use crate::rules::deletion::{check_deleted, deletion};
use crate::rules::examination::{Examination, Examined};
use crate::rules::if_match::{check_expected, check_seen};
use crate::rules::rights::{check_edit, check_roles};
use crate::rules::stored_digest::StoredDigest;
use crate::store::{
    Append, Deletion, FilteredPage, HistoryPage, HistoryPages, MessageFilter, MessageRange,
    Messages, Transcript,
};

#[async_trait]
impl Messages for MemoryStore {
    async fn append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.observe(Call::Append, || {
            check_roles(scope, chat_id, messages.iter().map(|message| &message.body))?;
            let batch = Batch::check(&scope.caller, messages, &*self.ids)?.sent_in(scope);
            self.metrics.appends.given(&batch);
            self.with_chat(scope, chat_id, |chat| {
                let plan = batch.plan(chat_id, &chat.known())?;
                self.store(scope, chat, &plan)
            })
        })
        .await
        .inspect(|append| self.metrics.calls.appended(append))
    }

    async fn persist_initial_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.observe(Call::PersistInitialMessages, || {
            let batch = Batch::check(&scope.caller, messages, &*self.ids)?.sent_in(scope);
            self.metrics.appends.given(&batch);
            self.with_chat(scope, chat_id, |chat| {
                let mut plan = batch.plan(chat_id, &chat.known())?;
                let newest: Vec<Message> =
                    chat.messages.iter().map(|k| k.message.clone()).collect();
                plan.recognise(&newest);
                self.store(scope, chat, &plan)
            })
        })
        .await
        .inspect(|append| self.metrics.calls.appended(append))
    }

    async fn messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.observe(Call::Messages, || {
            self.with_chat(scope, chat_id, |chat| {
                let last_sequence = chat.session.last_sequence;
                let (span, has_more) = range.resolve(last_sequence);
                let kept = chat.messages.iter().map(|kept| &kept.message);
                let mut selected: Vec<&Message> =
                    kept.filter(|m| span.contains(&m.sequence)).collect();
                let is_whole = match range {
                    MessageRange::Oldest { .. } => cut_to_page(&mut selected)?,
                    MessageRange::Newest { .. } => {
                        selected.reverse();
                        let is_whole = cut_to_page(&mut selected)?;
                        selected.reverse();
                        is_whole
                    }
                };
                Ok(Transcript {
                    last_sequence,
                    messages: selected.into_iter().cloned().collect(),
                    has_more: has_more || !is_whole,
                })
            })
        })
        .await
    }

    async fn filtered_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        filter: &MessageFilter,
    ) -> Result<FilteredPage, StoreError> {
        self.observe(Call::FilteredMessages, || {
            self.with_chat(scope, chat_id, |chat| {
                let last_sequence = chat.session.last_sequence;
                let (whole, limit) = range.without_limit();
                let (span, _) = whole.resolve(last_sequence);
                let in_span = chat.messages.iter().filter(|it| span.contains(&it.message.sequence));
                let mut in_span: Vec<&Message> = in_span.map(|kept| &kept.message).collect();
                let is_newest = matches!(range, MessageRange::Newest { .. });
                if is_newest {
                    in_span.reverse();
                }
                let mut examination = Examination::new(filter, limit);
                let mut messages: Vec<Message> = Vec::new();
                let mut next = None;
                for message in in_span {
                    let bytes = message.body.check_stored()? as u64;
                    match examination.examine(message, bytes) {
                        Examined::Admitted => messages.push(message.clone()),
                        Examined::Refused => {}
                        Examined::BeyondPage => {
                            next = examination.last();
                            break;
                        }
                    }
                }
                if is_newest {
                    messages.reverse();
                }
                Ok(FilteredPage { last_sequence, messages, next })
            })
        })
        .await
    }

    fn history_pages<'a>(&'a self, scope: &'a Scope, chat_id: &'a ChatId) -> HistoryPages<'a> {
        let messages = stream::try_unfold((0, None), async move |(position, end)| {
            self.with_chat(scope, chat_id, |chat| {
                let end = end.unwrap_or(chat.messages.len());
                let kept = chat.messages[..end].get(position);
                Ok(kept.map(|kept| (kept.message.clone(), (position + 1, Some(end)))))
            })
        });
        let messages = match &self.faults {
            Some(faults) => faults.history(messages.boxed()),
            None => messages.boxed(),
        };
        messages.map_ok(page_of).boxed()
    }

    async fn get_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        self.observe(Call::GetMessage, || {
            self.with_chat(scope, chat_id, |chat| Ok(chat.kept(sequence)?.message.clone()))
        })
        .await
    }

    async fn find_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Vec<Option<u64>>, StoreError> {
        self.observe(Call::FindMessages, || {
            self.with_chat(scope, chat_id, |chat| {
                Ok(event_ids.iter().map(|event_id| chat.sequence_of(event_id)).collect())
            })
        })
        .await
    }

    async fn get_message_by_id(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_id: &EventId,
    ) -> Result<Option<Message>, StoreError> {
        self.observe(Call::GetMessageById, || {
            self.with_chat(scope, chat_id, |chat| {
                let mut messages = chat.messages.iter().map(|kept| &kept.message);
                Ok(messages.find(|message| message.event_id == *event_id).cloned())
            })
        })
        .await
    }

    async fn update_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError> {
        self.observe(Call::UpdateMessage, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                let message = &chat.kept(sequence)?.message;
                check_edit(scope, chat_id, message, Some(&edit))?;
                if message.deleted_at.is_some() {
                    return Err(StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence });
                }
                edit.check()?;
                let body = edit.apply(&message.body);
                body.check_stored()?;
                chat.check_fence(scope.fencing_token)?;
                check_expected(scope, chat_id, chat.session.last_sequence)?;
                let message = &mut chat.kept(sequence)?.message;
                check_seen(scope, chat_id, message)?;
                let says_else = message.body.content != body.content;
                message.body = body;
                message.edited_at = Some(now);
                message.edited_by = scope.caller.person().cloned();
                let message = message.clone();
                if edit.name.is_some() {
                    chat.set_speaker(&message);
                }
                if says_else {
                    chat.rewrite_answers(&message, now);
                    chat.forget_streams(&message.body);
                }
                self.note_edit(chat, sequence, now);
                Ok(message)
            })
        })
        .await
    }

    async fn delete_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        self.observe(Call::DeleteMessage, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| self.tombstone(scope, chat, sequence, now))
        })
        .await
    }

    async fn delete_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Deletion, StoreError> {
        self.observe(Call::DeleteMessages, || {
            check_deleted(event_ids)?;
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                check_expected(scope, chat_id, chat.session.last_sequence)?;
                let sequences: Vec<_> =
                    event_ids.iter().map(|event_id| chat.sequence_of(event_id)).collect();
                for sequence in sequences.iter().flatten() {
                    check_edit(scope, chat_id, &chat.kept(*sequence)?.message, None)?;
                }
                for sequence in sequences.iter().flatten().collect::<BTreeSet<_>>() {
                    self.tombstone(scope, chat, *sequence, now)?;
                }
                Ok(deletion(event_ids, &sequences))
            })
        })
        .await
    }
}

/// Truncates messages to what fits onto a page, at least one. Returns whether all fit.
fn cut_to_page(messages: &mut Vec<&Message>) -> Result<bool, StoreError> {
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate() {
        bytes += message.body.check_stored()?;
        if index > 0 && bytes > Transcript::PAGE_BYTES {
            messages.truncate(index);
            return Ok(false);
        }
    }
    Ok(true)
}

impl Chat {
    /// Names who says the last message after a change of one.
    fn set_speaker(&mut self, changed: &Message) {
        if changed.sequence + 1 == self.session.last_sequence {
            self.session.last_speaker = Some(changed.body.speaker().to_owned());
        }
    }
}

impl MemoryStore {
    /// Deletes a message, unless it was deleted before.
    fn tombstone(
        &self,
        scope: &Scope,
        chat: &mut Chat,
        sequence: u64,
        now: DateTime<Utc>,
    ) -> Result<Message, StoreError> {
        let chat_id = chat.session.chat_id.clone();
        let message = &chat.kept(sequence)?.message;
        check_edit(scope, &chat_id, message, None)?;
        check_seen(scope, &chat_id, message)?;
        if message.deleted_at.is_some() {
            return Ok(message.clone());
        }
        chat.check_fence(scope.fencing_token)?;
        check_expected(scope, &chat_id, chat.session.last_sequence)?;
        let message = &mut chat.kept(sequence)?.message;
        let tombstone = message.body.tombstone();
        let said = std::mem::replace(&mut message.body, tombstone);
        message.deleted_at = Some(now);
        message.deleted_by = scope.caller.person().cloned();
        let message = message.clone();
        chat.set_speaker(&message);
        chat.rewrite_answers(&message, now);
        chat.forget_steps(&said, message.created_at);
        chat.forget_streams(&said);
        self.note_edit(chat, sequence, now);
        Ok(message)
    }

    fn note_edit(&self, chat: &mut Chat, sequence: u64, now: DateTime<Utc>) {
        chat.session.last_updated_at = now;
        chat.note_edit(sequence);
        self.notify_change(chat);
    }

    pub(super) fn store(
        &self,
        scope: &Scope,
        chat: &mut Chat,
        plan: &Plan<'_>,
    ) -> Result<Append, StoreError> {
        let first_sequence = chat.session.last_sequence;
        let now = self.clock.now();
        let entries: Vec<_> = plan.fresh().collect();
        let last = |field: &str| last_text(entries.iter().copied(), field).map(str::to_owned);
        let speaker = last_speaker(entries.iter().copied()).map(str::to_owned);
        let (connector, mode) = (last(MessageBody::CONNECTOR), last(MessageBody::MODE));
        let fresh: Vec<Kept> = (first_sequence..)
            .zip(&entries)
            .map(|(sequence, entry)| Kept {
                message: Message {
                    sequence,
                    event_id: entry.event_id.clone(),
                    body: entry.body.clone(),
                    author: entry.author.clone(),
                    created_at: now,
                    edited_at: None,
                    edited_by: None,
                    deleted_at: None,
                    deleted_by: None,
                    is_text_kept: false,
                },
                digest: entry.digest,
            })
            .collect();
        if !fresh.is_empty() {
            let (chat_id, status) = (chat.session.chat_id.clone(), chat.session.status);
            if status.is_ended() {
                return Err(StoreError::ChatEnded { chat_id, status });
            }
            chat.check_fence(scope.fencing_token)?;
            check_expected(scope, &chat_id, first_sequence)?;
            chat.session.last_sequence += fresh.len() as u64;
            chat.session.last_updated_at = now;
            chat.session.last_message_at = chat.session.last_message_at.max(Some(now));
            chat.session.last_speaker = speaker.or(chat.session.last_speaker.take());
            chat.session.last_connector = connector.or(chat.session.last_connector.take());
            chat.session.last_mode = mode.or(chat.session.last_mode.take());
            self.activate(chat);
            chat.messages.extend(fresh);
            self.notify_append(chat);
        }
        Ok(plan.answer(first_sequence, chat.session.last_sequence))
    }
}

/// Returns what is known of a message whose text is no longer shown.
fn changed(message: &Message) -> Option<ChangedMessage> {
    let is_changed = message.edited_at.or(message.deleted_at).is_some();
    let author = message.author.as_ref().map(|author| author.user_id.clone());
    let is_deleted = message.deleted_at.is_some();
    is_changed.then_some(ChangedMessage { author, is_deleted })
}

impl Chat {
    pub(super) fn known(&self) -> Vec<Known> {
        let known = |kept: &Kept| Known {
            event_id: kept.message.event_id.clone(),
            sequence: kept.message.sequence,
            digest: StoredDigest::new(kept.digest, None),
            is_ours: false,
            changed: changed(&kept.message),
        };
        self.messages.iter().map(known).collect()
    }

    /// Returns the sequence of the message with an id.
    pub(super) fn sequence_of(&self, event_id: &EventId) -> Option<u64> {
        let mut messages = self.messages.iter().map(|kept| &kept.message);
        messages.find(|message| message.event_id == *event_id).map(|message| message.sequence)
    }

    fn kept(&mut self, sequence: u64) -> Result<&mut Kept, StoreError> {
        let chat_id = &self.session.chat_id;
        usize::try_from(sequence)
            .ok()
            .and_then(|index| self.messages.get_mut(index))
            .ok_or_else(|| StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence })
    }
}

/// Returns a page with one message.
pub(super) fn page_of(message: Message) -> HistoryPage {
    let bytes = message.body.check_stored().unwrap_or(usize::MAX);
    HistoryPage { messages: vec![message], bytes }
}

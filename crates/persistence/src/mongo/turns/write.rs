//! Writes turns: a completed turn is one update, any other turn is one transaction.
//!
//! A completed turn that is too large for one update is a transaction as well.

use std::sync::atomic::{AtomicU64, Ordering};

use bson::doc;
use records::{ChatId, EventId, Limits, OpenStep, Scope, TurnId};

use crate::mongo::MongoStore;
use crate::mongo::documents::{
    ResumePointDocument, Tail, TurnPoints, TurnWithoutMessagesDocument, encode, open_chat_session,
    point_digest, recent_digest, turn_points_filter, turn_without_messages,
    turn_without_messages_digest,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::transcript::append::{Condition, Probe, Push, Pushed, refusal};
use crate::rules::batch::{Known, Plan};
use crate::rules::stored_digest::StoredDigest;
use crate::rules::turn_batch::TurnBatch;
use crate::store::{AppendedTurn, Outcome};

/// Resume points are sent once their documents reach this size, in bytes. It limits the memory for them.
const POINTS_BYTES: usize = 4 << 20;

impl MongoStore {
    /// Writes a turn, unless it is already stored.
    pub(crate) async fn write_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        attempt: Attempt,
    ) -> Result<AppendedTurn, Failure> {
        // Messages of the turn at or above this sequence were stored by this call.
        let absent_below = AtomicU64::new(u64::MAX);
        if attempt.is_first && turn.fits_one_update() {
            match self.write_new_turn(scope, chat_id, turn).await? {
                FirstTry::Written(appended) => return Ok(appended),
                FirstTry::Unknown { absent_below: below } => {
                    attempt.note_unknown_write();
                    absent_below.store(below, Ordering::Relaxed);
                }
                FirstTry::NotMatched => {}
            }
        }
        let round = |tx| self.turn_round(tx, scope, chat_id, turn, &absent_below);
        let WrittenTurn { answer, committed } =
            self.transact(&attempt, scope, chat_id, round).await?;
        if let Some(tail) = committed {
            let ids: Vec<_> = turn.messages.event_ids().map(EventId::as_str).collect();
            self.record_append(scope, chat_id, &ids, &tail);
        }
        Ok(answer)
    }

    /// Reads the chat, and then answers a retry, refuses the turn or writes it.
    async fn turn_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        absent_below: &AtomicU64,
    ) -> Result<Round<WrittenTurn>, Failure> {
        let first_id = turn.first_message_id();
        let (probe, known) = self.known_turn(scope, chat_id, turn, &first_id).await?;
        let tail = probe.tail;
        let has_messages = known.iter().any(|known| known.event_id == first_id);
        let planned = turn.messages.plan(chat_id, &known);
        let plan = planned.map_err(|_| turn.conflict(chat_id))?;
        let written = self.written_turn(scope, chat_id, turn, &tail).await?;
        let is_other = written.is_some_and(|digest| !digest.is_of(&turn.mark.digest))
            || has_messages && turn.messages.len() == 0;
        if is_other {
            return Err(turn.conflict(chat_id).into());
        }
        let fresh: Vec<_> = plan.fresh().collect();
        if written.is_some() || fresh.is_empty() && turn.messages.len() > 0 {
            let append = plan.answer(tail.last_sequence, tail.last_sequence);
            let absent_below = absent_below.load(Ordering::Relaxed);
            let is_ours = append.messages.iter().any(|message| message.sequence >= absent_below);
            let outcome = Outcome::of_found(is_ours);
            let answer = turn.answer(append, outcome);
            return Ok(Round::Done(WrittenTurn { answer, committed: None }));
        }
        tx.attempt().note_nothing_applied();
        if let Some(refusal) = refusal(scope, chat_id, &tail) {
            return Err(refusal.into());
        }
        self.seal_if_too_large(scope, chat_id, &tail).await?;

        let condition = Condition::NoneOfTheIds { sealed_below: tail.first_sequence };
        let now = self.inner.clock.now();
        let push = self.push_of(scope, chat_id, &fresh, condition, now).await?;
        let push = push.of_turn(&turn.mark, tail.turns_without_messages)?;
        let (tail, committed) = if turn.fits_one_update() {
            match self.execute(&push).await? {
                Pushed::Stored(tail) => (Some(tail), None),
                Pushed::Unknown { absent_below: below } => {
                    tx.attempt().note_unknown_write();
                    absent_below.fetch_min(below, Ordering::Relaxed);
                    (None, None)
                }
                Pushed::NotMatched => (None, None),
            }
        } else {
            tx.begin().await?;
            let tail = self.turn_within(&tx, &push, turn).await?;
            (tail, tail)
        };
        Ok(Round::of(tail).map(|tail| {
            let answer = self.stored(turn, &plan, &tail);
            WrittenTurn { answer, committed }
        }))
    }

    /// Finds the messages of a turn in the chat, including the one with the id of its first message.
    async fn known_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        first_id: &EventId,
    ) -> Result<(Probe, Vec<Known>), Failure> {
        let ids = turn.messages.event_ids().chain([first_id]);
        self.find_known(scope, chat_id, ids.map(EventId::as_str).collect()).await
    }

    /// Writes a turn without reading the chat first, if this process remembers none of its messages.
    async fn write_new_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
    ) -> Result<FirstTry, Failure> {
        let ids: Vec<_> = turn.messages.event_ids().map(EventId::as_str).collect();
        let recall = self.inner.chat_cache.recall(chat_id, &ids);
        let tail = self.inner.chat_cache.tail(scope, chat_id);
        let without_messages = tail.map_or(0, |tail| tail.turns_without_messages);
        let request_id = &turn.mark.request_id;
        if recall.may_hold
            || without_messages > 0
                && self.turn_without_messages(scope, chat_id, request_id).await?.is_some()
        {
            return Ok(FirstTry::NotMatched);
        }
        let plan = turn.messages.plan(chat_id, &[])?;
        let fresh: Vec<_> = plan.fresh().collect();
        let condition = Condition::NoneOfTheIds { sealed_below: recall.below };
        let now = self.inner.clock.now();
        let push = self.push_of(scope, chat_id, &fresh, condition, now).await?;
        let push = push.of_turn(&turn.mark, without_messages)?;
        Ok(match self.execute(&push).await? {
            Pushed::Stored(tail) => FirstTry::Written(self.stored(turn, &plan, &tail)),
            Pushed::Unknown { absent_below } => FirstTry::Unknown { absent_below },
            Pushed::NotMatched => FirstTry::NotMatched,
        })
    }

    /// Counts a turn that was just stored, and returns its answer. Its messages are the last ones of the tail.
    fn stored(&self, turn: &TurnBatch, plan: &Plan<'_>, tail: &Tail) -> AppendedTurn {
        let count = plan.fresh().count();
        self.inner.metrics.appends.stored(1, count);
        let append = plan.answer(tail.last_sequence - count as u64, tail.last_sequence);
        turn.answer(append, Outcome::Stored)
    }

    /// Returns the digest of a stored turn with the same id, if it is known without the turn's messages.
    async fn written_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        tail: &Tail,
    ) -> Result<Option<StoredDigest>, Failure> {
        let request_id = &turn.mark.request_id;
        let recent = doc! { "recent_turns": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, recent).await?;
        if let Some(digest) = recent_digest(&open_chat_session(&raw)?, request_id)? {
            return Ok(Some(digest));
        }
        if tail.turns_without_messages > 0 {
            let digest = self.turn_without_messages(scope, chat_id, request_id).await?;
            if digest.is_some() {
                return Ok(digest);
            }
        }
        // Older releases recorded turns without messages only in their resume points.
        let find =
            self.inner.resume_points.find_one(turn_points_filter(scope, chat_id, request_id));
        let find = find.projection(doc! { "salt": 1, "digest": 1, "schema_version": 1 });
        let found = find.sort(doc! { "turn": 1, "_id.sequence": 1 }).await?;
        Ok(found.map(|raw| point_digest(&raw)).transpose()?)
    }

    /// Returns the digest of the turn without messages that has this id, if there is one.
    async fn turn_without_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &TurnId,
    ) -> Result<Option<StoredDigest>, Failure> {
        let turn = turn_without_messages(scope, chat_id, request_id);
        let found = self.inner.turns_without_messages.find_one(turn).await?;
        Ok(found.as_ref().map(turn_without_messages_digest).transpose()?)
    }

    /// Writes messages and resume points within a transaction. Returns `None` if the chat has changed since it was
    /// read.
    async fn turn_within(
        &self,
        tx: &Transaction<'_>,
        push: &Push<'_>,
        turn: &TurnBatch,
    ) -> Result<Option<Tail>, Failure> {
        let pushed = if turn.is_large() {
            self.push_segments_within(push, tx).await?
        } else {
            self.push_within(push, tx).await?
        };
        let (scope, chat_id) = push.place();
        if let (Some(tail), Some(end)) = (&pushed, &turn.ends) {
            self.end_with_turn(tx, scope, chat_id, end, tail.last_sequence).await?;
        }
        let Some(tail) = pushed.filter(|_| !turn.open_steps.is_empty()) else { return Ok(pushed) };
        let (mark, created_at) = (&turn.mark, push.now());
        let Some(digest) = push.turn.map(|turn| turn.digest) else { return Ok(pushed) };
        if turn.messages.len() == 0 {
            let (turn, now) = (tail.turns, created_at);
            let document =
                TurnWithoutMessagesDocument::new(scope, chat_id, mark, &digest, turn, now);
            let document = encode(&document)?;
            let turns = &self.inner.turns_without_messages;
            turns.insert_one(document).session(&mut *tx.session().await?).await?;
        }
        let points = TurnPoints { scope, chat_id, mark, digest, turn: tail.turns, created_at };
        self.insert_points(tx, &points, &turn.open_steps).await?;
        Ok(pushed)
    }

    /// Inserts resume points in batches of [`POINTS_BYTES`], which limits the documents in memory.
    async fn insert_points(
        &self,
        tx: &Transaction<'_>,
        points: &TurnPoints<'_>,
        open_steps: &[OpenStep],
    ) -> Result<(), Failure> {
        let (mut documents, mut bytes) = (Vec::new(), 0);
        for (index, open) in open_steps.iter().enumerate() {
            let document = encode(&ResumePointDocument::new(points, open))?;
            bytes += document.as_bytes().len();
            documents.push(document);
            if bytes >= POINTS_BYTES || index + 1 == open_steps.len() {
                let documents = std::mem::take(&mut documents);
                bytes = 0;
                let insert = self.inner.resume_points.insert_many(documents);
                insert.session(&mut *tx.session().await?).await?;
            }
        }
        Ok(())
    }
}

/// A turn that this call or an earlier one wrote.
struct WrittenTurn {
    answer: AppendedTurn,
    /// The tail after the transaction, if this round wrote the turn in one.
    committed: Option<Tail>,
}

/// The result of writing a turn without reading the chat first.
enum FirstTry {
    Written(AppendedTurn),
    /// The turn may have been written. If it was, all its messages are at or above this sequence.
    Unknown {
        absent_below: u64,
    },
    /// Nothing was written: the turn may be stored already, or the chat is not in the expected state.
    NotMatched,
}

impl TurnBatch {
    fn is_large(&self) -> bool {
        self.messages.len() > Limits::BATCH_MESSAGES || self.messages.bytes() > Limits::BATCH_BYTES
    }

    fn fits_one_update(&self) -> bool {
        self.open_steps.is_empty() && !self.is_large() && self.ends.is_none()
    }
}

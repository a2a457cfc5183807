//! The conditional update that stores messages.

use bson::raw::{RawArrayBuf, cstr};
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc, rawdoc};
use chrono::Utc;
use records::{ChatId, ChatStatus, MessageBody, Scope, minute_of};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::documents::{
    MESSAGE_OVERHEAD, SALTED_VERSION, Tail, append_last_turn, counter, encode, message_document,
    open_chat_session, recent_turns_push,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::transcript::append::shared::{Outcome, UpdateTrace};
use crate::rules::batch::{Entry, last_speaker, last_text};
use crate::rules::stored_digest::{Salting, StoredDigest};
use crate::rules::turn_batch::TurnMark;

/// The condition on which a push is applied, besides the chat being writable and not ended.
///
/// Every push has one, even if its ids are new. A request may reach the server after its call has
/// retried; it must match nothing then, or its messages would be stored twice (decision 0029).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition {
    /// The ids were minted for this push. No message of the tail has one of them, and the tail begins at
    /// or below this sequence. If an earlier request had stored the messages and they had been sealed
    /// since, the tail would begin above it.
    NewIds { first_sequence: u64 },
    /// No message of the tail has one of the ids, and the tail begins at or below this sequence, below
    /// which no message has one.
    NoneOfTheIds { sealed_below: u64 },
    /// The counter is this one: no message was appended since it was read.
    NothingAppended { last_sequence: u64 },
}

/// The outcome of a push.
pub(crate) enum Pushed {
    /// The messages were stored. This is the tail afterwards; they have the last sequences before its counter.
    Stored(Tail),
    /// Not matched: there is nothing to store, or the condition does not hold.
    NotMatched,
    /// Unknown: the messages may have been stored, all at or above this sequence. The caller has to find out.
    Unknown { absent_below: u64 },
}

/// New messages of a chat, with everything that their update needs.
pub(crate) struct Push<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) chat_id: &'a ChatId,
    pub(crate) condition: Condition,
    pub(crate) event_ids: Vec<&'a str>,
    pub(crate) documents: Vec<RawDocumentBuf>,
    pub(crate) bytes: u64,
    pub(crate) now: chrono::DateTime<Utc>,
    /// Who said the last message.
    speaker: Option<&'a str>,
    /// The connector and the mode of the turn, or of the last messages that have one.
    connector: Option<&'a str>,
    mode: Option<&'a str>,
    /// The mark of the turn, if the messages are all those of one turn.
    pub(crate) turn: Option<PushedTurn<'a>>,
    /// For a turn: the number of turns without messages that the chat must have. If it has more, one was
    /// stored that this call has not seen.
    turns_without_messages: u64,
    salting: Salting,
}

/// A turn that is pushed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PushedTurn<'a> {
    mark: &'a TurnMark,
    /// The digest of the turn as it is stored, wherever it is.
    pub(crate) digest: StoredDigest,
}

impl PushedTurn<'_> {
    /// Returns the `$push` of `recent_turns`.
    pub(super) fn recent(&self) -> RawDocumentBuf {
        recent_turns_push(self.mark, &self.digest)
    }
}

impl MongoStore {
    /// Stores new messages, if there are any and the condition holds.
    pub(crate) async fn push(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fresh: &[&Entry],
        condition: Condition,
    ) -> Result<Pushed, Failure> {
        if fresh.is_empty() {
            return Ok(Pushed::NotMatched);
        }
        let push = self.push_of(scope, chat_id, fresh, condition, self.inner.clock.now());
        self.execute(&push.await?).await
    }

    /// Prepares a push of new messages.
    pub(crate) async fn push_of<'a>(
        &self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
        fresh: &[&'a Entry],
        condition: Condition,
        now: chrono::DateTime<Utc>,
    ) -> Result<Push<'a>, Failure> {
        let salting = self.salting().await?;
        let document = |entry: &&Entry| {
            let tag = self.tag_new(&scope.app_id, chat_id, entry, now);
            Ok(message_document(entry, &salting.apply(entry.digest)?, now, tag))
        };
        Ok(Push {
            scope,
            chat_id,
            condition,
            event_ids: fresh.iter().map(|entry| entry.event_id.as_str()).collect(),
            documents: fresh.iter().map(document).collect::<Result<_, StoreError>>()?,
            bytes: fresh.iter().map(|entry| (entry.bytes + MESSAGE_OVERHEAD) as u64).sum(),
            now,
            speaker: last_speaker(fresh.iter().copied()),
            connector: last_text(fresh.iter().copied(), MessageBody::CONNECTOR),
            mode: last_text(fresh.iter().copied(), MessageBody::MODE),
            turn: None,
            turns_without_messages: 0,
            salting,
        })
    }

    /// Sends a push that has something to store, and records its success.
    pub(crate) async fn execute(&self, push: &Push<'_>) -> Result<Pushed, Failure> {
        let pushed = self.send(push).await?;
        if let Pushed::Stored(tail) = &pushed {
            self.record_push(push, tail);
        }
        Ok(pushed)
    }

    /// Records that the messages of a push were stored; this is the tail afterwards.
    pub(crate) fn record_push(&self, push: &Push<'_>, tail: &Tail) {
        self.note_append(push.scope, push.chat_id, &push.event_ids, tail);
        self.notify_appended(push.chat_id, tail.last_sequence, &push.documents);
    }

    /// Records an append of messages with these ids, which left this tail: caches both, notifies
    /// listeners, and starts a sealing if one is due.
    pub(crate) fn record_append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[&str],
        tail: &Tail,
    ) {
        self.note_append(scope, chat_id, event_ids, tail);
        self.notify_append(chat_id, tail.last_sequence);
    }

    fn note_append(&self, scope: &Scope, chat_id: &ChatId, event_ids: &[&str], tail: &Tail) {
        let first_sequence = tail.last_sequence - event_ids.len() as u64;
        let known = &self.inner.chat_cache;
        known.learn(chat_id, first_sequence, event_ids.iter().copied());
        known.appended(scope, chat_id, first_sequence, tail);
        self.seal_soon(&scope.app_id, chat_id, tail);
    }

    /// Pushes within a transaction; `None` if the condition does not hold.
    pub(crate) async fn push_within(
        &self,
        push: &Push<'_>,
        tx: &Transaction<'_>,
    ) -> Result<Option<Tail>, Failure> {
        let command = self.inner.database.run_raw_command(self.push_command(push)?);
        pushed_tail(command.session(&mut *tx.session().await?).await?)
    }

    /// Sends a push: many messages straight into a segment, others in a command of their own while few
    /// commands are running, and otherwise in a command shared with other chats.
    async fn send(&self, push: &Push<'_>) -> Result<Pushed, Failure> {
        if let Some(pushed) = self.push_sealed(push).await? {
            return Ok(pushed);
        }
        let lane = self.inner.batcher.enter();
        if lane.is_none()
            && let Some(expected) = self.expected_tail(push)
            && let Some(pushed) = self.push_with_others(push, &expected).await?
        {
            return Ok(pushed);
        }
        // Commands that are sent alone are limited, so that transactions always get a connection
        // (decision 0030).
        let _slot = if lane.is_none() { self.inner.batcher.send_alone().await } else { None };
        self.push_alone(push).await
    }

    /// Returns the last known tail of the chat, if the condition of the push holds as long as the counter
    /// of that tail is unchanged.
    pub(crate) fn expected_tail(&self, push: &Push<'_>) -> Option<Tail> {
        let known = &self.inner.chat_cache;
        let tail = known.tail(push.scope, push.chat_id)?;
        let are_new = match push.condition {
            Condition::NewIds { .. } => true,
            Condition::NoneOfTheIds { sealed_below } => sealed_below >= tail.last_sequence,
            Condition::NothingAppended { .. } => false,
        };
        are_new.then_some(tail)
    }

    /// Sends a push in a command shared with other chats; `None` if it was not sent.
    ///
    /// The reply says only how many updates matched. So the update states the counter it expects: it can
    /// be applied at most once, and the session shows later whether it was.
    async fn push_with_others(
        &self,
        push: &Push<'_>,
        expected: &Tail,
    ) -> Result<Option<Pushed>, Failure> {
        let mut filter = self.appendable(push);
        filter.insert("last_sequence", counter(expected.last_sequence));
        let outcome =
            self.update_with_others(&filter, &push.update(), push.trace(expected, true)).await?;
        let after = Tail {
            last_sequence: expected.last_sequence + push.documents.len() as u64,
            bytes: expected.bytes + push.bytes,
            turns: expected.turns + u64::from(push.turn.is_some()),
            ..*expected
        };
        Ok(outcome.map(|outcome| self.pushed(push, outcome, expected, after)))
    }

    /// Returns the outcome of a push from that of its update, which expected one tail and leaves another.
    pub(crate) fn pushed(
        &self,
        push: &Push<'_>,
        outcome: Outcome,
        before: &Tail,
        after: Tail,
    ) -> Pushed {
        if outcome != Outcome::Done {
            self.inner.chat_cache.forget_tail(push.chat_id);
        }
        match outcome {
            Outcome::Done => Pushed::Stored(after),
            Outcome::NotMatched => Pushed::NotMatched,
            Outcome::Unknown => Pushed::Unknown { absent_below: before.last_sequence },
        }
    }

    /// Sends a push in a command of its own.
    ///
    /// The command is sent raw, not with the driver's `findAndModify` helper. The driver would retry the
    /// helper, and for that the server keeps a copy of the whole session document for each update
    /// (decision 0009). The store retries itself, and each retry checks what an earlier attempt has stored.
    async fn push_alone(&self, push: &Push<'_>) -> Result<Pushed, Failure> {
        let mut command = self.push_command(push)?;
        command.append(cstr!("writeConcern"), rawdoc! { "w": "majority", "j": true });
        self.inner.metrics.appends.sent(1);
        let reply = self.inner.database.run_raw_command(command).await?;
        if let Some(error) = reply.get("writeConcernError") {
            return Err(Failure::NotDurable(error.to_string().into()));
        }
        Ok(pushed_tail(reply)?.map_or(Pushed::NotMatched, Pushed::Stored))
    }

    fn push_command(&self, push: &Push<'_>) -> Result<RawDocumentBuf, Failure> {
        let mut filter = self.appendable(push);
        match push.condition {
            Condition::NewIds { first_sequence: limit }
            | Condition::NoneOfTheIds { sealed_below: limit } => {
                filter.insert("first_sequence", doc! { "$lte": counter(limit) });
                filter.insert("messages.event_id", doc! { "$nin": &push.event_ids });
            }
            Condition::NothingAppended { last_sequence } => {
                filter.insert("last_sequence", counter(last_sequence));
            }
        }
        Ok(rawdoc! {
            "findAndModify": CHAT_SESSIONS,
            "query": encode(&filter)?,
            "update": push.update(),
            "fields": encode(&Tail::projection())?,
            "new": true,
            "hint": "_id_",
        })
    }

    /// Returns the filter for a chat that accepts messages and whose tail is not too large.
    pub(crate) fn appendable(&self, push: &Push<'_>) -> Document {
        let going_on = [ChatStatus::Running.number(), ChatStatus::Paused.number()];
        let mut filter = writable_chat(push.scope, push.chat_id);
        filter.insert("status", doc! { "$in": going_on.to_vec() });
        // Sealing follows the append and may fail. With this bound, an append to a tail that is too large
        // matches nothing and seals it first, so the document never grows to the server's 16 MiB.
        let hard_bytes = counter(self.inner.sealer.bounds().hard_bytes);
        filter.insert("tail_bytes", doc! { "$lte": hard_bytes });
        if let Some(turn) = &push.turn {
            // A turn may have no messages, and so no ids to compare. Its request id and the number of
            // such turns replace them.
            filter.insert("recent_turns.request_id", doc! { "$ne": turn.mark.request_id.as_str() });
            // A chat without such turns does not have the field, which null matches.
            let seen = Some(push.turns_without_messages).filter(|seen| *seen > 0).map(counter);
            filter.insert("turns_without_messages", seen);
        }
        filter
    }
}

/// Reads the tail after a push from the reply; `None` if no session matched.
fn pushed_tail(mut reply: Document) -> Result<Option<Tail>, Failure> {
    let Some(Bson::Document(updated)) = reply.remove("value") else { return Ok(None) };
    Ok(Some(Tail::read(&open_chat_session(&encode(&updated)?)?)?))
}

impl<'a> Push<'a> {
    pub(crate) fn place(&self) -> (&'a Scope, &'a ChatId) {
        (self.scope, self.chat_id)
    }

    pub(crate) fn now(&self) -> chrono::DateTime<Utc> {
        self.now
    }

    pub(crate) fn of_turn(
        self,
        mark: &'a TurnMark,
        turns_without_messages: u64,
    ) -> Result<Self, StoreError> {
        let digest = self.salting.apply(mark.digest)?;
        let turn = PushedTurn { mark, digest };
        // What the turn says of itself decides.
        let connector = mark.connector.as_deref().or(self.connector);
        let mode = mark.mode.as_deref().or(self.mode);
        Ok(Self { turn: Some(turn), turns_without_messages, connector, mode, ..self })
    }

    /// Returns what is needed to find out later whether the push was applied to the expected tail, or to
    /// a segment if not `is_in_tail`.
    pub(super) fn trace(&self, expected: &Tail, is_in_tail: bool) -> UpdateTrace {
        let event_id = self.event_ids.first().filter(|_| is_in_tail);
        UpdateTrace {
            app_id: self.scope.app_id.clone(),
            chat_id: self.chat_id.clone(),
            last_sequence: expected.last_sequence,
            event_id: event_id.map(|&event_id| event_id.to_owned()),
        }
    }

    fn update(&self) -> RawDocumentBuf {
        let mut messages = RawArrayBuf::new();
        for document in &self.documents {
            messages.push(document);
        }
        let count = counter(self.documents.len() as u64);
        let mut added = rawdoc! { "last_sequence": count, "tail_bytes": counter(self.bytes) };
        if self.turn.is_some() {
            added.append(cstr!("turns"), 1_i64);
            if self.documents.is_empty() {
                added.append(cstr!("turns_without_messages"), 1_i64);
            }
        }
        let mut pushed = rawdoc! { "messages": { "$each": messages } };
        if let Some(turn) = &self.turn {
            pushed.append(cstr!("recent_turns"), turn.recent());
        }
        let mut update = self.update_setting(RawDocumentBuf::new());
        update.append(cstr!("$push"), pushed);
        update.append(cstr!("$inc"), added);
        update
    }

    /// Begins the update of a push, wherever its messages are stored: it sets these fields, its time and its turn. An
    /// archived chat becomes active.
    pub(crate) fn update_setting(&self, mut set: RawDocumentBuf) -> RawDocumentBuf {
        let now = DateTime::from_chrono(self.now);
        set.append(cstr!("last_updated_at"), now);
        if let Some(turn) = &self.turn {
            append_last_turn(&mut set, turn.mark);
        }
        if let Some(speaker) = self.speaker {
            set.append(cstr!("last_speaker"), speaker);
        }
        if let Some(connector) = self.connector {
            set.append(cstr!("last_connector"), connector);
        }
        if let Some(mode) = self.mode {
            set.append(cstr!("last_mode"), mode);
        }
        let mut update = rawdoc! { "$set": set, "$unset": { "lifecycle": "", "lifecycle_at": "" } };
        let mut greatest = RawDocumentBuf::new();
        if !self.documents.is_empty() {
            // Both only grow, so that one is always the minute of the other: clocks of processes may differ.
            let minute = DateTime::from_chrono(minute_of(self.now));
            greatest.append(cstr!("last_message_at"), now);
            greatest.append(cstr!("active_minute"), minute);
        }
        if self.salting == Salting::Random {
            greatest.append(cstr!("schema_version"), SALTED_VERSION);
        }
        if !greatest.is_empty() {
            update.append(cstr!("$max"), greatest);
        }
        update
    }
}

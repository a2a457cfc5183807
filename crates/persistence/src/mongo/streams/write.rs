//! What a call writes of a stream: groups, and the stream itself when it starts or ends.

use std::collections::HashSet;

use bson::{DateTime, doc};
use chrono::{DateTime as Time, TimeDelta, Utc};
use futures::TryStreamExt as _;
use records::{
    AppId, ChatId, ChatSession, Scope, Stream, StreamEnding, StreamEvent, StreamGroup, StreamId,
    StreamMark, StreamState,
};

use super::batcher::Inserted;
use super::chain::Chain;
use super::document::{StoredStream, running_streams, stream_filter};
use super::{
    EndedStreams, REMOVED_AT, StreamDocument, StreamGroupDocument, mark_of, stream_record,
};
use crate::StoreError;
use crate::error::StreamRefusal;
use crate::mongo::MongoStore;
use crate::mongo::documents::encode;
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::stream::{self as rules, StreamEnd};
use crate::store::{AppendedTurn, Outcome, StreamProgress, Takeover, Written};

/// How long a stream is kept whose agent never ends it, in hours, unless something is still written to it.
const RUNNING_HOURS: i64 = 24;

impl MongoStore {
    pub(super) async fn start_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        stream: &Stream,
    ) -> Result<Round<(Written<Stream>, EndedStreams)>, Failure> {
        self.require(Shape::Streams).await?;
        let chat = self.known_chat(scope, chat_id).await?;
        let at = (chat_id, &stream.stream_id);
        match self.stored_stream(scope, at).await {
            Ok(stored) => {
                let Some(mark) = self.last_mark(&scope.app_id, at).await? else {
                    return Ok(Round::Again);
                };
                let stored = stored.with_mark(mark);
                rules::check_repeated(stream, &stored)?;
                let is_ours = stored.started_at == stream.started_at;
                return Ok(Round::Done((Written::found(stored, is_ours), Vec::new())));
            }
            Err(Failure::Decided(StoreError::StreamNotFound(_))) => {}
            Err(failure) => return Err(failure),
        }
        tx.attempt().note_nothing_applied();
        if chat.status.is_ended() {
            let (chat_id, status) = (chat_id.clone(), chat.status);
            return Err(StoreError::ChatEnded { chat_id, status }.into());
        }
        // A late copy of the start, or a job that runs again: the text of the turn may have been deleted since.
        if let Some(first_id) = rules::first_message_of(stream) {
            let (_, known) = self.find_known(scope, chat_id, vec![first_id.as_str()]).await?;
            if known.iter().any(|known| known.event_id == first_id) {
                return Err(rules::refusal(&stream.stream_id, StreamRefusal::TurnStored).into());
            }
        }
        let (mut superseded, mut running) = (Vec::new(), 0);
        let others = self.stored_streams(running_streams(scope, chat_id)).await?;
        let known: HashSet<_> = others.iter().map(|other| other.stream_id.clone()).collect();
        for other in others {
            let at = (chat_id, &other.stream_id);
            let Some(mark) = self.last_mark(&scope.app_id, at).await? else { continue };
            if rules::supersedes(scope, &mark) {
                let group = rules::ended(&mark, &rules::superseded(), None, stream.started_at);
                superseded.push((other.stream_id, group));
            } else if mark.state == StreamState::Running {
                running += 1;
            }
        }
        if running >= Stream::MAX_RUNNING {
            return Err(rules::refusal(&stream.stream_id, StreamRefusal::TooMany).into());
        }
        tx.begin().await?;
        // The chat may have ended since it was read, and then nothing would end this stream.
        let mut unchanged = writable_chat(scope, chat_id);
        unchanged.insert("status", chat.status.number());
        if !self.touch_matching(&tx, unchanged).await? {
            return Ok(Round::Again);
        }
        // Another may have started since they were read; from here on it conflicts with this one.
        let now_running = self.running_within(&tx, scope, chat_id).await?;
        if now_running.iter().any(|other| !known.contains(&other.stream_id)) {
            return Ok(Round::Again);
        }
        for (stream_id, group) in &superseded {
            self.end_within(&tx, scope, (chat_id, stream_id), group).await?;
        }
        let removed_at = after(stream.started_at, TimeDelta::hours(RUNNING_HOURS));
        let document = encode(&StreamDocument::new(&scope.app_id, stream, removed_at))?;
        let insert = self.inner.streams.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        let first = StreamGroup { mark: stream.mark.clone(), event: StreamEvent::Started };
        self.add_within(&tx, &scope.app_id, at, &first).await?;
        Ok(Round::Done((Written::stored(stream.clone()), superseded)))
    }

    pub(super) async fn add_chunks(
        &self,
        attempt: Attempt,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        from: u64,
        chunks: &[String],
    ) -> Result<StreamProgress, Failure> {
        let decide = |mark: &StreamMark| {
            rules::chunks(scope, at, mark, from, chunks, self.inner.clock.now())
        };
        let mark = self.add_group(&attempt, scope, at, decide).await?;
        Ok(rules::progress(&mark))
    }

    pub(super) async fn cancel(
        &self,
        attempt: Attempt,
        scope: &Scope,
        at: (&ChatId, &StreamId),
    ) -> Result<Stream, Failure> {
        let stored = self.stored_stream(scope, at).await?;
        let decide = |mark: &StreamMark| Ok(rules::cancel(mark));
        let mark = self.add_group(&attempt, scope, at, decide).await?;
        Ok(stored.with_mark(mark))
    }

    /// Adds the group that `decide` makes of the mark of a stream, or none. Returns the mark afterwards.
    ///
    /// A decision on a mark that may be old is made again before it refuses the caller.
    async fn add_group(
        &self,
        attempt: &Attempt,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        decide: impl Fn(&StreamMark) -> Result<Option<StreamGroup>, StoreError>,
    ) -> Result<StreamMark, Failure> {
        let (chat_id, stream_id) = at;
        let shared = self.inner.chains.of(chat_id, stream_id);
        let mut held = shared.lock().await;
        // What an earlier attempt has written is not in the mark.
        let mut known = held.take().filter(|chain| attempt.is_first && chain.is_recent());
        loop {
            attempt.check_continues()?;
            let is_read = known.is_none();
            let mut chain = if let Some(chain) = known.take() {
                chain
            } else {
                // Of a stream that is being removed, a group may be there that a write before has added.
                let is_there = !self.stored_stream(scope, at).await?.is_removed;
                let Some(mark) = self.last_mark(&scope.app_id, at).await?.filter(|_| is_there)
                else {
                    return Err(self.no_stream(scope, chat_id, stream_id).await);
                };
                Chain::new(mark)
            };
            if !chain.permits(scope) {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                chain.note_permitted(scope);
            }
            match decide(&chain.mark) {
                // Chunks that an old mark has may be void by now.
                Ok(None) if !is_read => {}
                Ok(None) => {
                    let mark = chain.mark.clone();
                    *held = Some(chain);
                    return Ok(mark);
                }
                Ok(Some(group)) => {
                    let app_id = &scope.app_id;
                    let document =
                        encode(&StreamGroupDocument::new(app_id, chat_id, stream_id, &group))?;
                    match self.insert_group(at, document).await? {
                        Inserted::Stored => {
                            let mark = group.mark.clone();
                            *held = Some(chain.moved(mark.clone()));
                            self.notify_stream(chat_id, stream_id, group);
                            return Ok(mark);
                        }
                        Inserted::NumberTaken => {}
                        Inserted::StreamGone => {
                            return Err(self.no_stream(scope, chat_id, stream_id).await);
                        }
                    }
                }
                Err(refusal) if is_read => return Err(refusal.into()),
                Err(_) => {}
            }
        }
    }

    pub(super) async fn take_over_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        takeover: Takeover,
    ) -> Result<Round<(Stream, Option<StreamGroup>)>, Failure> {
        // This check comes first also for a repeated takeover: only a caller that may take over reads its answer.
        self.session_within(scope, at.0, doc! { "_id": 1 }).await?;
        let stored = self.stored_stream(scope, at).await?;
        let Some(mark) = self.last_mark(&scope.app_id, at).await? else { return Ok(Round::Again) };
        let now = self.inner.clock.now();
        let Some(group) = rules::take_over(scope, at, &mark, takeover, now)? else {
            return Ok(Round::Done((stored.with_mark(mark), None)));
        };
        tx.begin().await?;
        self.touch_within(&tx, scope, at.0).await?;
        self.add_within(&tx, &scope.app_id, at, &group).await?;
        Ok(Round::Done((stored.with_mark(group.mark.clone()), Some(group))))
    }

    /// Ends a stream, also for a caller that does not write it, unless it has ended; returns it, and the group that ends it.
    pub(super) async fn stop_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        at: (&ChatId, &StreamId),
    ) -> Result<Round<(Stream, Option<StreamGroup>)>, Failure> {
        self.session_within(scope, at.0, doc! { "_id": 1 }).await?;
        let stored = self.stored_stream(scope, at).await?;
        let Some(mark) = self.last_mark(&scope.app_id, at).await? else { return Ok(Round::Again) };
        let Some(group) = rules::stop(&mark, self.inner.clock.now()) else {
            return Ok(Round::Done((stored.with_mark(mark), None)));
        };
        tx.begin().await?;
        self.touch_within(&tx, scope, at.0).await?;
        self.end_within(&tx, scope, at, &group).await?;
        Ok(Round::Done((stored.with_mark(group.mark.clone()), Some(group))))
    }

    /// Ends a stream unless it has ended; returns it, and the group that ends it.
    pub(super) async fn end_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        ending: &StreamEnding,
        turn: Option<&AppendedTurn>,
    ) -> Result<Round<(Stream, Option<StreamGroup>)>, Failure> {
        let stored = self.stored_stream(scope, at).await?;
        let Some(mark) = self.last_mark(&scope.app_id, at).await? else { return Ok(Round::Again) };
        let last_sequence = turn.map(|turn| turn.last_sequence);
        // Of a turn that was written before, the counter is that of the chat by now.
        let is_repeated = mark.state == ending.state
            && mark.error == ending.error
            && turn.is_some_and(|turn| turn.outcome == Outcome::Duplicate);
        if mark.last_sequence.is_some() && (is_repeated || mark.last_sequence == last_sequence) {
            // Its turn has ended it. Listeners are told at once, and not only by the change stream.
            let group = StreamGroup { mark: mark.clone(), event: StreamEvent::Ended };
            return Ok(Round::Done((stored.with_mark(mark), Some(group))));
        }
        let now = self.inner.clock.now();
        let Some(group) = rules::end(scope, at, &mark, ending, last_sequence, now)? else {
            return Ok(Round::Done((stored.with_mark(mark), None)));
        };
        tx.begin().await?;
        self.touch_within(&tx, scope, at.0).await?;
        self.end_within(&tx, scope, at, &group).await?;
        Ok(Round::Done((stored.with_mark(group.mark.clone()), Some(group))))
    }

    /// Ends a stream within the transaction of its turn.
    pub(crate) async fn end_with_turn(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        end: &StreamEnd,
        last_sequence: u64,
    ) -> Result<(), Failure> {
        let at = (chat_id, &end.stream_id);
        let mark = self.last_mark(&scope.app_id, at).await?;
        let mark = mark.ok_or_else(|| StoreError::StreamNotFound(end.stream_id.clone()))?;
        let now = self.inner.clock.now();
        let ended = rules::end(scope, at, &mark, &end.ending, Some(last_sequence), now)?;
        match ended {
            Some(group) => self.end_within(tx, scope, at, &group).await,
            None => Ok(()),
        }
    }

    /// Cancels the running streams of a chat within the transaction that has ended or deleted it. Returns the groups that
    /// end them, for listeners.
    ///
    /// The streams are read within the transaction. So the start of a stream was committed before and is seen, or it conflicts
    /// with the change of the chat.
    pub(crate) async fn end_streams_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
    ) -> Result<EndedStreams, Failure> {
        let mut ended = Vec::new();
        if !rules::is_over(chat) {
            return Ok(ended);
        }
        for stream in self.running_within(tx, scope, &chat.chat_id).await? {
            let at = (&stream.chat_id, &stream.stream_id);
            let find = self.find_last_group(&scope.app_id, at);
            let Some(group) = find.session(&mut *tx.session().await?).await? else { continue };
            let now = self.inner.clock.now();
            let Some(group) = rules::end_with_chat(&mark_of(group)?, chat, now) else { continue };
            self.end_within(tx, scope, at, &group).await?;
            ended.push((stream.stream_id, group));
        }
        Ok(ended)
    }

    async fn running_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<StoredStream>, Failure> {
        let find = self.inner.streams.find(running_streams(scope, chat_id));
        let mut session = tx.session().await?;
        let mut found = find.session(&mut *session).await?;
        let found: Vec<_> = found.stream(&mut session).try_collect().await?;
        Ok(found.iter().map(|raw| stream_record(raw)).collect::<Result<_, _>>()?)
    }

    async fn end_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        group: &StreamGroup,
    ) -> Result<(), Failure> {
        self.add_within(tx, &scope.app_id, at, group).await?;
        let removed_at = after(group.mark.written_at, TimeDelta::minutes(Stream::KEPT_MINUTES));
        let set = doc! { "state": group.mark.state.as_str(), REMOVED_AT: removed_at };
        let filter = stream_filter(&scope.app_id, at.0, at.1);
        let update = self.inner.streams.update_one(filter, doc! { "$set": set });
        update.session(&mut *tx.session().await?).await?;
        Ok(())
    }

    async fn add_within(
        &self,
        tx: &Transaction<'_>,
        app_id: &AppId,
        (chat_id, stream_id): (&ChatId, &StreamId),
        group: &StreamGroup,
    ) -> Result<(), Failure> {
        let document = encode(&StreamGroupDocument::new(app_id, chat_id, stream_id, group))?;
        let insert = self.inner.stream_groups.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        Ok(())
    }
}

fn after(time: Time<Utc>, delay: TimeDelta) -> DateTime {
    DateTime::from_chrono(time + delay)
}

//! Streams: a document for each, and one for each of its groups.
//!
//! The number of a group is part of its id, and each group states where the stream stands after it. So the insert of a group
//! succeeds only if no other has been written since the writer last knew the stream, and needs neither a read nor a transaction.

mod batcher;
mod chain;
mod document;

pub(crate) use batcher::GroupBatcher;
pub(crate) use chain::Chains;
pub(crate) use document::{
    REMOVED_AT, StoredGroup, StreamDocument, StreamGroupDocument, stream_group_record,
    stream_record,
};

use std::cmp::Reverse;
use std::sync::Arc;

use async_trait::async_trait;
use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, TimeDelta, Utc};
use futures::TryStreamExt as _;
use records::{
    AppId, ChatId, NewStream, NewTurn, Scope, Stream, StreamEnding, StreamEvent, StreamGroup,
    StreamId, StreamMark, StreamState,
};

use self::chain::Chain;
use self::document::{StoredStream, groups_filter, stream_filter, streams_of_chat};
use crate::StoreError;
use crate::error::StreamRefusal;
use crate::metrics::{Call, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::documents::encode;
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::stream::{self as rules, StreamEnd};
use crate::rules::turn_batch::TurnBatch;
use crate::store::{
    AppendedTurn, Change, EndedStream, Outcome, StreamChange, StreamProgress, Streams, Takeover,
    Written,
};

/// The largest page of groups, in bytes. A larger first group is returned alone.
const PAGE_BYTES: usize = 1 << 20;

/// How long a stream is kept whose agent never ends it, in hours, unless something is still written to it.
const RUNNING_HOURS: i64 = 24;

#[async_trait]
impl Streams for MongoStore {
    async fn start_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream: NewStream,
    ) -> Result<Written<Stream>, StoreError> {
        self.observe(Call::StartStream, Some(chat_id), async {
            let now = self.inner.clock.now();
            let stream = rules::start(scope, chat_id, stream, now, &*self.inner.ids)?;
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            let (started, superseded) = self
                .write(|call| async move {
                    let round = |tx| call.start_round(tx, &scope, &chat_id, &stream);
                    call.transact(&scope, &chat_id, round).await
                })
                .await?;
            for (stream_id, group) in superseded {
                self.notify_stream(&started.chat_id, &stream_id, group);
            }
            if started.outcome == Outcome::Stored {
                let first = StreamGroup { mark: started.mark.clone(), event: StreamEvent::Started };
                self.notify_stream(&started.chat_id, &started.stream_id, first);
            }
            Ok(started)
        })
        .await
    }

    async fn append_chunks(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        from: u64,
        chunks: Vec<String>,
    ) -> Result<StreamProgress, StoreError> {
        self.observe(Call::AppendChunks, Some(chat_id), async {
            Stream::check_chunks(&chunks)?;
            let (scope, at) = (scope.clone(), (chat_id.clone(), stream_id.clone()));
            self.write(|call| async move {
                // Inserts are shared, and bounded where they are sent, so this takes no write slot.
                let add = |attempt| call.add_chunks(attempt, &scope, (&at.0, &at.1), from, &chunks);
                call.append_until(call.deadline(), add).await
            })
            .await
        })
        .await
    }

    async fn take_over_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        takeover: Takeover,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::TakeOverStream, Some(chat_id), async {
            let (scope, at) = (scope.clone(), (chat_id.clone(), stream_id.clone()));
            let (stream, group) = self
                .write(|call| async move {
                    let round = |tx| call.take_over_round(tx, &scope, (&at.0, &at.1), takeover);
                    call.transact(&scope, &at.0, round).await
                })
                .await?;
            self.notify_written(&stream, group);
            Ok(stream)
        })
        .await
    }

    async fn cancel_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::CancelStream, Some(chat_id), async {
            let (scope, at) = (scope.unfenced(), (chat_id.clone(), stream_id.clone()));
            self.write(|call| async move {
                let cancel = |attempt| call.cancel(attempt, &scope, (&at.0, &at.1));
                call.attempt(cancel).await
            })
            .await
        })
        .await
    }

    async fn end_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        ending: StreamEnding,
        turn: Option<NewTurn>,
    ) -> Result<EndedStream, StoreError> {
        self.observe(Call::EndStream, Some(chat_id), async {
            ending.check()?;
            let turn = turn.map(|turn| TurnBatch::check(&scope.caller, turn, &*self.inner.ids));
            let mut turn = turn.transpose()?;
            if let Some(turn) = &mut turn {
                self.inner.metrics.appends.given(&turn.messages);
                turn.ends =
                    Some(StreamEnd { stream_id: stream_id.clone(), ending: ending.clone() });
            }
            let (scope, at) = (scope.clone(), (chat_id.clone(), stream_id.clone()));
            let (ended, group) = self
                .write(|call| async move {
                    let mut appended = None;
                    if let Some(turn) = &turn {
                        let write = |attempt| call.write_turn(&scope, &at.0, turn, attempt);
                        let written = call.attempt(write).await;
                        appended = Some(call.fenced_if_lease_lost(&scope, &at.0, written).await?);
                    }
                    // With a turn the stream has ended in its transaction, unless the turn was written before without it.
                    let round =
                        |tx| call.end_round(tx, &scope, (&at.0, &at.1), &ending, appended.as_ref());
                    let (stream, group) = call.transact(&scope, &at.0, round).await?;
                    Ok((EndedStream { stream, turn: appended }, group))
                })
                .await?;
            self.inner.chains.forget(chat_id, stream_id);
            self.notify_written(&ended.stream, group);
            Ok(ended)
        })
        .await
    }

    async fn list_streams(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Stream>, StoreError> {
        self.observe(Call::ListStreams, Some(chat_id), async {
            let list = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let mut streams = Vec::new();
                for stored in self.stored_streams(streams_of_chat(scope, chat_id)).await? {
                    let (chat_id, stream_id) = (&stored.chat_id, &stored.stream_id);
                    // Its groups are removed before the stream itself.
                    let Some(mark) = self.last_mark(&scope.app_id, (chat_id, stream_id)).await?
                    else {
                        continue;
                    };
                    streams.push(stored.with_mark(mark));
                }
                streams.sort_by_key(|stream| Reverse(stream.started_at));
                Ok(streams)
            };
            self.read(list).await
        })
        .await
    }

    async fn get_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::GetStream, Some(chat_id), async {
            let get = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let stored = self.stored_stream(scope, (chat_id, stream_id)).await?;
                let mark = self.last_mark(&scope.app_id, (chat_id, stream_id)).await?;
                // Its groups are removed before the stream itself.
                let gone = || StoreError::StreamNotFound(stream_id.clone());
                Ok(stored.with_mark(mark.ok_or_else(gone)?))
            };
            self.read(get).await
        })
        .await
    }

    async fn stream_groups(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        after: Option<u64>,
    ) -> Result<Vec<StreamGroup>, StoreError> {
        self.observe(Call::StreamGroups, Some(chat_id), async {
            let list = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let first = after.map_or(0, |after| after + 1);
                let filter = groups_filter(&scope.app_id, chat_id, stream_id, first);
                let find = self.inner.stream_groups.find(filter).sort(doc! { "_id": 1 });
                let (mut found, mut groups, mut bytes) = (find.await?, Vec::new(), 0);
                while let Some(raw) = found.try_next().await? {
                    bytes += raw.as_bytes().len();
                    if bytes > PAGE_BYTES && !groups.is_empty() {
                        break;
                    }
                    groups.push(stream_group_record(&raw)?.group);
                }
                if groups.is_empty() {
                    self.stored_stream(scope, (chat_id, stream_id)).await?;
                }
                Ok(groups)
            };
            self.read(list).await
        })
        .await
    }

    async fn remove_ended_streams(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::RemoveEndedStreams, None, async {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let over = Overdue {
                sweep: Sweep::Streams,
                collection: &self.inner.streams,
                filter: doc! { REMOVED_AT: { "$lte": now } },
                index: doc! { REMOVED_AT: 1 },
                projection: doc! {},
            };
            let remove = |raw: RawDocumentBuf| async move {
                let app_id = AppId::try_from(raw.get_str("app_id").unwrap_or_default().to_owned());
                let stored = stream_record(&raw)?;
                let Ok(app_id) = app_id else { return Ok(false) };
                self.write(|call| async move {
                    call.attempt(|_| call.remove_stream(&app_id, &stored)).await
                })
                .await
            };
            self.sweep(&over, limit, remove).await
        })
        .await
    }
}

impl MongoStore {
    /// Notifies listeners of a group.
    fn notify_stream(&self, chat_id: &ChatId, stream_id: &StreamId, group: StreamGroup) {
        let (chat_id, stream_id) = (chat_id.clone(), stream_id.clone());
        let group = Arc::new(group);
        self.announce_change(Change::Stream(StreamChange { chat_id, stream_id, group }));
    }

    fn notify_written(&self, stream: &Stream, group: Option<StreamGroup>) {
        if let Some(group) = group {
            self.notify_stream(&stream.chat_id, &stream.stream_id, group);
        }
    }

    async fn start_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        stream: &Stream,
    ) -> Result<Round<(Written<Stream>, Vec<(StreamId, StreamGroup)>)>, Failure> {
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
        let (mut superseded, mut running) = (Vec::new(), 0);
        let mut filter = streams_of_chat(scope, chat_id);
        filter.insert("state", StreamState::Running.as_str());
        for other in self.stored_streams(filter).await? {
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
        self.touch_within(&tx, scope, chat_id).await?;
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

    async fn add_chunks(
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

    async fn cancel(
        &self,
        attempt: Attempt,
        scope: &Scope,
        at: (&ChatId, &StreamId),
    ) -> Result<Stream, Failure> {
        let stored = self.stored_stream(scope, at).await?;
        let decide = |mark: &StreamMark| Ok(rules::cancel(mark, self.inner.clock.now()));
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
                let Some(mark) = self.last_mark(&scope.app_id, at).await? else {
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
                    if self.insert_group(document).await? {
                        let mark = group.mark.clone();
                        *held = Some(chain.moved(mark.clone()));
                        self.notify_stream(chat_id, stream_id, group);
                        return Ok(mark);
                    }
                }
                Err(refusal) if is_read => return Err(refusal.into()),
                Err(_) => {}
            }
        }
    }

    /// Returns the error for a stream that is not there. A caller who may not read the chat is not told what it has.
    async fn no_stream(&self, scope: &Scope, chat_id: &ChatId, stream_id: &StreamId) -> Failure {
        match self.session_within(scope, chat_id, doc! { "_id": 1 }).await {
            Ok(_) => StoreError::StreamNotFound(stream_id.clone()).into(),
            Err(refusal) => refusal,
        }
    }

    async fn take_over_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        at: (&ChatId, &StreamId),
        takeover: Takeover,
    ) -> Result<Round<(Stream, Option<StreamGroup>)>, Failure> {
        // Also of a takeover that was made before: its answer is for those who may make it.
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

    /// Ends a stream unless it has ended; returns it, and the group that ends it.
    async fn end_round(
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

    async fn stored_stream(
        &self,
        scope: &Scope,
        (chat_id, stream_id): (&ChatId, &StreamId),
    ) -> Result<StoredStream, Failure> {
        let found =
            self.inner.streams.find_one(stream_filter(&scope.app_id, chat_id, stream_id)).await?;
        let Some(found) = found else {
            return Err(self.no_stream(scope, chat_id, stream_id).await);
        };
        Ok(stream_record(&found)?)
    }

    async fn stored_streams(&self, filter: Document) -> Result<Vec<StoredStream>, Failure> {
        let mut found = self.inner.streams.find(filter).await?;
        let mut streams = Vec::new();
        while let Some(raw) = found.try_next().await? {
            streams.push(stream_record(&raw)?);
        }
        Ok(streams)
    }

    /// Reads where a stream stands; `None` without a group.
    async fn last_mark(
        &self,
        app_id: &AppId,
        (chat_id, stream_id): (&ChatId, &StreamId),
    ) -> Result<Option<StreamMark>, Failure> {
        let find = self.inner.stream_groups.find_one(groups_filter(app_id, chat_id, stream_id, 0));
        let found = find.sort(doc! { "_id": -1 }).projection(doc! { "chunks": 0 }).await?;
        let Some(mut raw) = found else { return Ok(None) };
        raw.append(bson::cstr!("chunks"), bson::RawArrayBuf::new());
        Ok(Some(stream_group_record(&raw)?.group.mark))
    }

    /// Removes a stream whose time is over, or looks again later. Returns whether it removed it.
    async fn remove_stream(&self, app_id: &AppId, stored: &StoredStream) -> Result<bool, Failure> {
        let at = (&stored.chat_id, &stored.stream_id);
        let filter = stream_filter(app_id, at.0, at.1);
        let mark = self.last_mark(app_id, at).await?;
        let kept_until =
            mark.map(|mark| mark.written_at + TimeDelta::minutes(Stream::KEPT_MINUTES));
        if let Some(kept_until) = kept_until.filter(|until| *until > self.inner.clock.now()) {
            let set = doc! { REMOVED_AT: DateTime::from_chrono(kept_until) };
            self.inner.streams.update_one(filter, doc! { "$set": set }).await?;
            return Ok(false);
        }
        let groups = groups_filter(app_id, at.0, at.1, 0);
        self.inner.stream_groups.delete_many(groups).await?;
        self.inner.streams.delete_one(filter).await?;
        self.inner.chains.forget(at.0, at.1);
        Ok(true)
    }
}

fn after(time: Time<Utc>, delay: TimeDelta) -> DateTime {
    DateTime::from_chrono(time + delay)
}

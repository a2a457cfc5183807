//! Streams: a document for each, and one for each of its groups.
//!
//! The number of a group is part of its id, and each group states where the stream stands after it. So the insert of a group
//! succeeds only if no other has been written since the writer last knew the stream, and needs neither a read nor a transaction.

mod batcher;
mod chain;
mod document;
mod write;

pub(crate) use batcher::GroupBatcher;
pub(crate) use chain::Chains;
pub(crate) use document::{
    REMOVED_AT, StoredGroup, StreamDocument, StreamGroupDocument, stream_group_record,
    stream_record,
};

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::TimeDelta;
use futures::TryStreamExt as _;
use mongodb::action::FindOne;
use records::{
    AppId, ChatId, Message, NewStream, NewTurn, Scope, Stream, StreamEnding, StreamEvent,
    StreamGroup, StreamId, StreamMark, StreamState, TurnId,
};

use self::document::{IS_REMOVED, StoredStream, groups_filter, stream_filter, streams_of_chat};
use crate::StoreError;
use crate::metrics::{Call, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::sweep::Overdue;
use crate::rules::stream::{self as rules, StreamEnd};
use crate::rules::turn_batch::TurnBatch;
use crate::store::{
    Change, EndedStream, Outcome, StreamChange, StreamProgress, Streams, Takeover, Written,
};

/// The largest page of groups, in bytes. A larger first group is returned alone.
const PAGE_BYTES: usize = 1 << 20;

/// The groups with which a write has ended streams of a chat; listeners hear of them when it is committed.
pub(crate) type EndedStreams = Vec<(StreamId, StreamGroup)>;

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
            self.notify_streams(&started.chat_id, superseded);
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
                let add = |attempt| call.add_chunks(attempt, &scope, (&at.0, &at.1), from, &chunks);
                call.attempt_shared(add).await
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

    async fn stop_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::StopStream, Some(chat_id), async {
            let (scope, at) = (scope.unfenced(), (chat_id.clone(), stream_id.clone()));
            let (stream, group) = self
                .write(|call| async move {
                    let round = |tx| call.stop_round(tx, &scope, (&at.0, &at.1));
                    call.transact(&scope, &at.0, round).await
                })
                .await?;
            self.inner.chains.forget(chat_id, stream_id);
            self.notify_written(&stream, group);
            Ok(stream)
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
            let is_repeated =
                ended.turn.as_ref().is_some_and(|turn| turn.outcome == Outcome::Duplicate);
            match group {
                // It was counted when the turn was written.
                Some(group) if is_repeated => self.announce_group(chat_id, stream_id, group),
                group => self.notify_written(&ended.stream, group),
            }
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
    /// Counts a group that this process has written, and notifies listeners.
    fn notify_stream(&self, chat_id: &ChatId, stream_id: &StreamId, group: StreamGroup) {
        self.inner.metrics.streams.written(&group);
        self.announce_group(chat_id, stream_id, group);
    }

    /// Notifies listeners of a group.
    fn announce_group(&self, chat_id: &ChatId, stream_id: &StreamId, group: StreamGroup) {
        let (chat_id, stream_id) = (chat_id.clone(), stream_id.clone());
        let group = Arc::new(group);
        self.announce_change(Change::Stream(StreamChange { chat_id, stream_id, group }));
    }

    /// Notifies listeners of the groups that another write of a chat has ended its streams with.
    pub(crate) fn notify_streams(&self, chat_id: &ChatId, ended: EndedStreams) {
        for (stream_id, group) in ended {
            self.notify_stream(chat_id, &stream_id, group);
        }
    }

    fn notify_written(&self, stream: &Stream, group: Option<StreamGroup>) {
        if let Some(group) = group {
            self.notify_stream(&stream.chat_id, &stream.stream_id, group);
        }
    }

    /// Returns the error for a stream that is not there. A caller who may not read the chat is not told what it has.
    async fn no_stream(&self, scope: &Scope, chat_id: &ChatId, stream_id: &StreamId) -> Failure {
        match self.session_within(scope, chat_id, doc! { "_id": 1 }).await {
            Ok(_) => StoreError::StreamNotFound(stream_id.clone()).into(),
            Err(refusal) => refusal,
        }
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
        let find = self.find_last_group(app_id, (chat_id, stream_id));
        find.await?.map(mark_of).transpose()
    }

    /// Returns the query for the newest group of a stream, without its chunks.
    fn find_last_group(
        &self,
        app_id: &AppId,
        (chat_id, stream_id): (&ChatId, &StreamId),
    ) -> FindOne<'_, RawDocumentBuf> {
        let find = self.inner.stream_groups.find_one(groups_filter(app_id, chat_id, stream_id, 0));
        find.sort(doc! { "_id": -1 }).projection(doc! { "chunks": 0 })
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
        self.delete_stream(app_id, at).await?;
        Ok(true)
    }

    /// Removes the ended streams that became the turns of some messages: their chunks repeat what the messages said.
    pub(crate) async fn remove_streams_of(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: &[&Message],
    ) -> Result<(), Failure> {
        let turns = messages.iter().filter_map(|it| it.body.answered_turn());
        let turns: HashSet<&str> = turns.collect();
        if turns.is_empty() {
            return Ok(());
        }
        let mut ended = streams_of_chat(scope, chat_id);
        ended.insert("state", doc! { "$ne": StreamState::Running.as_str() });
        for stored in self.stored_streams(ended).await? {
            let of_header = stored.header.request_id.as_ref().map(TurnId::as_str);
            if turns.contains(of_header.unwrap_or(stored.stream_id.as_str())) {
                self.delete_stream(&scope.app_id, (chat_id, &stored.stream_id)).await?;
            }
        }
        Ok(())
    }

    /// Removes a stream: its groups before itself, so that what is left is found again. First it is marked, for other processes
    /// that still know where it stands; see [`IS_REMOVED`].
    async fn delete_stream(
        &self,
        app_id: &AppId,
        (chat_id, stream_id): (&ChatId, &StreamId),
    ) -> Result<(), Failure> {
        let stream = stream_filter(app_id, chat_id, stream_id);
        let mark = doc! { "$set": { IS_REMOVED: true } };
        self.inner.streams.update_one(stream.clone(), mark).await?;
        let groups = groups_filter(app_id, chat_id, stream_id, 0);
        self.inner.stream_groups.delete_many(groups).await?;
        self.inner.streams.delete_one(stream).await?;
        self.inner.chains.forget(chat_id, stream_id);
        Ok(())
    }
}

/// Reads where a stream stands from a group that was read without its chunks.
fn mark_of(mut group: RawDocumentBuf) -> Result<StreamMark, Failure> {
    group.append(bson::cstr!("chunks"), bson::RawArrayBuf::new());
    Ok(stream_group_record(&group)?.group.mark)
}

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use records::{
    ChatId, MessageBody, NewStream, NewTurn, Scope, Stream, StreamEnding, StreamEvent, StreamGroup,
    StreamId, StreamState,
};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::error::StreamRefusal;
use crate::metrics::Call;
use crate::rules::stream as rules;
use crate::rules::turn_batch::TurnBatch;
use crate::store::{Change, EndedStream, StreamChange, StreamProgress, Streams, Takeover, Written};

/// A stream with its groups.
#[derive(Debug)]
pub(super) struct KeptStream {
    stream: Stream,
    groups: Vec<Arc<StreamGroup>>,
}

#[async_trait]
impl Streams for MemoryStore {
    async fn start_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream: NewStream,
    ) -> Result<Written<Stream>, StoreError> {
        self.observe(Call::StartStream, || {
            let now = self.clock.now();
            let stream = rules::start(scope, chat_id, stream, now, &*self.ids)?;
            self.with_chat(scope, chat_id, |chat| {
                if let Some(kept) = chat.streams.iter().find(|kept| kept.has_id(&stream.stream_id))
                {
                    rules::check_repeated(&stream, &kept.stream)?;
                    return Ok(Written::found(kept.stream.clone(), false));
                }
                chat.check_open(chat_id)?;
                chat.check_fence(scope.fencing_token)?;
                let first_id = rules::first_message_of(&stream);
                if first_id.is_some_and(|first_id| chat.sequence_of(&first_id).is_some()) {
                    return Err(rules::refusal(&stream.stream_id, StreamRefusal::TurnStored));
                }
                for kept in &mut chat.streams {
                    if rules::supersedes(scope, &kept.stream.mark) {
                        let ended =
                            rules::ended(&kept.stream.mark, &rules::superseded(), None, now);
                        self.add(kept, ended);
                    }
                }
                let running = |kept: &&KeptStream| kept.stream.mark.state == StreamState::Running;
                if chat.streams.iter().filter(running).count() >= Stream::MAX_RUNNING {
                    return Err(rules::refusal(&stream.stream_id, StreamRefusal::TooMany));
                }
                let first = StreamGroup { mark: stream.mark.clone(), event: StreamEvent::Started };
                let mut kept = KeptStream { stream: stream.clone(), groups: Vec::new() };
                self.add(&mut kept, first);
                chat.streams.push(kept);
                Ok(Written::stored(stream))
            })
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
        self.observe(Call::AppendChunks, || {
            Stream::check_chunks(&chunks)?;
            let (at, now) = ((chat_id, stream_id), self.clock.now());
            self.with_stream(scope, chat_id, stream_id, |kept| {
                let group = rules::chunks(scope, at, &kept.stream.mark, from, &chunks, now)?;
                self.add_any(kept, group);
                Ok(rules::progress(&kept.stream.mark))
            })
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
        self.observe(Call::TakeOverStream, || {
            let (at, now) = ((chat_id, stream_id), self.clock.now());
            self.with_chat(scope, chat_id, |chat| {
                let fence = chat.check_fence(scope.fencing_token);
                let kept = chat.stream(stream_id)?;
                let group = rules::take_over(scope, at, &kept.stream.mark, takeover, now)?;
                fence?;
                self.add_any(kept, group);
                Ok(kept.stream.clone())
            })
        })
        .await
    }

    async fn cancel_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::CancelStream, || {
            self.with_stream(scope, chat_id, stream_id, |kept| {
                let group = rules::cancel(&kept.stream.mark);
                self.add_any(kept, group);
                Ok(kept.stream.clone())
            })
        })
        .await
    }

    async fn stop_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::StopStream, || {
            let now = self.clock.now();
            self.with_stream(scope, chat_id, stream_id, |kept| {
                let group = rules::stop(&kept.stream.mark, now);
                self.add_any(kept, group);
                Ok(kept.stream.clone())
            })
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
        self.observe(Call::EndStream, || {
            ending.check()?;
            let (at, now) = ((chat_id, stream_id), self.clock.now());
            let turn = turn.map(|turn| TurnBatch::check(&scope.caller, turn, &*self.ids));
            let turn = turn.transpose()?;
            self.with_chat(scope, chat_id, |chat| {
                let mark = chat.stream(stream_id)?.stream.mark.clone();
                let Some(turn) = turn else {
                    let group = rules::end(scope, at, &mark, &ending, None, now)?;
                    if group.is_some() {
                        chat.check_fence(scope.fencing_token)?;
                    }
                    let kept = chat.stream(stream_id)?;
                    self.add_any(kept, group);
                    return Ok(EndedStream { stream: kept.stream.clone(), turn: None });
                };
                let is_written = chat.turn_digests.contains_key(&turn.mark.request_id);
                if !is_written {
                    chat.check_open(chat_id)?;
                    // The counter is not known yet: it only says that there is a turn.
                    rules::end(scope, at, &mark, &ending, Some(0), now)?;
                }
                let appended = self.append_turn_to(scope, chat_id, chat, turn)?;
                let kept = chat.stream(stream_id)?;
                if !is_written {
                    let end = rules::ended(&mark, &ending, Some(appended.last_sequence), now);
                    self.add(kept, end);
                }
                Ok(EndedStream { stream: kept.stream.clone(), turn: Some(appended) })
            })
        })
        .await
    }

    async fn list_streams(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Stream>, StoreError> {
        self.observe(Call::ListStreams, || {
            self.with_chat(scope, chat_id, |chat| {
                Ok(chat.streams.iter().rev().map(|kept| kept.stream.clone()).collect())
            })
        })
        .await
    }

    async fn get_stream(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
    ) -> Result<Stream, StoreError> {
        self.observe(Call::GetStream, || {
            self.with_stream(scope, chat_id, stream_id, |kept| Ok(kept.stream.clone()))
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
        self.observe(Call::StreamGroups, || {
            self.with_stream(scope, chat_id, stream_id, |kept| {
                let groups = kept.groups.iter().map(|group| (**group).clone());
                Ok(groups.filter(|group| after.is_none_or(|it| it < group.mark.number)).collect())
            })
        })
        .await
    }

    async fn remove_ended_streams(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::RemoveEndedStreams, || {
            let (now, mut removed) = (self.clock.now(), 0);
            for chat in self.chats().values_mut() {
                chat.streams.retain(|kept| {
                    let is_removed = removed < limit && kept.is_over(now);
                    removed += usize::from(is_removed);
                    !is_removed
                });
            }
            Ok(removed)
        })
        .await
    }
}

impl MemoryStore {
    fn with_stream<T>(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        stream_id: &StreamId,
        work: impl FnOnce(&mut KeptStream) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.with_chat(scope, chat_id, |chat| work(chat.stream(stream_id)?))
    }

    /// Cancels the running streams of a chat that has ended or was deleted.
    pub(super) fn end_streams(&self, chat: &mut Chat, now: DateTime<Utc>) {
        if !rules::is_over(&chat.session) {
            return;
        }
        for kept in &mut chat.streams {
            let group = rules::end_with_chat(&kept.stream.mark, &chat.session, now);
            self.add_any(kept, group);
        }
    }

    fn add_any(&self, kept: &mut KeptStream, group: Option<StreamGroup>) {
        if let Some(group) = group {
            self.add(kept, group);
        }
    }

    fn add(&self, kept: &mut KeptStream, group: StreamGroup) {
        self.metrics.streams.written(&group);
        kept.stream.mark = group.mark.clone();
        let group = Arc::new(group);
        kept.groups.push(Arc::clone(&group));
        let (chat_id, stream_id) = (kept.stream.chat_id.clone(), kept.stream.stream_id.clone());
        // `send` fails only if there is no listener.
        let _ = self.changes.send(Change::Stream(StreamChange { chat_id, stream_id, group }));
    }
}

impl Chat {
    fn stream(&mut self, stream_id: &StreamId) -> Result<&mut KeptStream, StoreError> {
        let mut streams = self.streams.iter_mut();
        let found = streams.find(|kept| kept.has_id(stream_id));
        found.ok_or_else(|| StoreError::StreamNotFound(stream_id.clone()))
    }

    /// Removes the ended streams that became the turn of a message: their chunks repeat what it said.
    pub(super) fn forget_streams(&mut self, said: &MessageBody) {
        if let Some(turn) = said.answered_turn() {
            let is_kept = |kept: &KeptStream| {
                let Stream { mark, .. } = &kept.stream;
                mark.state == StreamState::Running || kept.stream.turn_id().as_str() != turn
            };
            self.streams.retain(is_kept);
        }
    }

    fn check_open(&self, chat_id: &ChatId) -> Result<(), StoreError> {
        let status = self.session.status;
        if status.is_ended() {
            return Err(StoreError::ChatEnded { chat_id: chat_id.clone(), status });
        }
        Ok(())
    }
}

impl KeptStream {
    fn has_id(&self, stream_id: &StreamId) -> bool {
        self.stream.stream_id == *stream_id
    }

    fn is_over(&self, now: DateTime<Utc>) -> bool {
        let (mark, kept) = (&self.stream.mark, TimeDelta::minutes(Stream::KEPT_MINUTES));
        let is_old = self.stream.started_at + TimeDelta::days(1) <= now;
        (mark.state != StreamState::Running || is_old) && mark.written_at + kept <= now
    }
}

//! Answers while they are given: others follow them, and they outlive the process.

use std::time::Duration;

use persistence::{StoreError, Streams as _, Turns as _};
use records::{
    ChatId, Clock as _, NewStream, NewTurn, Permission, Stream, StreamEnding, StreamFormat,
    StreamGroup, StreamHeader, StreamId, StreamState, SystemClock, TurnId, TurnOutcome,
};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::chats::{Chats, Ending};
use super::rpc::RpcError;
use super::updates::Updates;

/// How long an agent may be silent until its stream is told that it is there.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How often it is asked meanwhile whether the agent is to stop. The answer to chunks says it as well.
const QUESTION: Duration = Duration::from_secs(2);
/// The time until the next attempt to write what the store did not take.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// The stream of an answer.
#[derive(Debug)]
pub(super) struct Live {
    updates: UnboundedSender<String>,
    writer: JoinHandle<Option<StreamId>>,
}

impl Live {
    /// Starts the stream of an answer. `on_cancel` is called when a person or a program asks the agent to stop.
    pub(super) fn start(
        chats: Chats,
        chat_id: ChatId,
        id: TurnId,
        on_cancel: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (updates, waiting) = unbounded_channel();
        let writer = tokio::spawn(write(chats, chat_id, id, waiting, on_cancel));
        Self { updates, writer }
    }

    /// Adds an update.
    pub(super) fn push(&self, update: &Value) {
        // Without a writer, the answer is stored at its end alone.
        let _ = self.updates.send(update.to_string());
    }

    /// Writes what is waiting, and returns the stream if there is one.
    pub(super) async fn end(self) -> Option<StreamId> {
        drop(self.updates);
        self.writer.await.unwrap_or_default()
    }
}

/// Writes the updates of an answer to its stream, until there are no more.
async fn write(
    chats: Chats,
    chat_id: ChatId,
    id: TurnId,
    mut updates: UnboundedReceiver<String>,
    on_cancel: impl FnOnce() + Send,
) -> Option<StreamId> {
    let stream_id = StreamId::parse(id.as_str()).ok()?;
    let header =
        StreamHeader { format: StreamFormat::Acp, agent: None, request_id: Some(id.clone()) };
    let stream = NewStream { stream_id: Some(stream_id.clone()), header };
    let scope = chats.scope(Permission::Run);
    if let Err(error) = chats.store.start_stream(&scope, &chat_id, stream).await {
        tracing::warn!(%error, %chat_id, "others cannot follow the answer");
        return None;
    }
    let mut on_cancel = Some(on_cancel);
    let mut cancel_if = |is_requested: bool| {
        if let Some(on_cancel) = on_cancel.take_if(|_| is_requested) {
            on_cancel();
        }
    };
    let (mut from, mut waiting, mut written_at) = (0, Vec::new(), Instant::now());
    loop {
        if waiting.is_empty() {
            match timeout(QUESTION, updates.recv_many(&mut waiting, Stream::MAX_CHUNKS)).await {
                Ok(0) => return Some(stream_id),
                Ok(_) => {}
                Err(_) if written_at.elapsed() >= HEARTBEAT => {}
                Err(_) => {
                    let stream = chats.store.get_stream(&scope, &chat_id, &stream_id).await;
                    cancel_if(stream.is_ok_and(|stream| stream.mark.is_cancel_requested));
                    continue;
                }
            }
        }
        let chunks = first_of(&waiting);
        let written =
            chats.store.append_chunks(&scope, &chat_id, &stream_id, from, chunks.to_vec()).await;
        match written {
            Ok(progress) => {
                let count = chunks.len();
                waiting.drain(..count);
                (from, written_at) = (progress.next, Instant::now());
                cancel_if(progress.is_cancel_requested);
            }
            Err(error) if error.is_unavailable() && !updates.is_closed() => sleep(PAUSE).await,
            // The end of the stream is written nevertheless.
            Err(error) => {
                tracing::warn!(%error, %chat_id, "others do not see the rest of the answer yet");
                return Some(stream_id);
            }
        }
    }
}

/// Returns as many chunks as one write may have, at least one if there are any.
fn first_of(waiting: &[String]) -> &[String] {
    let mut bytes = 0;
    let fit = waiting.iter().take_while(|chunk| {
        bytes += chunk.len();
        bytes <= Stream::MAX_CHUNK_BYTES
    });
    &waiting[..fit.count().max(1).min(waiting.len())]
}

impl Chats {
    /// Stores a turn, and the end of its stream if it has one. Safe to repeat.
    pub(super) async fn store(
        &self,
        chat_id: &ChatId,
        stream_id: Option<&StreamId>,
        turn: NewTurn,
    ) -> Result<(), StoreError> {
        let scope = self.scope(Permission::Run);
        if let Some(stream_id) = stream_id {
            let state = match turn.outcome {
                TurnOutcome::Completed => StreamState::Finished,
                TurnOutcome::Interrupted => StreamState::Cancelled,
                TurnOutcome::Failed => StreamState::Failed,
            };
            let error = turn.steps.first().and_then(|step| step.error.clone());
            let ending = StreamEnding { error, ..StreamEnding::of(state) };
            let turn = Some(turn.clone());
            match self.store.end_stream(&scope, chat_id, stream_id, ending, turn).await {
                // Another process took the agent for dead, or the stream was removed.
                Err(StoreError::StreamRefused { .. } | StoreError::StreamNotFound(_)) => {}
                ended => return ended.map(|_| ()),
            }
        }
        self.store.append_turn(&scope, chat_id, turn).await?;
        Ok(())
    }

    /// Stores the answers of processes that have died. Returns whether another process is answering.
    pub(super) async fn recover(&self, chat_id: &ChatId) -> Result<bool, RpcError> {
        let (now, mut is_answering) = (SystemClock.now(), false);
        let streams = self.store.list_streams(&self.scope(Permission::Read), chat_id).await?;
        for stream in streams.into_iter().rev() {
            let is_left = stream.mark.state == StreamState::Running
                && stream.header.format == StreamFormat::Acp
                && stream.mark.fencing_token == 0;
            let Some(id) = stream.header.request_id.clone().filter(|_| is_left) else { continue };
            if !stream.is_stalled(now) {
                is_answering = true;
            } else if let Err(error) = self.store_left(stream, id).await {
                // A chat that has ended takes no more turns, and can be read nevertheless.
                tracing::warn!(?error, %chat_id, "the answer of a process that has ended is not stored");
            }
        }
        Ok(is_answering)
    }

    async fn store_left(&self, stream: Stream, id: TurnId) -> Result<(), RpcError> {
        let (chat_id, stream_id) = (&stream.chat_id, &stream.stream_id);
        let (mut updates, mut after) = (Updates::default(), None);
        loop {
            let scope = self.scope(Permission::Read);
            let groups = self.store.stream_groups(&scope, chat_id, stream_id, after).await?;
            let Some(last) = groups.last() else { break };
            after = Some(last.mark.number);
            let chunks = groups.iter().flat_map(StreamGroup::chunks);
            for update in chunks.filter_map(|chunk| serde_json::from_str(chunk).ok()) {
                updates.push(update);
            }
        }
        let turn = Self::turn(id, updates, Ending::Interrupted)?;
        tracing::warn!(%chat_id, "storing the answer of a process that has ended");
        match self.store(chat_id, Some(stream_id), turn).await {
            // It could store its answer, and not the end of the stream.
            Err(StoreError::TurnConflict { .. }) => {
                let ending = StreamEnding::of(StreamState::Cancelled);
                let scope = self.scope(Permission::Run);
                self.store.end_stream(&scope, chat_id, stream_id, ending, None).await?;
            }
            stored => stored?,
        }
        Ok(())
    }
}

//! The append queues: one for each chat, from which appends are taken in groups.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use records::{AppId, ChatId, EventId, Scope};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};
use tracing::Span;

use crate::StoreError;
use crate::metrics::{QueueBound, Queued, StoreMetrics};
use crate::mongo::engine::calls::RETRY_AFTER;
use crate::mongo::transcript::append::send_state::SendState;
use crate::rules::batch::Batch;
use crate::store::Append;

/// The limits of append queues and groups.
#[derive(Debug, Clone, Copy)]
pub struct QueueBounds {
    /// The most appends that wait for one chat; further ones get `Overloaded`.
    pub chat_appends: usize,
    /// The most bytes of their messages. An empty queue accepts any append.
    pub chat_bytes: usize,
    /// The most bytes of messages of all appends that wait or are running, in all chats.
    pub total_bytes: usize,
    /// The most messages that one update stores for several appends.
    pub group_messages: usize,
    /// The most bytes of these messages.
    pub group_bytes: usize,
}

impl Default for QueueBounds {
    fn default() -> Self {
        Self {
            chat_appends: 1_024,
            chat_bytes: 32 << 20,
            total_bytes: 256 << 20,
            group_messages: 256,
            group_bytes: 256 << 10,
        }
    }
}

/// The queues of all chats with appends that wait or are running.
#[derive(Debug, Clone)]
pub(crate) struct Queues(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: QueueBounds,
    room: Arc<Semaphore>,
    metrics: Arc<StoreMetrics>,
    chats: Mutex<HashMap<Chat, Queue>>,
}

/// The key of a queue. It has the app, so that appends of another app that name this chat do not delay it.
type Chat = (AppId, ChatId);

impl Queues {
    pub(crate) fn new(bounds: QueueBounds, metrics: Arc<StoreMetrics>) -> Self {
        let room = Arc::new(Semaphore::new(bounds.total_bytes));
        Self(Arc::new(Inner { bounds, room, metrics, chats: Mutex::default() }))
    }

    /// Adds an append to the end of its chat's queue, or returns `Overloaded`.
    ///
    /// If no task serves the queue, the caller gets the duty to serve it.
    pub(crate) fn enter(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: Batch,
        deadline: Instant,
    ) -> Result<(Ticket, Option<QueueRunner>), StoreError> {
        let bytes = u32::try_from(batch.bytes()).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.0.room).try_acquire_many_owned(bytes);
        let room = room.map_err(|_| self.0.overloaded(QueueBound::Total))?;
        let chat = (scope.app_id.clone(), chat_id.clone());
        let (sender, answer) = oneshot::channel();
        let send_state = Arc::new(SendState::default());
        let ticket = Ticket { send_state: Arc::clone(&send_state), answer };
        let scope = scope.clone();
        let room = BytesPermit { _permit: room, _queued: Queued::new(&self.0.metrics, bytes) };
        let waiting = WaitingAppend {
            scope,
            batch,
            deadline,
            send_state,
            span: Span::current(),
            answer: sender,
            _room: room,
        };
        let mut chats = self.0.chats();
        let is_served = chats.contains_key(&chat);
        let queue = chats.entry(chat.clone()).or_default();
        if !queue.push(waiting, &self.0.bounds) {
            return Err(self.0.overloaded(QueueBound::Chat));
        }
        let serve = || QueueRunner { queues: Arc::clone(&self.0), chat, is_over: false };
        Ok((ticket, (!is_served).then(serve)))
    }
}

/// The waiting appends of one chat, oldest first.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<WaitingAppend>,
    bytes: usize,
}

impl Queue {
    /// Adds an append if there is room; returns whether there was. An empty queue accepts any append.
    fn push(&mut self, waiting: WaitingAppend, bounds: &QueueBounds) -> bool {
        let bytes = self.bytes + waiting.batch.bytes();
        let is_full = self.waiting.len() >= bounds.chat_appends || bytes > bounds.chat_bytes;
        if is_full && !self.waiting.is_empty() {
            return false;
        }
        self.bytes = bytes;
        self.waiting.push_back(waiting);
        true
    }

    fn pop_if(&mut self, is_wanted: impl FnOnce(&WaitingAppend) -> bool) -> Option<WaitingAppend> {
        if !is_wanted(self.waiting.front()?) {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.batch.bytes();
        Some(waiting)
    }
}

impl Inner {
    fn chats(&self) -> MutexGuard<'_, HashMap<Chat, Queue>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn overloaded(&self, bound: QueueBound) -> StoreError {
        /// A full queue is usually empty after this time.
        const RETRY_AFTER: Duration = Duration::from_secs(1);
        self.metrics.appends.overloaded(bound);
        StoreError::Overloaded { retry_after: RETRY_AFTER }
    }
}

/// The duty to serve the queue of a chat; one task has it at a time.
#[derive(Debug)]
pub(crate) struct QueueRunner {
    queues: Arc<Inner>,
    chat: Chat,
    is_over: bool,
}

impl QueueRunner {
    pub(crate) fn chat_id(&self) -> &ChatId {
        &self.chat.1
    }

    /// Takes the next group; `None` if the queue is empty, which ends the duty.
    pub(crate) fn next_group(&mut self) -> Option<Group> {
        let mut chats = self.queues.chats();
        let group = chats.get_mut(&self.chat).map(|queue| Group::take(queue, &self.queues.bounds));
        let group = group.filter(|group| !group.members.is_empty());
        if group.is_none() {
            // This is done under the lock that `enter` takes: an append is either in the queue above, or
            // finds no queue and starts a task.
            chats.remove(&self.chat);
            self.is_over = true;
        }
        group
    }
}

impl Drop for QueueRunner {
    /// Removes the queue if its task fails; the waiting callers then get `OutcomeUnknown`.
    fn drop(&mut self) {
        if !self.is_over {
            self.queues.chats().remove(&self.chat);
        }
    }
}

/// An append that waits or is running.
#[derive(Debug)]
pub(crate) struct WaitingAppend {
    pub(crate) scope: Scope,
    pub(crate) batch: Batch,
    deadline: Instant,
    send_state: Arc<SendState>,
    /// The span of the caller.
    span: Span,
    answer: oneshot::Sender<Result<Append, StoreError>>,
    _room: BytesPermit,
}

/// The share of `total_bytes` that an append has until it is answered.
#[derive(Debug)]
struct BytesPermit {
    _permit: OwnedSemaphorePermit,
    _queued: Queued,
}

/// Appends that one update stores: neighbours in the queue with the same rights and no repeated id.
#[derive(Debug)]
pub(crate) struct Group {
    members: Vec<WaitingAppend>,
}

impl Group {
    /// Takes the next group, and drops withdrawn appends.
    ///
    /// All members have the same rights, because one update checks the access of one caller. An append
    /// that repeats an id waits for the next group, which finds the duplicate.
    fn take(queue: &mut Queue, bounds: &QueueBounds) -> Self {
        let mut group = Self { members: Vec::new() };
        let mut ids: HashSet<EventId> = HashSet::new();
        let (mut messages, mut bytes) = (0, 0);
        let mut fits = |group: &Self, next: &WaitingAppend| {
            messages += next.batch.len();
            bytes += next.batch.bytes();
            let is_new = next.batch.event_ids().all(|id| !ids.contains(id));
            ids.extend(next.batch.event_ids().cloned());
            group.scope().is_none_or(|scope| scope.has_same_rights(&next.scope))
                && (group.members.is_empty()
                    || is_new && messages <= bounds.group_messages && bytes <= bounds.group_bytes)
        };
        loop {
            while queue.pop_if(|next| next.send_state.is_withdrawn()).is_some() {}
            match queue.pop_if(|next| fits(&group, next)) {
                Some(next) => group.members.push(next),
                None => return group,
            }
        }
    }

    /// Returns the span of the caller whose append came first: in its trace is the command that all of them share.
    pub(crate) fn span(&self) -> Span {
        self.members.first().map_or_else(Span::none, |member| member.span.clone())
    }

    /// Returns the latest deadline of the members.
    pub(crate) fn deadline(&self) -> Instant {
        self.members.iter().map(|member| member.deadline).max().unwrap_or_else(Instant::now)
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the scope of the members.
    fn scope(&self) -> Option<&Scope> {
        self.members.first().map(|member| &member.scope)
    }

    /// Returns the members that were not withdrawn; from now on they cannot be withdrawn.
    pub(crate) fn send(&self) -> Vec<&WaitingAppend> {
        self.members.iter().filter(|member| member.send_state.send()).collect()
    }

    /// Allows the members to be withdrawn again, because nothing of what was sent was applied.
    pub(crate) fn recall(&self) {
        self.members.iter().for_each(|member| member.send_state.recall());
    }

    /// Answers the members that were sent, in their order.
    pub(crate) fn answer(self, answers: Vec<Result<Append, StoreError>>) {
        let sent = self.members.into_iter().filter(|member| member.send_state.is_sent());
        for (member, answer) in sent.zip(answers) {
            member.answer(answer);
        }
    }

    /// Answers each member with an error.
    pub(crate) fn refuse(self, mut error: impl FnMut() -> StoreError) {
        self.members.into_iter().for_each(|member| member.answer(Err(error())));
    }

    /// Splits the group into groups of one member.
    pub(crate) fn split(self) -> impl Iterator<Item = Self> {
        self.members.into_iter().map(|member| Self { members: vec![member] })
    }
}

impl WaitingAppend {
    fn answer(self, answer: Result<Append, StoreError>) {
        // A caller that is gone gets no answer; with ids of its own it can repeat the append safely.
        drop(self.answer.send(answer));
    }
}

/// The caller's side of a waiting append.
#[derive(Debug)]
pub(crate) struct Ticket {
    send_state: Arc<SendState>,
    answer: oneshot::Receiver<Result<Append, StoreError>>,
}

impl Ticket {
    /// Waits for the answer until the deadline.
    ///
    /// After that, the error is `Unavailable` if the append was not sent and never will be, and
    /// `OutcomeUnknown` otherwise.
    pub(crate) async fn answered(mut self, deadline: Instant) -> Result<Append, StoreError> {
        match timeout_at(deadline, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(gone)) => Err(StoreError::OutcomeUnknown { source: gone.into() }),
            Err(elapsed) if self.send_state.withdraw() => {
                Err(StoreError::Unavailable { retry_after: RETRY_AFTER, source: elapsed.into() })
            }
            Err(elapsed) => Err(StoreError::OutcomeUnknown { source: elapsed.into() }),
        }
    }
}

impl Drop for Ticket {
    /// Withdraws the append if it was not sent: its caller is gone.
    fn drop(&mut self) {
        self.send_state.withdraw();
    }
}

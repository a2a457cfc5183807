use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::try_join_all;
use persistence::{ChatHead, MessageRange, Store, StoreError, StreamChange};
use records::{
    AppId, ChatId, Clock as _, InputRequest, InputRequestId, Message, Scope, Stream, StreamGroup,
    StreamId, SystemClock,
};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::backoff::Backoff;
use super::event::MessageEvent;
use super::position::Position;
use super::state_feed::StateFeed;
use super::streams::Pushed;
use super::window::Window;

/// The longest time without a read of the streams while one is running.
///
/// Every write of a stream is notified. This bounds the delay should one be missed, and finds out whether an agent is silent.
const STREAM_INTERVAL: Duration = Duration::from_secs(2);

/// The number of messages read with one store call.
const PAGE_MESSAGES: usize = 256;

/// Reads what is new in one live chat, once for all of its subscribers, and puts it into the window of
/// the chat.
///
/// A change notification only wakes the feed. What the feed then reads, and what it sends, follow from
/// the counters of the chat alone: a notification that is lost, late or repeated costs time, but never a
/// message.
#[derive(Debug)]
pub(super) struct Feed {
    store: Arc<dyn Store>,
    /// The scope of the service itself: each subscriber's own rights are checked when it subscribes, and
    /// again by its `StreamLimits`.
    scope: Scope,
    chat_id: ChatId,
    /// A `watch` channel holds only the latest window. A receiver that misses some loses nothing, because
    /// it continues from its own position; a channel with a queue would fill up behind a slow receiver.
    window: watch::Sender<Window>,
    states: StateFeed,
    wake: Notify,
    /// Wakes the reading of streams.
    stream_wake: Notify,
    /// The highest counter that a change notification has reported. It lets the feed read new messages
    /// without reading the head of the chat first.
    reported_counter: AtomicU64,
    /// Messages that a change notification has carried, so that they need no read.
    carried: Mutex<Carried>,
    /// Whether the head must be read, because more than the counter may have changed.
    is_stale: AtomicBool,
}

/// Appended messages that were carried and are not taken over yet: at most [`MAX`](Self::MAX) appends.
#[derive(Debug, Default)]
struct Carried(VecDeque<Arc<[Message]>>);

impl Carried {
    const MAX: usize = 64;

    fn push(&mut self, messages: Arc<[Message]>) {
        if self.0.len() == Self::MAX {
            self.0.pop_front();
        }
        self.0.push_back(messages);
    }

    /// Removes the messages up to those that follow a sequence without a gap, and returns these.
    ///
    /// The appends may come in any order, and twice: from this process, and by the change stream.
    fn following(&mut self, mut next: u64) -> Vec<Message> {
        let mut following = Vec::new();
        loop {
            let begins = |messages: &Arc<[Message]>| messages.first().map(|first| first.sequence);
            self.0.retain(|messages| begins(messages).is_some_and(|begins| begins >= next));
            let Some(at) = self.0.iter().position(|messages| begins(messages) == Some(next)) else {
                return following;
            };
            let messages = self.0.remove(at).into_iter();
            following.extend(messages.flat_map(|messages| messages.to_vec()));
            next = following.last().map_or(next, |last: &Message| last.sequence + 1);
        }
    }
}

impl Feed {
    pub(super) fn new(store: Arc<dyn Store>, app_id: AppId, chat_id: ChatId) -> Self {
        let scope = Scope::service(app_id);
        let (window, _) = watch::channel(Window::new());
        let states = StateFeed::new(Arc::clone(&store), scope.clone(), chat_id.clone());
        let (wake, stream_wake) = (Notify::new(), Notify::new());
        // A new feed knows nothing yet, so it starts with the head.
        let (reported_counter, is_stale) = (AtomicU64::new(0), AtomicBool::new(true));
        Self {
            store,
            scope,
            chat_id,
            window,
            states,
            wake,
            stream_wake,
            reported_counter,
            carried: Mutex::default(),
            is_stale,
        }
    }

    pub(super) fn app_id(&self) -> &AppId {
        &self.scope.app_id
    }

    pub(super) fn chat_id(&self) -> &ChatId {
        &self.chat_id
    }

    pub(super) fn states(&self) -> &StateFeed {
        &self.states
    }

    /// Returns a receiver that sees each change of the window.
    pub(super) fn subscribe(&self) -> watch::Receiver<Window> {
        self.window.subscribe()
    }

    /// Takes messages that were appended. They are only a shortcut: what is missing or comes late is read.
    pub(super) fn take(&self, messages: &Arc<[Message]>) {
        if !messages.is_empty() {
            self.carried().push(Arc::clone(messages));
        }
    }

    fn carried(&self) -> MutexGuard<'_, Carried> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests a read of the states without a sequence, and of the streams.
    pub(super) fn all_states_changed(&self) {
        self.states.presence_changed();
        self.states.usage_changed();
        self.streams_changed();
    }

    /// Wakes the feed: the chat has reached a counter, or has changed in any way where that is `None`.
    pub(super) fn chat_changed(&self, counter: Option<u64>) {
        match counter {
            Some(counter) => {
                self.reported_counter.fetch_max(counter, Ordering::AcqRel);
            }
            None => self.is_stale.store(true, Ordering::Release),
        }
        // `notify_one` stores the wake-up if the feed is busy reading, so none is lost in between.
        self.wake.notify_one();
    }

    /// Wakes the feed if a head that was polled is newer than the one it knows.
    pub(super) fn head_polled(&self, head: &ChatHead) {
        let is_new = self.window.borrow().head().is_none_or(|known| {
            // Right after an election the store may show an older head than before.
            let is_older = head.last_sequence < known.last_sequence || head.is_older_than(known);
            !is_older && head != known
        });
        if is_new {
            self.chat_changed(None);
        }
    }

    /// Reads what is new whenever the feed is woken, until the chat is gone.
    pub(super) async fn run(self: Arc<Self>) {
        tokio::select! {
            () = self.follow_messages() => {}
            () = self.states.run(&self.window) => {}
            () = self.follow_streams() => {}
        }
    }

    /// Takes a write of a stream, or has the streams read if something before it is missing.
    pub(super) fn stream_changed(&self, change: &StreamChange) {
        if let Some(last_sequence) = change.group.mark.last_sequence {
            // The end of a stream is told after the messages that it became.
            self.chat_changed(Some(last_sequence));
        }
        let mut pushed = Pushed::Known;
        self.window.send_if_modified(|window| {
            pushed = window.streams_mut().push(change);
            pushed == Pushed::Added
        });
        if pushed == Pushed::Gap {
            self.streams_changed();
        }
    }

    /// Has the streams read.
    pub(super) fn streams_changed(&self) {
        self.stream_wake.notify_one();
    }

    /// Reads the streams at the start, whenever something of them is missing, and now and then while one is running.
    async fn follow_streams(&self) {
        let mut backoff = Backoff::new();
        loop {
            match self.refresh_streams().await {
                Ok(()) => {
                    backoff.reset();
                    let is_any_running = self.window.borrow().streams().is_any_running();
                    let changed = self.stream_wake.notified();
                    if is_any_running {
                        let _ = timeout(STREAM_INTERVAL, changed).await;
                    } else {
                        changed.await;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, chat_id = %self.chat_id, "failed to read streams");
                    backoff.wait().await;
                }
            }
        }
    }

    async fn refresh_streams(&self) -> Result<(), StoreError> {
        let streams = self.store.list_streams(&self.scope, &self.chat_id).await?;
        let now = SystemClock.now();
        let mut missing = Vec::new();
        self.window.send_modify(|window| {
            missing = window.streams_mut().refresh(streams, |stream| stream.is_stalled(now));
        });
        for (stream_id, mut after) in missing {
            loop {
                let groups = self.read_groups(&stream_id, after).await?;
                let Some(last) = groups.last() else { break };
                after = last.mark.number;
                for group in groups {
                    let (chat_id, stream_id) = (self.chat_id.clone(), stream_id.clone());
                    let group = Arc::new(group);
                    self.stream_changed(&StreamChange { chat_id, stream_id, group });
                }
            }
        }
        Ok(())
    }

    /// Reads a page of the groups of a stream.
    pub(super) async fn read_groups(
        &self,
        stream_id: &StreamId,
        after: u64,
    ) -> Result<Vec<StreamGroup>, StoreError> {
        self.store.stream_groups(&self.scope, &self.chat_id, stream_id, Some(after)).await
    }

    /// Returns a stream as far as it is known.
    pub(super) fn known_stream(&self, stream_id: &StreamId) -> Option<Stream> {
        self.window.borrow().streams().get(stream_id).cloned()
    }

    async fn follow_messages(&self) {
        let mut backoff = Backoff::new();
        loop {
            match self.refresh().await {
                Ok(true) => {
                    backoff.reset();
                    self.wake.notified().await;
                    continue;
                }
                // The store does not show yet what was reported: read again soon.
                Ok(false) => {}
                Err(StoreError::ChatNotFound(_)) => {
                    self.window.send_modify(Window::close);
                    return;
                }
                Err(error) => {
                    self.is_stale.store(true, Ordering::Release);
                    tracing::warn!(%error, chat_id = %self.chat_id, "failed to read a live chat");
                }
            }
            backoff.wait().await;
        }
    }

    /// Reads what is new; `false` means that the store does not show all of it yet.
    async fn refresh(&self) -> Result<bool, StoreError> {
        // The flag is cleared before the read: a change during the read sets it again.
        let head = if self.is_stale.swap(false, Ordering::AcqRel) {
            Some(self.read_head().await?)
        } else {
            None
        };
        let known = self.window.borrow().head().cloned();
        let Some(known) = known else {
            if let Some(head) = head {
                let pending = self.read_inputs(&head.pending_inputs).await?;
                self.window.send_modify(|window| window.initialize(head, pending));
            }
            // Changes that were reported during the first read are picked up by a second one.
            self.wake.notify_one();
            return Ok(true);
        };
        let counter_in_head = head.as_ref().map_or(0, |head| head.last_sequence);
        let counter = counter_in_head.max(self.reported_counter.load(Ordering::Acquire));
        if !self.read_messages(known.last_sequence, counter).await? {
            // The window takes a head only after the messages that it counts: otherwise a subscriber
            // could see a status or an edit before the message it belongs to.
            self.is_stale.fetch_or(head.is_some(), Ordering::AcqRel);
            return Ok(false);
        }
        // Right after an election the store may show an older head than before: the window never goes back.
        if let Some(head) = head.filter(|head| !head.is_older_than(&known)) {
            let edits = self.read_edits(&head, known.revision).await?;
            let inputs = self.read_inputs(&self.changed_inputs(&head, &known).await?).await?;
            self.window.send_modify(|window| window.advance(head, edits, inputs));
        }
        Ok(true)
    }

    /// Reduces the position that a client claims to one that the chat can have: positions past the end
    /// are clamped to the end.
    ///
    /// For a position past the head known here the head is read again with majority concern. Right after
    /// an election a plain read may be behind what the client was sent before, and clamping to it would
    /// send messages twice.
    pub(super) async fn clamp_position(
        &self,
        at: Position,
        head: &ChatHead,
    ) -> Result<Position, StoreError> {
        if at.next == 0 {
            // The client will be sent every message in its current form, so it misses no edit so far.
            return Ok(Position { next: 0, revision: head.revision });
        }
        if at == Position::END {
            return Ok(Position { next: head.last_sequence, revision: head.revision });
        }
        if at.next <= head.last_sequence && at.revision <= head.revision {
            return Ok(at);
        }
        let head = self.store.confirmed_head(&self.scope, &self.chat_id).await?;
        let (next, revision) = (at.next.min(head.last_sequence), at.revision.min(head.revision));
        Ok(Position { next, revision })
    }

    async fn read_head(&self) -> Result<ChatHead, StoreError> {
        let chats = std::slice::from_ref(&self.chat_id);
        match self.store.heads(&self.scope, chats).await?.pop() {
            Some(head) => Ok(head),
            // A plain read may miss a chat that was just created. Only a confirmed read may say that the
            // chat is gone, because that ends the streams of all subscribers.
            None => self.store.confirmed_head(&self.scope, &self.chat_id).await,
        }
    }

    /// Reads messages up to a counter into the window; tells whether the store showed all of them.
    async fn read_messages(&self, mut next: u64, counter: u64) -> Result<bool, StoreError> {
        if counter.saturating_sub(next) > Window::MAX_MESSAGES as u64 {
            // The window could not hold them all: subscribers read what is older from the store.
            self.window.send_modify(|window| window.skip_to(counter));
            return Ok(true);
        }
        while next < counter {
            let carried = self.carried().following(next);
            let messages = if carried.is_empty() { self.read_page(next).await? } else { carried };
            // The store does not show the messages up to the counter yet. Stopping here keeps the window
            // without a gap.
            let Some(last) = messages.last() else { return Ok(false) };
            next = last.sequence + 1;
            // They are encoded before the window is locked: a large message takes a while.
            let messages = messages.into_iter().map(MessageEvent::from).collect();
            self.window.send_modify(|window| window.append(messages));
        }
        Ok(true)
    }

    /// Reads one page of messages, from a sequence on.
    pub(super) async fn read_page(&self, next: u64) -> Result<Vec<Message>, StoreError> {
        let range =
            MessageRange::Oldest { after: next.checked_sub(1), before: None, limit: PAGE_MESSAGES };
        Ok(self.store.messages(&self.scope, &self.chat_id, range).await?.messages)
    }

    /// Reads one message.
    pub(super) async fn read_message(&self, sequence: u64) -> Result<Message, StoreError> {
        self.store.get_message(&self.scope, &self.chat_id, sequence).await
    }

    /// Reads the messages edited after a revision; `None` if the head no longer lists that many edits.
    async fn read_edits(
        &self,
        head: &ChatHead,
        revision: u64,
    ) -> Result<Option<Vec<(u64, MessageEvent)>>, StoreError> {
        let Some(edits) = head.edits_since(revision) else { return Ok(None) };
        let mut messages = Vec::new();
        for (revision, sequence) in edits {
            messages.push((revision, self.read_message(sequence).await?.into()));
        }
        Ok(Some(messages))
    }

    /// Returns the input requests that were asked or closed since an older head.
    async fn changed_inputs(
        &self,
        head: &ChatHead,
        known: &ChatHead,
    ) -> Result<Vec<InputRequestId>, StoreError> {
        if let Some(changed) = head.inputs_since(known.input_version) {
            return Ok(changed.into_iter().cloned().collect());
        }
        // There were more changes than a head lists. The version grows by one with each request that is
        // asked and with each that is closed; the number pending grows with the first and shrinks with
        // the second. Half of the sum of both differences is thus how many were asked, and these are the
        // newest of the list. All others that can have changed were pending before.
        let changes =
            usize::try_from(head.input_version - known.input_version).unwrap_or(usize::MAX);
        let asked =
            (changes + head.pending_inputs.len()).saturating_sub(known.pending_inputs.len()) / 2;
        let page =
            self.store.list_input_requests(&self.scope, &self.chat_id, asked.max(1), None).await?;
        let asked = page.requests.into_iter().rev().map(|request| request.request_id);
        Ok(known.pending_inputs.iter().cloned().chain(asked).collect())
    }

    async fn read_inputs(&self, ids: &[InputRequestId]) -> Result<Vec<InputRequest>, StoreError> {
        let inputs = ids.iter();
        let inputs = inputs.map(|id| self.store.get_input_request(&self.scope, &self.chat_id, id));
        try_join_all(inputs).await
    }
}

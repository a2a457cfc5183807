use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use persistence::{ChatHead, MessageRange, Store, StoreError};
use records::{ChatId, InputRequest, InputRequestId, Message, Scope};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::Position;
use super::window::Window;

/// Messages that are read at a time.
pub(super) const PAGE: usize = 256;

/// The pause after which a reading that failed, or came too early, is tried again: at first, at most.
pub(super) const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// One chat that somebody listens to: reads what is new in it, once for all of them.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) store: Arc<dyn Store>,
    /// The service's own: who listens was admitted before.
    pub(super) scope: Scope,
    pub(super) chat_id: ChatId,
    pub(super) window: watch::Sender<Window>,
    wake: Notify,
    /// Others may be present.
    pub(super) presence_moved: Notify,
    /// Calls may have been recorded or deleted.
    pub(super) usage_moved: Notify,
    /// The counter the chat is known to have reached.
    counter: AtomicU64,
    /// Whether more than messages may have changed.
    is_stale: AtomicBool,
}

impl Feed {
    pub(super) fn new(store: Arc<dyn Store>, scope: Scope, chat_id: ChatId) -> Self {
        let (window, _) = watch::channel(Window::new());
        let (counter, is_stale) = (AtomicU64::new(0), AtomicBool::new(true));
        Self {
            store,
            scope,
            chat_id,
            window,
            wake: Notify::new(),
            presence_moved: Notify::new(),
            usage_moved: Notify::new(),
            counter,
            is_stale,
        }
    }

    /// Takes notice that the chat has reached a counter, or of any change where it is `None`.
    pub(super) fn notice(&self, counter: Option<u64>) {
        match counter {
            Some(counter) => {
                self.counter.fetch_max(counter, Ordering::AcqRel);
            }
            None => self.is_stale.store(true, Ordering::Release),
        }
        self.wake.notify_one();
    }

    /// Takes notice of how the chat stands, if that is new.
    pub(super) fn notice_head(&self, head: &ChatHead) {
        let is_new = self.window.borrow().head().is_none_or(|known| {
            // A moment after an election the store may show less than it did before.
            let is_older = head.last_sequence < known.last_sequence || head.is_older_than(known);
            !is_older && head != known
        });
        if is_new {
            self.notice(None);
        }
    }

    /// Reads what is new whenever there is something, until the chat is gone.
    pub(super) async fn run(self: Arc<Self>) {
        tokio::select! {
            () = self.follow_messages() => {}
            () = self.follow_presence() => {}
            () = self.follow_usage() => {}
        }
    }

    async fn follow_messages(&self) {
        let mut pause = PAUSES.0;
        loop {
            match self.refresh().await {
                Ok(true) => {
                    pause = PAUSES.0;
                    self.wake.notified().await;
                    continue;
                }
                Ok(false) => {}
                Err(StoreError::ChatNotFound(_)) => {
                    self.window.send_modify(Window::close);
                    return;
                }
                Err(error) => {
                    self.is_stale.store(true, Ordering::Release);
                    tracing::warn!(%error, chat_id = %self.chat_id, "could not read a live chat");
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Reads what is new; `false`: the store does not show all of it yet.
    async fn refresh(&self) -> Result<bool, StoreError> {
        let head = if self.is_stale.swap(false, Ordering::AcqRel) {
            Some(self.head().await?)
        } else {
            None
        };
        let known = self.window.borrow().head().cloned();
        let Some(known) = known else {
            if let Some(head) = head {
                let pending = self.read_inputs(&head.pending_inputs).await?;
                self.window.send_modify(|window| window.begin(head, pending));
            }
            // Once more, for what was noticed meanwhile.
            self.wake.notify_one();
            return Ok(true);
        };
        let shown = head.as_ref().map_or(0, |head| head.last_sequence);
        let counter = shown.max(self.counter.load(Ordering::Acquire));
        if !self.read_messages(known.last_sequence, counter).await? {
            // What the head says besides comes after the messages.
            self.is_stale.fetch_or(head.is_some(), Ordering::AcqRel);
            return Ok(false);
        }
        if let Some(head) = head.filter(|head| !head.is_older_than(&known)) {
            let edits = self.read_edits(&head, known.revision).await?;
            let inputs = self.read_inputs(&self.changed_inputs(&head, &known).await?).await?;
            self.window.send_modify(|window| window.advance(head, edits, inputs));
        }
        Ok(true)
    }

    /// Takes what a reader says to hold to what there can be.
    ///
    /// What lies beyond the head is asked for again, with certainty: a moment after an election the
    /// store may show less than somebody was given before.
    pub(super) async fn corrected(
        &self,
        at: Position,
        head: &ChatHead,
    ) -> Result<Position, StoreError> {
        if at.next == 0 {
            // Every message is to come, as it is now or later.
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

    async fn head(&self) -> Result<ChatHead, StoreError> {
        let chats = std::slice::from_ref(&self.chat_id);
        match self.store.heads(&self.scope, chats).await?.pop() {
            Some(head) => Ok(head),
            None => self.store.confirmed_head(&self.scope, &self.chat_id).await,
        }
    }

    /// Reads messages up to a counter; tells whether it got there.
    async fn read_messages(&self, mut next: u64, counter: u64) -> Result<bool, StoreError> {
        if counter.saturating_sub(next) > Window::MESSAGES as u64 {
            self.window.send_modify(|window| window.skip_to(counter));
            return Ok(true);
        }
        while next < counter {
            let messages = self.page(next).await?;
            let Some(last) = messages.last() else { return Ok(false) };
            next = last.sequence + 1;
            self.window.send_modify(|window| window.append(messages));
        }
        Ok(true)
    }

    /// Reads some of the messages from a sequence on.
    pub(super) async fn page(&self, next: u64) -> Result<Vec<Message>, StoreError> {
        let range = MessageRange::Oldest { after: next.checked_sub(1), before: None, limit: PAGE };
        Ok(self.store.messages(&self.scope, &self.chat_id, range).await?.messages)
    }

    /// Reads what was edited since a revision, if that is known.
    async fn read_edits(
        &self,
        head: &ChatHead,
        revision: u64,
    ) -> Result<Option<Vec<(u64, Message)>>, StoreError> {
        let Some(edits) = head.edits_since(revision) else { return Ok(None) };
        let mut messages = Vec::new();
        for (revision, sequence) in edits {
            messages.push((revision, self.message(sequence).await?));
        }
        Ok(Some(messages))
    }

    /// Returns the input requests that were made or closed since a head was known.
    async fn changed_inputs(
        &self,
        head: &ChatHead,
        known: &ChatHead,
    ) -> Result<Vec<InputRequestId>, StoreError> {
        if let Some(changed) = head.inputs_since(known.input_version) {
            return Ok(changed.into_iter().cloned().collect());
        }
        // Each one that was made adds one to those pending, each one closed takes one away.
        let changes =
            usize::try_from(head.input_version - known.input_version).unwrap_or(usize::MAX);
        let made =
            (changes + head.pending_inputs.len()).saturating_sub(known.pending_inputs.len()) / 2;
        let page =
            self.store.list_input_requests(&self.scope, &self.chat_id, made.max(1), None).await?;
        let made = page.requests.into_iter().rev().map(|request| request.request_id);
        Ok(known.pending_inputs.iter().cloned().chain(made).collect())
    }

    async fn read_inputs(&self, ids: &[InputRequestId]) -> Result<Vec<InputRequest>, StoreError> {
        let inputs = ids.iter();
        let inputs = inputs.map(|id| self.store.get_input_request(&self.scope, &self.chat_id, id));
        try_join_all(inputs).await
    }

    /// Reads one message.
    pub(super) async fn message(&self, sequence: u64) -> Result<Message, StoreError> {
        self.store.get_message(&self.scope, &self.chat_id, sequence).await
    }
}

use std::collections::VecDeque;
use std::sync::Arc;

use futures::stream::{BoxStream, TryStreamExt as _};
use persistence::{ChatHead, StoreError};
use records::Message;
use tokio::sync::{Semaphore, watch};

use super::backoff::Backoff;
use super::event::{Delivery, Event};
use super::feeds::SubscriberPermit;
use super::position::Position;
use super::state_events::StateEvents;
use super::window::{NextStep, Window};

/// One subscriber of a chat: its position, and the way to what comes next.
pub(crate) struct Subscription {
    permit: SubscriberPermit,
    window: watch::Receiver<Window>,
    /// Bounds how many subscriptions read from the store at a time.
    read_permits: Arc<Semaphore>,
    /// The position after everything in `queue` has been delivered.
    position: Position,
    /// The events to deliver next. They are added only when the queue is empty, one step at a time, so a
    /// slow client holds at most one page of messages.
    queue: VecDeque<Delivery>,
    /// The head whose status, versions and input requests were last delivered; `None` until the
    /// subscriber has caught up.
    sent_head: Option<ChatHead>,
    /// The states without a sequence that were last delivered.
    sent_states: StateEvents,
    /// Whether the subscriber may see what the chat costs.
    sees_cost: bool,
    edit_scan: Option<EditScan>,
}

/// A scan of the whole chat for edited messages.
struct EditScan {
    messages: BoxStream<'static, Result<Message, StoreError>>,
    /// After the scan the subscriber knows all edits up to this revision.
    revision: u64,
}

impl Subscription {
    pub(super) fn new(
        permit: SubscriberPermit,
        window: watch::Receiver<Window>,
        read_permits: Arc<Semaphore>,
        position: Position,
        sees_cost: bool,
    ) -> Self {
        Self {
            permit,
            window,
            read_permits,
            position,
            queue: VecDeque::new(),
            sent_head: None,
            sent_states: StateEvents::default(),
            sees_cost,
            edit_scan: None,
        }
    }

    /// Waits for the next event; `None` once the chat no longer exists.
    ///
    /// While the store is away there are no events, and no error: the subscriber continues when the store
    /// is back. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        let mut backoff = Backoff::new();
        loop {
            if let Some(delivery) = self.queue.pop_front() {
                return Some(delivery);
            }
            match self.fill_queue().await {
                Ok(true) => backoff.reset(),
                Ok(false) => backoff.wait().await,
                Err(StoreError::ChatNotFound(_)) => return None,
                Err(error) => {
                    tracing::debug!(%error, "failed to read events for a subscriber");
                    // The stream of a scan ends with its first error, so the scan starts again. Edits
                    // that were delivered before are delivered once more; an edit replaces a message,
                    // so that is harmless.
                    self.edit_scan = None;
                    backoff.wait().await;
                }
            }
        }
    }

    /// Continues from another position, and returns it: a position past the end is clamped to the end.
    ///
    /// On an error the subscription continues from where it was.
    pub(crate) async fn resume(&mut self, at: Position) -> Result<Position, StoreError> {
        let head = self.window.borrow().head().cloned().ok_or_else(|| self.gone())?;
        let at = self.permit.feed.clamp_position(at, &head).await?;
        (self.position, self.sent_head, self.edit_scan) = (at, None, None);
        self.queue.clear();
        Ok(at)
    }

    /// Returns the position after everything that is queued.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// Returns the head whose state was last delivered; `None` until the subscriber has caught up.
    pub(crate) fn sent_head(&self) -> Option<&ChatHead> {
        self.sent_head.as_ref()
    }

    /// Makes one step towards the next event; `false` means that the store does not show it yet.
    async fn fill_queue(&mut self) -> Result<bool, StoreError> {
        if let Some(scan) = &mut self.edit_scan {
            match scan.messages.try_next().await? {
                Some(message) => self.queue_if_edited(message),
                None => self.finish_scan(),
            }
            return Ok(true);
        }
        // The window is marked as seen before the step is decided: a later change ends `changed` below.
        let step = self.window.borrow_and_update().next_step(self.position);
        match step {
            NextStep::Deliver(deliveries) => self.queue(deliveries),
            NextStep::ReadMessages => return self.read_messages().await,
            NextStep::ReadEdits(edits) => self.read_edits(edits).await?,
            NextStep::ScanForEdits { revision } => {
                let messages = Arc::clone(&self.permit.feed).history();
                self.edit_scan = Some(EditScan { messages, revision });
            }
            // All messages and edits are delivered: now the state of the chat, if that has changed.
            NextStep::Wait if self.queue_state_changes() => {}
            NextStep::Wait => {
                // The sender is gone only when the feed has ended, because the chat no longer exists.
                let changed = self.window.changed().await;
                return changed.map(|()| true).map_err(|_| self.gone());
            }
            NextStep::End => return Err(self.gone()),
        }
        Ok(true)
    }

    fn gone(&self) -> StoreError {
        StoreError::ChatNotFound(self.permit.feed.chat_id().clone())
    }

    fn queue(&mut self, deliveries: impl IntoIterator<Item = Delivery>) {
        self.queue.extend(deliveries);
        // The position moves in the same step, without an `await` between: a cancelled read is repeated, and
        // queued events are not read again.
        if let Some(position) = self.queue.back().and_then(|delivery| delivery.position) {
            self.position = position;
        }
    }

    async fn read_messages(&mut self) -> Result<bool, StoreError> {
        let messages = {
            let _permit = self.read_permits.acquire().await;
            self.permit.feed.read_page(self.position.next).await?
        };
        let revision = self.position.revision;
        let deliveries = messages.into_iter().map(|message| Delivery {
            position: Some(Position { next: message.sequence + 1, revision }),
            event: Event::message(message),
        });
        self.queue(deliveries);
        Ok(!self.queue.is_empty())
    }

    async fn read_edits(&mut self, edits: Vec<(u64, u64)>) -> Result<(), StoreError> {
        let mut deliveries = Vec::new();
        for (revision, sequence) in edits {
            let _permit = self.read_permits.acquire().await;
            let event = Event::edit(self.permit.feed.read_message(sequence).await?);
            let position = Some(Position { revision, ..self.position });
            deliveries.push(Delivery { event, position });
        }
        self.queue(deliveries);
        Ok(())
    }

    fn queue_if_edited(&mut self, message: Message) {
        let is_edited = message.edited_at.is_some() || message.deleted_at.is_some();
        if is_edited && message.sequence < self.position.next {
            // No position: until the scan is over, a client that reconnects must scan again.
            self.queue.push_back(Delivery { event: Event::edit(message), position: None });
        }
    }

    fn finish_scan(&mut self) {
        if let Some(scan) = self.edit_scan.take() {
            self.position.revision = scan.revision;
        }
    }

    /// Queues what has changed besides messages, or `caught-up` the first time; tells whether anything
    /// was queued.
    ///
    /// States are compared with what was last delivered, not collected as they happen. A subscriber that
    /// lags is sent the latest state alone, and needs no queue for those it missed.
    fn queue_state_changes(&mut self) -> bool {
        let window = self.window.borrow();
        let Some(head) = window.head() else { return false };
        let Some(sent) = &self.sent_head else {
            let position = (self.position.next > 0).then_some(self.position);
            let event = Event::caught_up(head, self.position);
            self.queue.push_back(Delivery { event, position });
            let pending = window.pending_inputs().cloned();
            self.queue.extend(pending.map(|event| Delivery { event, position: None }));
            self.sent_head = Some(head.clone());
            return true;
        };
        let inputs = window.inputs_since(sent.input_version).into_iter().cloned();
        let states =
            if self.sees_cost { window.states().clone() } else { window.states().without_usage() };
        let changed_states = states.changed_since(&self.sent_states);
        let events = head_changes(sent, head).chain(inputs).chain(changed_states);
        self.queue.extend(events.map(|event| Delivery { event, position: None }));
        (self.sent_head, self.sent_states) = (Some(head.clone()), states);
        !self.queue.is_empty()
    }
}

/// Returns the events for what differs between two heads, besides messages and input requests.
fn head_changes(sent: &ChatHead, head: &ChatHead) -> impl Iterator<Item = Event> {
    let status = |head: &ChatHead| (head.status, head.status_reason.clone());
    let events = [
        (status(sent) != status(head)).then(|| Event::status(head)),
        (sent.context_version != head.context_version).then(|| Event::context(head)),
        (sent.artifact_version != head.artifact_version).then(|| Event::artifact(head)),
    ];
    events.into_iter().flatten()
}

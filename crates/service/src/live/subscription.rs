use std::collections::VecDeque;

use persistence::{ChatHead, StoreError};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::backoff::Backoff;
use super::event::{Delivery, Event};
use super::feeds::SubscriberPermit;
use super::position::Position;
use super::reader::{EditScan, Read, Reader, Step};
use super::state_events::StateEvents;
use super::streams::{SentStreams, StreamStep};
use super::window::{NextStep, Window};
use crate::admission::Reservation;
use crate::wire::VersionResponse;

/// One subscriber of a chat: its position, and the way to what comes next.
pub(crate) struct Subscription {
    permit: SubscriberPermit,
    window: watch::Receiver<Window>,
    reader: Reader,
    /// The read under way. It is kept while its client is served otherwise, so that no read is done twice.
    reading: Option<AbortOnDropHandle<Result<Read, StoreError>>>,
    /// The position after everything in `queue` has been delivered.
    position: Position,
    /// The events to deliver next. They are added only when the queue is empty, one step at a time, so a
    /// slow client holds at most one page of messages.
    queue: VecDeque<Delivery>,
    /// The memory of the events in `queue` if they were read for this subscriber alone, and of their copies.
    /// So no subscriber that holds memory waits for more.
    queued: Option<Reservation>,
    /// The memory of the copies of an event of the window, until its client has accepted it.
    in_flight: Option<Reservation>,
    /// The head whose status, versions and input requests were last delivered; `None` until the
    /// subscriber has caught up.
    sent_head: Option<ChatHead>,
    /// The states without a sequence that were last delivered.
    sent_states: StateEvents,
    /// Whether the subscriber may see what the chat costs.
    sees_cost: bool,
    edit_scan: Option<EditScan>,
    /// What was delivered of the streams.
    sent_streams: SentStreams,
}

impl Subscription {
    pub(super) fn new(
        permit: SubscriberPermit,
        window: watch::Receiver<Window>,
        reader: Reader,
        position: Position,
        sees_cost: bool,
    ) -> Self {
        Self {
            permit,
            window,
            reader,
            reading: None,
            position,
            queue: VecDeque::new(),
            queued: None,
            in_flight: None,
            sent_head: None,
            sent_states: StateEvents::default(),
            sees_cost,
            edit_scan: None,
            sent_streams: SentStreams::default(),
        }
    }

    /// Waits for the next event; `None` once the chat no longer exists.
    ///
    /// The client has accepted the previous event. While the store is away there are no events, and no
    /// error: the subscriber continues when the store is back. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        self.in_flight = None;
        let mut backoff = Backoff::new();
        loop {
            if let Some(delivery) = self.queue.front() {
                if self.queued.is_none() {
                    self.in_flight = self.reader.reserve_copies(delivery).await;
                }
                return self.queue.pop_front();
            }
            self.queued = None;
            match self.fill_queue().await {
                Ok(true) => backoff.reset(),
                Ok(false) => backoff.wait().await,
                Err(StoreError::ChatNotFound(_)) => return None,
                Err(error) => {
                    tracing::debug!(%error, "failed to read events for a subscriber");
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
        (self.reading, self.queued, self.sent_streams) = (None, None, SentStreams::default());
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
        if let Some(reading) = &mut self.reading {
            let read = reading.await;
            self.reading = None;
            // A task that has panicked has already said so; the read is repeated.
            let Ok(read) = read else { return Ok(false) };
            return read.map(|read| self.queue_read(read));
        }
        if let Some(scan) = &self.edit_scan {
            if scan.is_done() {
                self.position.revision = scan.revision;
                self.edit_scan = None;
            } else {
                self.reading = Some(self.reader.start(Step::Scan(scan.clone())));
            }
            return Ok(true);
        }
        // The window is marked as seen before the step is decided: a later change ends `changed` below.
        let step = self.window.borrow_and_update().next_step(self.position);
        match step {
            NextStep::Deliver(deliveries) => self.queue(deliveries),
            NextStep::ReadMessages => {
                self.reading = Some(self.reader.start(Step::Messages(self.position)));
            }
            NextStep::ReadEdits(edits) => {
                self.reading = Some(self.reader.start(Step::Edits(self.position, edits)));
            }
            NextStep::ScanForEdits { revision } => {
                self.edit_scan = Some(EditScan { next: 0, end: self.position.next, revision });
            }
            // All messages and edits are delivered: now the state of the chat, if that has changed.
            NextStep::Wait if self.queue_state_changes() => {}
            NextStep::Wait if self.start_stream_step() => {}
            NextStep::Wait => {
                // The sender is gone only when the feed has ended, because the chat no longer exists.
                let changed = self.window.changed().await;
                return changed.map(|()| true).map_err(|_| self.gone());
            }
            NextStep::End => return Err(self.gone()),
        }
        Ok(true)
    }

    /// Queues what is new of the streams, or begins to read it; tells whether there was anything.
    fn start_stream_step(&mut self) -> bool {
        let step = {
            let window = self.window.borrow();
            window.streams().next_step(&mut self.sent_streams, self.position.next)
        };
        match step {
            StreamStep::Deliver(events) => {
                let events = events.into_iter();
                self.queue.extend(events.map(|event| Delivery { event, position: None }));
            }
            StreamStep::Read(at) => self.reading = Some(self.reader.start(Step::Stream(at))),
            StreamStep::Wait => return false,
        }
        true
    }

    /// Queues what was read; `false` means that the store did not show it yet.
    fn queue_read(&mut self, read: Read) -> bool {
        let Read { deliveries, memory, scan, stream } = read;
        let is_complete = scan.is_some() || stream.is_some() || !deliveries.is_empty();
        if let Some((stream_id, number)) = stream {
            self.sent_streams.note_read(&stream_id, number);
        }
        if scan.is_some() {
            self.edit_scan = scan;
        }
        self.queued = Some(memory);
        self.queue(deliveries);
        is_complete
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
    let session_of = |head: &ChatHead| (head.session_version, head.lifecycle);
    let context = VersionResponse { version: head.context_version };
    let artifact = VersionResponse { version: head.artifact_version };
    let session = VersionResponse { version: head.session_version };
    let events = [
        (status(sent) != status(head)).then(|| Event::Status(head.into())),
        (sent.context_version != head.context_version).then_some(Event::Context(context)),
        (sent.artifact_version != head.artifact_version).then_some(Event::Artifact(artifact)),
        (session_of(sent) != session_of(head)).then_some(Event::Chat(session)),
    ];
    events.into_iter().flatten()
}

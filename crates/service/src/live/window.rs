use std::collections::VecDeque;

use persistence::ChatHead;
use records::{InputRequest, InputRequestId};

use super::event::{Delivery, Event, MessageEvent};
use super::position::Position;
use super::state_events::StateEvents;
use super::streams::LiveStreams;

/// The newest events of one chat, shared by all of its subscribers.
///
/// The window is a cache, and has no queue per subscriber: each subscriber compares its own position with
/// the window and takes what comes next. A subscriber that is older than the window reads from the store.
/// So a slow subscriber costs no memory, and joining, lagging and reconnecting are the same case.
#[derive(Debug)]
pub(super) struct Window {
    /// The head of the chat as far as the window reflects it: its counter and revision are those of the
    /// newest events held here, so they may be behind the store. `None` until the first read.
    head: Option<ChatHead>,
    /// The newest messages, without gaps, up to the counter of `head`.
    messages: VecDeque<MessageEvent>,
    /// The size of `messages`.
    message_bytes: usize,
    /// The newest edits, each with the revision it made: at most as many as a head lists. A subscriber
    /// that is further behind scans the chat.
    edits: VecDeque<(u64, MessageEvent)>,
    /// `edits` holds every edit with a revision above this one.
    edits_held_after: u64,
    /// The pending input requests, oldest first.
    pending: Vec<(InputRequestId, Event)>,
    /// The newest changes of input requests, each with the version of the head that showed it.
    inputs: VecDeque<(u64, InputRequestId, Event)>,
    /// `inputs` holds every change with a version above this one.
    inputs_held_after: u64,
    /// The states without a sequence.
    states: StateEvents,
    /// What agents are producing.
    streams: LiveStreams,
    /// Whether the chat no longer exists.
    is_gone: bool,
}

/// What a subscriber has to do next, given its position.
#[derive(Debug)]
pub(super) enum NextStep {
    /// Deliver these events.
    Deliver(Vec<Delivery>),
    /// Read messages from the store: the window no longer holds them.
    ReadMessages,
    /// Read these edited messages from the store: pairs of a revision and a sequence.
    ReadEdits(Vec<(u64, u64)>),
    /// Scan the whole chat for edits up to a revision: no list of them reaches back far enough.
    ScanForEdits { revision: u64 },
    /// Wait for the window to change.
    Wait,
    /// End: the chat no longer exists.
    End,
}

impl Window {
    /// The most messages held. The bounds are those of a cache: they decide how often a subscriber that
    /// lags reads the store, and never what it is sent.
    pub(super) const MAX_MESSAGES: usize = 512;
    /// The most bytes of messages held; the newest message is held even if it is larger.
    const MAX_MESSAGE_BYTES: usize = 512 << 10;
    /// The most changes of input requests held; a subscriber that lags further is sent all pending ones.
    const MAX_INPUTS: usize = 512;
    /// The most messages delivered in one step. It bounds what a slow subscriber copies into its own
    /// queue, and how long it holds the lock of the window.
    const MAX_DELIVERIES: usize = 64;

    pub(super) fn new() -> Self {
        Self {
            head: None,
            messages: VecDeque::new(),
            message_bytes: 0,
            edits: VecDeque::new(),
            edits_held_after: 0,
            pending: Vec::new(),
            inputs: VecDeque::new(),
            inputs_held_after: 0,
            states: StateEvents::default(),
            streams: LiveStreams::default(),
            is_gone: false,
        }
    }

    pub(super) fn head(&self) -> Option<&ChatHead> {
        self.head.as_ref()
    }

    pub(super) fn states(&self) -> &StateEvents {
        &self.states
    }

    pub(super) fn states_mut(&mut self) -> &mut StateEvents {
        &mut self.states
    }

    pub(super) fn streams(&self) -> &LiveStreams {
        &self.streams
    }

    pub(super) fn streams_mut(&mut self) -> &mut LiveStreams {
        &mut self.streams
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    pub(super) fn close(&mut self) {
        self.is_gone = true;
    }

    /// Starts with the current head and the pending input requests, without any older event.
    pub(super) fn initialize(&mut self, head: ChatHead, pending: Vec<InputRequest>) {
        self.edits_held_after = head.revision;
        self.inputs_held_after = head.input_version;
        self.head = Some(head);
        let pending = pending.into_iter().filter(|request| request.closing.is_none());
        self.pending =
            pending.map(|request| (request.request_id.clone(), Event::input(request))).collect();
    }

    /// Moves the counter past messages that are too many to hold.
    pub(super) fn skip_to(&mut self, sequence: u64) {
        if let Some(head) = &mut self.head {
            head.last_sequence = sequence.max(head.last_sequence);
            // What is held must end at the counter without a gap, so nothing older can stay.
            self.messages.clear();
            self.message_bytes = 0;
        }
    }

    /// Appends the messages that follow the counter, and ignores all others.
    ///
    /// A page that was read may overlap with what is held already; the counter decides.
    pub(super) fn append(&mut self, messages: Vec<MessageEvent>) {
        let Some(head) = &mut self.head else { return };
        for message in messages {
            if message.sequence == head.last_sequence {
                self.message_bytes += message.bytes();
                self.messages.push_back(message);
                head.last_sequence += 1;
            }
        }
        while self.messages.len() > Self::MAX_MESSAGES
            || self.message_bytes > Self::MAX_MESSAGE_BYTES && self.messages.len() > 1
        {
            let oldest = self.messages.pop_front();
            self.message_bytes -= oldest.map_or(0, |message| message.bytes());
        }
    }

    /// Takes a newer head, with what has changed since the last one: the edited messages, each with its
    /// revision, and the input requests that were asked or closed.
    ///
    /// `edits` is `None` where the edits are not known. The counter stays: it moves with the messages
    /// alone, in [`append`](Self::append).
    pub(super) fn advance(
        &mut self,
        newer: ChatHead,
        edits: Option<Vec<(u64, MessageEvent)>>,
        inputs: Vec<InputRequest>,
    ) {
        self.record_inputs(newer.input_version, inputs);
        let Some(head) = &mut self.head else { return };
        let (counter, last_revision) = (head.last_sequence, head.revision);
        *head = ChatHead { last_sequence: counter, ..newer };
        match edits {
            Some(edits) => self.record_edits(counter, last_revision, edits),
            None => self.forget_messages(),
        }
    }

    /// Records edits: as events for subscribers that hold the old message, and in the held messages for
    /// those that do not.
    ///
    /// A subscriber's revision says which edits it knows of the messages before its position. So one that
    /// takes a held message later is sent no edit of it, and must be given the edited form at once.
    fn record_edits(&mut self, counter: u64, last_revision: u64, edits: Vec<(u64, MessageEvent)>) {
        let first = counter - self.messages.len() as u64;
        for (revision, message) in edits {
            let index = message.sequence.checked_sub(first);
            let held = index.and_then(|index| self.messages.get_mut(usize::try_from(index).ok()?));
            if let Some(held) = held {
                self.message_bytes = self.message_bytes + message.bytes() - held.bytes();
                held.clone_from(&message);
            }
            // What was edited or erased since must not be told again.
            for (_, known) in &mut self.edits {
                if known.sequence == message.sequence {
                    known.clone_from(&message);
                }
            }
            if revision > last_revision {
                self.edits.push_back((revision, message));
            }
        }
        while self.edits.len() > ChatHead::RECENT_EDITS {
            self.edits_held_after =
                self.edits.pop_front().map_or(self.edits_held_after, |edit| edit.0);
        }
    }

    /// Drops all messages and edits: any of them may have been edited, and it is not known which.
    fn forget_messages(&mut self) {
        self.edits_held_after = self.head.as_ref().map_or(0, |head| head.revision);
        self.message_bytes = 0;
        self.edits.clear();
        self.messages.clear();
    }

    fn record_inputs(&mut self, version: u64, inputs: Vec<InputRequest>) {
        for request in inputs {
            let id = request.request_id.clone();
            let is_pending = request.closing.is_none();
            let was_pending = self.pending.iter().any(|(pending, _)| *pending == id);
            let is_recorded = self.inputs.iter().any(|(_, recorded, _)| *recorded == id);
            let event = Event::input(request);
            // A request is read after its head, so it may already be in a state that only a later head
            // reports. That later report brings nothing new and must not become a second event.
            if is_pending == was_pending && is_recorded {
                // It is no event, but an answer that was erased since must not be told again.
                let known = self.inputs.iter_mut().rfind(|(_, recorded, _)| *recorded == id);
                if let Some((_, _, known)) = known.filter(|_| !is_pending) {
                    *known = event;
                }
                continue;
            }
            self.pending.retain(|(pending, _)| *pending != id);
            if is_pending {
                self.pending.push((id.clone(), event.clone()));
            }
            self.inputs.push_back((version, id, event));
        }
        while self.inputs.len() > Self::MAX_INPUTS {
            self.inputs_held_after =
                self.inputs.pop_front().map_or(self.inputs_held_after, |input| input.0);
        }
    }

    /// Returns the pending input requests.
    pub(super) fn pending_inputs(&self) -> impl Iterator<Item = &Event> {
        self.pending.iter().map(|(_, event)| event)
    }

    /// Returns the changes of input requests after a version; all pending requests instead where the
    /// window no longer holds every change.
    pub(super) fn inputs_since(&self, version: u64) -> Vec<&Event> {
        if version < self.inputs_held_after {
            return self.pending_inputs().collect();
        }
        let newer = self.inputs.iter().filter(|(of, ..)| *of > version);
        newer.map(|(_, _, event)| event).collect()
    }

    /// Decides what a subscriber at a position has to do next.
    ///
    /// No message is missed or delivered twice: the messages held are contiguous up to the counter, and the
    /// position moves only past what was queued. So the next message is either held or in the store.
    ///
    /// Messages come before edits: an edit may concern a message that the subscriber has not got yet.
    pub(super) fn next_step(&self, at: Position) -> NextStep {
        let Some(head) = &self.head else { return NextStep::Wait };
        if self.is_gone {
            return NextStep::End;
        }
        if at.next < head.last_sequence {
            let first = head.last_sequence - self.messages.len() as u64;
            return match at.next.checked_sub(first).map(usize::try_from) {
                Some(Ok(index)) => NextStep::Deliver(self.messages_from(index, at)),
                _ => NextStep::ReadMessages,
            };
        }
        if at.revision >= head.revision {
            return NextStep::Wait;
        }
        if at.revision >= self.edits_held_after {
            return NextStep::Deliver(self.edits_after(at));
        }
        match head.edits_since(at.revision) {
            Some(edits) => NextStep::ReadEdits(edits),
            None => NextStep::ScanForEdits { revision: head.revision },
        }
    }

    fn messages_from(&self, index: usize, at: Position) -> Vec<Delivery> {
        let messages = self.messages.iter().skip(index).take(Self::MAX_DELIVERIES);
        let positions = (at.next + 1..).map(|next| Position { next, ..at });
        let delivery = |(message, position): (&MessageEvent, Position)| Delivery {
            event: Event::Message(message.clone()),
            position: Some(position),
        };
        messages.zip(positions).map(delivery).collect()
    }

    fn edits_after(&self, at: Position) -> Vec<Delivery> {
        let edits = self.edits.iter().filter(|(revision, _)| *revision > at.revision);
        let delivery = |(revision, message): &(u64, MessageEvent)| Delivery {
            event: Event::Edit(message.clone()),
            position: Some(Position { revision: *revision, ..at }),
        };
        edits.map(delivery).collect()
    }
}

use std::collections::VecDeque;

use persistence::ChatHead;
use records::{InputRequest, InputRequestId, Message};

use super::Position;
use super::aside::Aside;
use super::event::{Delivery, Event};

/// The newest events of a chat, for all who listen to it.
#[derive(Debug)]
pub(super) struct Window {
    /// How the chat stands; its counter and revision are those up to which the events go. `None` until
    /// it was read for the first time.
    head: Option<ChatHead>,
    /// The newest messages, up to the counter.
    messages: VecDeque<Event>,
    /// Their size.
    bytes: usize,
    /// The newest edits, each under the revision it made.
    edits: VecDeque<(u64, Event)>,
    /// The edits after this revision are there.
    edits_since: u64,
    /// The input requests that are pending, oldest first.
    pending: Vec<(InputRequestId, Event)>,
    /// What became of input requests last, each under the version by which it was known.
    inputs: VecDeque<(u64, InputRequestId, Event)>,
    /// What became of them after this version is there.
    inputs_since: u64,
    /// What is told beside the messages.
    aside: Aside,
    /// The chat is no longer there.
    is_gone: bool,
}

/// What somebody at a position is to do next.
#[derive(Debug)]
pub(super) enum Next {
    /// To take these.
    Take(Vec<Delivery>),
    /// To read messages from the store.
    ReadMessages,
    /// To read these edited messages from the store, each under its revision.
    ReadEdits(Vec<(u64, u64)>),
    /// To look through the whole chat for what was edited up to a revision.
    LookThrough { revision: u64 },
    /// To wait.
    Wait,
    /// To leave.
    Leave,
}

impl Window {
    /// The most messages that are kept.
    pub(super) const MESSAGES: usize = 512;
    /// The most bytes of messages that are kept; the newest one is kept in any case.
    const BYTES: usize = 512 << 10;
    /// The most that is kept of what became of input requests.
    const INPUTS: usize = 512;
    /// How many events are taken at a time.
    const TAKEN: usize = 64;

    pub(super) fn new() -> Self {
        Self {
            head: None,
            messages: VecDeque::new(),
            bytes: 0,
            edits: VecDeque::new(),
            edits_since: 0,
            pending: Vec::new(),
            inputs: VecDeque::new(),
            inputs_since: 0,
            aside: Aside::default(),
            is_gone: false,
        }
    }

    pub(super) fn head(&self) -> Option<&ChatHead> {
        self.head.as_ref()
    }

    pub(super) fn aside(&self) -> &Aside {
        &self.aside
    }

    pub(super) fn aside_mut(&mut self) -> &mut Aside {
        &mut self.aside
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    pub(super) fn close(&mut self) {
        self.is_gone = true;
    }

    /// Begins where the chat stands.
    pub(super) fn begin(&mut self, head: ChatHead, pending: Vec<InputRequest>) {
        self.edits_since = head.revision;
        self.inputs_since = head.input_version;
        self.head = Some(head);
        let pending = pending.into_iter().filter(|request| request.closing.is_none());
        self.pending =
            pending.map(|request| (request.request_id.clone(), Event::input(request))).collect();
    }

    /// Leaves out the messages before a sequence, which are too many.
    pub(super) fn skip_to(&mut self, sequence: u64) {
        if let Some(head) = &mut self.head {
            head.last_sequence = sequence.max(head.last_sequence);
            self.messages.clear();
            self.bytes = 0;
        }
    }

    /// Adds the messages that follow; any that do not are left out.
    pub(super) fn append(&mut self, messages: Vec<Message>) {
        let Some(head) = &mut self.head else { return };
        for message in messages {
            if message.sequence == head.last_sequence {
                let event = Event::message(message);
                self.bytes += event.data.len();
                self.messages.push_back(event);
                head.last_sequence += 1;
            }
        }
        while self.messages.len() > Self::MESSAGES
            || self.bytes > Self::BYTES && self.messages.len() > 1
        {
            let oldest = self.messages.pop_front();
            self.bytes -= oldest.map_or(0, |event| event.data.len());
        }
    }

    /// Takes over a newer head, with the messages edited since the last one, each under its revision, or
    /// `None` where they are not known; and with the input requests that were made or closed.
    ///
    /// An edited message is replaced among the newest, too: who has not taken it yet may be told of no
    /// edit of it.
    pub(super) fn advance(
        &mut self,
        newer: ChatHead,
        edits: Option<Vec<(u64, Message)>>,
        inputs: Vec<InputRequest>,
    ) {
        self.note_inputs(newer.input_version, inputs);
        let Some(head) = &mut self.head else { return };
        let counter = head.last_sequence;
        let since = head.revision;
        *head = ChatHead { last_sequence: counter, ..newer };
        let first = counter - self.messages.len() as u64;
        let Some(edits) = edits else {
            // What was edited is not known, so what is kept may be out of date.
            (self.edits_since, self.bytes) = (head.revision, 0);
            self.edits.clear();
            self.messages.clear();
            return;
        };
        for (revision, message) in edits {
            let index = message.sequence.checked_sub(first);
            let kept = index.and_then(|index| self.messages.get_mut(usize::try_from(index).ok()?));
            if let Some(kept) = kept {
                let event = Event::message(message.clone());
                self.bytes = self.bytes + event.data.len() - kept.data.len();
                *kept = event;
            }
            if revision > since {
                self.edits.push_back((revision, Event::edit(message)));
            }
        }
        while self.edits.len() > ChatHead::RECENT_EDITS {
            self.edits_since = self.edits.pop_front().map_or(self.edits_since, |edit| edit.0);
        }
    }

    fn note_inputs(&mut self, version: u64, inputs: Vec<InputRequest>) {
        for request in inputs {
            let id = request.request_id.clone();
            let is_pending = request.closing.is_none();
            let was_pending = self.pending.iter().any(|(pending, _)| *pending == id);
            let is_told = self.inputs.iter().any(|(_, told, _)| *told == id);
            // It may have been read when more had become of it than its chat said then.
            if is_pending == was_pending && is_told {
                continue;
            }
            let event = Event::input(request);
            self.pending.retain(|(pending, _)| *pending != id);
            if is_pending {
                self.pending.push((id.clone(), event.clone()));
            }
            self.inputs.push_back((version, id, event));
        }
        while self.inputs.len() > Self::INPUTS {
            self.inputs_since = self.inputs.pop_front().map_or(self.inputs_since, |input| input.0);
        }
    }

    /// Returns the input requests that are pending.
    pub(super) fn pending_inputs(&self) -> impl Iterator<Item = &Event> {
        self.pending.iter().map(|(_, event)| event)
    }

    /// Returns what became of input requests since a version; of more than is remembered, those that are
    /// pending.
    pub(super) fn inputs_since(&self, version: u64) -> Vec<&Event> {
        if version < self.inputs_since {
            return self.pending_inputs().collect();
        }
        let newer = self.inputs.iter().filter(|(of, ..)| *of > version);
        newer.map(|(_, _, event)| event).collect()
    }

    /// Says what somebody at a position is to do next: messages first, then edits of them.
    pub(super) fn next(&self, at: Position) -> Next {
        let Some(head) = &self.head else { return Next::Wait };
        if self.is_gone {
            return Next::Leave;
        }
        if at.next < head.last_sequence {
            let first = head.last_sequence - self.messages.len() as u64;
            return match at.next.checked_sub(first).map(usize::try_from) {
                Some(Ok(index)) => Next::Take(self.messages_from(index, at)),
                _ => Next::ReadMessages,
            };
        }
        if at.revision >= head.revision {
            return Next::Wait;
        }
        if at.revision >= self.edits_since {
            return Next::Take(self.edits_after(at));
        }
        match head.edits_since(at.revision) {
            Some(edits) => Next::ReadEdits(edits),
            None => Next::LookThrough { revision: head.revision },
        }
    }

    fn messages_from(&self, index: usize, at: Position) -> Vec<Delivery> {
        let events = self.messages.iter().skip(index).take(Self::TAKEN);
        let positions = (at.next + 1..).map(|next| Position { next, ..at });
        let delivery = |(event, position): (&Event, Position)| Delivery {
            event: event.clone(),
            position: Some(position),
        };
        events.zip(positions).map(delivery).collect()
    }

    fn edits_after(&self, at: Position) -> Vec<Delivery> {
        let events = self.edits.iter().filter(|(revision, _)| *revision > at.revision);
        let delivery = |(revision, event): &(u64, Event)| Delivery {
            event: event.clone(),
            position: Some(Position { revision: *revision, ..at }),
        };
        events.map(delivery).collect()
    }
}

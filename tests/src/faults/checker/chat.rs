use std::collections::{BTreeMap, HashMap};

use super::super::history::{
    Append, ChatState, History, Listen, Moment, Operation, Outcome, Page, Placed, Read, Record,
};

/// The part of a history that concerns one chat.
pub(super) struct Chat<'a> {
    pub(super) id: &'a str,
    pub(super) served: &'a ChatState,
    pub(super) stored: &'a ChatState,
    /// The final position of each message.
    pub(super) places: HashMap<&'a str, u64>,
    /// The fate of each message that was sent.
    pub(super) events: BTreeMap<&'a str, Event<'a>>,
    pub(super) appends: Vec<&'a Append>,
    pub(super) pages: Vec<SeenPage<'a>>,
    /// The transcripts that were read.
    pub(super) replays: Vec<&'a [String]>,
    /// The messages that each subscriber received, piece by piece.
    pub(super) subscriptions: BTreeMap<u32, Vec<&'a Listen>>,
    pub(super) context_writes: Vec<ContextWrite<'a>>,
    /// The versions that were read, and when.
    pub(super) context_reads: Vec<(Moment, u64)>,
}

/// The fate of a message, over all attempts at appending it.
pub(super) struct Event<'a> {
    pub(super) hash: &'a str,
    /// When it was first sent.
    pub(super) invoked: Moment,
    /// When it was first acknowledged, or seen by a reader.
    pub(super) completed: Option<Moment>,
    /// Whether any attempt may have stored it.
    pub(super) may_exist: bool,
    /// The acknowledgements it got.
    pub(super) answers: Vec<Placed>,
}

/// A page that a reader saw.
pub(super) struct SeenPage<'a> {
    pub(super) seen: Moment,
    pub(super) after: Option<i64>,
    pub(super) page: &'a Page,
}

/// An attempt at writing a context snapshot.
pub(super) struct ContextWrite<'a> {
    pub(super) t0: Moment,
    pub(super) t1: Moment,
    pub(super) version: u64,
    pub(super) outcome: &'a Outcome<()>,
}

static NOTHING: ChatState = ChatState { messages: Vec::new(), counters: Vec::new(), context: 0 };

impl<'a> Chat<'a> {
    /// Groups the history by chat.
    pub(super) fn all(history: &'a History) -> Vec<Self> {
        let mut chats: BTreeMap<&str, Chat<'_>> = BTreeMap::new();
        let state = &history.final_state;
        for id in state.served.keys().chain(state.stored.keys()) {
            chats.entry(id).or_insert_with(|| Chat::new(id, history));
        }
        for record in &history.records {
            if let Some(id) = record.operation.chat() {
                chats.entry(id).or_insert_with(|| Chat::new(id, history)).take(record);
            }
        }
        chats.values_mut().for_each(Chat::note_what_was_seen);
        chats.into_values().collect()
    }

    fn new(id: &'a str, history: &'a History) -> Self {
        let state = &history.final_state;
        let stored = state.stored.get(id).unwrap_or(&NOTHING);
        let places = stored.messages.iter().map(|it| (it.event_id.as_str(), it.sequence));
        Self {
            id,
            served: state.served.get(id).unwrap_or(&NOTHING),
            stored,
            places: places.collect(),
            events: BTreeMap::new(),
            appends: Vec::new(),
            pages: Vec::new(),
            replays: Vec::new(),
            subscriptions: BTreeMap::new(),
            context_writes: Vec::new(),
            context_reads: Vec::new(),
        }
    }

    fn take(&mut self, record: &'a Record) {
        match &record.operation {
            Operation::Append(append) => self.take_append(record, append),
            Operation::Read(Read { after, outcome, .. }) => {
                let seen = |page| SeenPage { seen: record.t1, after: *after, page };
                self.pages.extend(outcome.ok().map(seen));
            }
            Operation::Replay(replay) => {
                self.replays.extend(replay.outcome.ok().map(Vec::as_slice));
            }
            Operation::Listen(listen) => {
                self.subscriptions.entry(record.client).or_default().push(listen);
            }
            Operation::WriteContext { version, outcome, .. } => {
                let Record { t0, t1, .. } = *record;
                self.context_writes.push(ContextWrite { t0, t1, version: *version, outcome });
            }
            Operation::ReadContext { outcome, .. } => {
                self.context_reads.extend(outcome.ok().map(|version| (record.t1, *version)));
            }
            Operation::List { .. }
            | Operation::Document(_)
            | Operation::Exceed { .. }
            | Operation::Health(_)
            | Operation::Nemesis(_) => {}
        }
    }

    fn take_append(&mut self, record: &Record, append: &'a Append) {
        self.appends.push(append);
        for (index, sent) in append.messages.iter().enumerate() {
            let event = self.events.entry(&sent.event_id).or_insert_with(|| Event {
                hash: &sent.hash,
                invoked: record.t0,
                completed: None,
                may_exist: false,
                answers: Vec::new(),
            });
            event.invoked = event.invoked.min(record.t0);
            event.may_exist |= !matches!(append.outcome, Outcome::Fail(_));
            let answer = append.outcome.ok().and_then(|answer| answer.messages.get(index));
            if let Some(placed) = answer {
                event.answers.push(*placed);
                event.complete(record.t1);
            }
        }
    }

    fn note_what_was_seen(&mut self) {
        let read =
            self.pages.iter().flat_map(|page| page.page.messages.iter().map(|it| (it, page.seen)));
        let told = self.subscriptions.values().flatten().flat_map(|listen| &listen.told);
        for (message, seen) in read.chain(told.map(|told| (&told.message, told.at))) {
            if let Some(event) = self.events.get_mut(message.event_id.as_str()) {
                event.complete(seen);
            }
        }
    }
}

impl Event<'_> {
    fn complete(&mut self, at: Moment) {
        self.completed = Some(self.completed.map_or(at, |earlier| earlier.min(at)));
    }
}

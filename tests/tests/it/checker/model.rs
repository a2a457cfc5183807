use std::collections::BTreeMap;

use proptest::prelude::*;
use tests::faults::history::{
    Answer, Append, ChatState, FinalState, History, Listed, Listen, Moment, Operation, Outcome,
    Page, Placed, Read, Record, Refusal, Replay, Sent, State, StoredMessage, Told,
};

/// A planned append.
#[derive(Clone, Debug)]
struct Intention {
    chat: usize,
    count: usize,
    t0: u64,
    duration: u64,
    /// When it takes effect, in per cent of its duration.
    effect: u64,
    fate: Fate,
    /// When it is repeated, if it is.
    again: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Acknowledged,
    UnknownAndStored,
    UnknownAndNotStored,
    Refused,
}

/// A planned read of a page, a transcript and a list.
#[derive(Clone, Debug)]
struct Reading {
    chat: usize,
    t0: u64,
    duration: u64,
    after: Option<u64>,
    limit: usize,
}

const CHATS: [&str; 2] = ["one", "other"];
/// A time after everything else.
const LATER: u64 = 100_000;

/// Histories of a service that keeps every promise.
pub(crate) fn history() -> impl Strategy<Value = History> {
    let appends = prop::collection::vec(intention(), 1..40);
    let readings = prop::collection::vec(a_reading(), 0..20);
    let pieces = prop::collection::vec(1..10_usize, 1..5);
    (appends, readings, pieces).prop_map(|(appends, readings, pieces)| {
        let mut model = Model::run(&appends, &readings);
        model.tell(&pieces);
        History::from(model)
    })
}

fn intention() -> impl Strategy<Value = Intention> {
    let fate = prop_oneof![
        6 => Just(Fate::Acknowledged),
        1 => Just(Fate::UnknownAndStored),
        1 => Just(Fate::UnknownAndNotStored),
        1 => Just(Fate::Refused),
    ];
    let again = prop::option::of(LATER..2 * LATER);
    (0..2_usize, 1..4_usize, 0..10_000_u64, 1..2_000_u64, 0..=100_u64, fate, again).prop_map(
        |(chat, count, t0, duration, effect, fate, again)| Intention {
            chat,
            count,
            t0,
            duration,
            effect,
            fate,
            again,
        },
    )
}

fn a_reading() -> impl Strategy<Value = Reading> {
    let after = prop::option::of(0..20_u64);
    (0..2_usize, 0..15_000_u64, 1..500_u64, after, 1..10_usize)
        .prop_map(|(chat, t0, duration, after, limit)| Reading { chat, t0, duration, after, limit })
}

/// A service that keeps every promise.
#[derive(Default)]
struct Model {
    chats: [Vec<StoredMessage>; 2],
    /// The number of messages of each chat over time.
    counters: [BTreeMap<u64, usize>; 2],
    records: Vec<Record>,
}

impl Model {
    fn run(appends: &[Intention], readings: &[Reading]) -> Self {
        let mut model = Self::default();
        let mut by_effect: Vec<_> = appends.iter().enumerate().collect();
        by_effect.sort_by_key(|(_, append)| append.takes_effect());
        for (number, append) in by_effect {
            model.append(number, append);
        }
        for reading in readings {
            model.read(reading);
        }
        model
    }

    fn append(&mut self, number: usize, append: &Intention) {
        let chat = &mut self.chats[append.chat];
        let first = chat.len() as u64;
        let messages: Vec<_> = (0..append.count).map(|index| sent(number, index)).collect();
        if matches!(append.fate, Fate::Acknowledged | Fate::UnknownAndStored) {
            let stored = (first..).zip(&messages).map(|(sequence, sent)| StoredMessage {
                sequence,
                event_id: sent.event_id.clone(),
                hash: sent.hash.clone(),
            });
            chat.extend(stored);
            self.counters[append.chat].insert(append.takes_effect(), chat.len());
        }
        let answer = |duplicate| {
            let placed = (first..).take(append.count);
            let messages = placed.map(|sequence| Placed { sequence, duplicate }).collect();
            Answer { last_sequence: first + append.count as u64, messages }
        };
        let outcome = match append.fate {
            Fate::Acknowledged => Outcome::Ok(answer(false)),
            Fate::Refused => Outcome::Fail(refusal("store-unavailable", 503)),
            _ => Outcome::Info(refusal("outcome-unknown", 504)),
        };
        let operation = |outcome| {
            let (chat, messages) = (CHATS[append.chat].to_owned(), messages.clone());
            Operation::Append(Append { chat, messages, outcome })
        };
        self.record(append.t0, append.duration, operation(outcome));
        if let Some(again) = append.again.filter(|_| append.fate == Fate::Acknowledged) {
            self.record(again, append.duration, operation(Outcome::Ok(answer(true))));
        }
    }

    /// Reads the messages that were stored when the reading began.
    fn read(&mut self, reading: &Reading) {
        let before = self.counters[reading.chat].range(..=reading.t0).next_back();
        let count = before.map_or(0, |(_, count)| *count);
        let there = &self.chats[reading.chat][..count];
        let start = reading.after.map_or(count.saturating_sub(reading.limit), |after| {
            usize::try_from(after).unwrap_or(usize::MAX) + 1
        });
        let messages: Vec<_> = there.iter().skip(start).take(reading.limit).cloned().collect();
        let ids = messages.iter().map(|message| message.event_id.clone()).collect();
        let chat = CHATS[reading.chat].to_owned();
        let page = Page {
            last_sequence: count as u64,
            has_more: reading.after.is_some() && start + messages.len() < count,
            messages,
        };
        let after = reading.after.and_then(|after| i64::try_from(after).ok());
        let read = Read { chat: chat.clone(), after, outcome: Outcome::Ok(page) };
        self.record(reading.t0, reading.duration, Operation::Read(read));
        let replay = Replay { chat, outcome: Outcome::Ok(ids) };
        self.record(reading.t0, reading.duration, Operation::Replay(replay));
        let listed = |(chat, counters): (&str, &BTreeMap<u64, usize>)| {
            let count = counters.range(..=reading.t0).next_back().map_or(0, |(_, count)| *count);
            Listed { chat: chat.to_owned(), last_sequence: count as u64 }
        };
        let list = CHATS.into_iter().zip(&self.counters).map(listed).collect();
        self.record(reading.t0, reading.duration, Operation::List { outcome: Outcome::Ok(list) });
    }

    /// Delivers everything to a subscriber of each chat, in pieces of the given sizes.
    fn tell(&mut self, pieces: &[usize]) {
        for (client, (chat, messages)) in (1..).zip(CHATS.into_iter().zip(&self.chats)) {
            let mut rest = messages.as_slice();
            for (t0, size) in (LATER..).zip(pieces.iter().cycle()) {
                let (piece, later) = rest.split_at(rest.len().min(*size));
                let after = i64::try_from(messages.len() - rest.len()).unwrap_or(i64::MAX) - 1;
                let at = Moment(t0 + 1);
                let told = piece.iter().map(|it| Told { at, message: it.clone() }).collect();
                let (chat, outcome) = (chat.to_owned(), Outcome::Ok(()));
                let listen = Listen { chat, after, since: Moment(0), told, outcome };
                let (t0, operation) = (Moment(t0), Operation::Listen(listen));
                self.records.push(Record { client, t0, t1: at, operation });
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
        }
    }

    fn record(&mut self, t0: u64, duration: u64, operation: Operation) {
        let (t0, t1) = (Moment(t0), Moment(t0 + duration));
        self.records.push(Record { client: 0, t0, t1, operation });
    }
}

impl From<Model> for History {
    fn from(mut model: Model) -> Self {
        model.records.sort_by_key(|record| record.t0);
        let chats = CHATS.into_iter().zip(model.chats);
        let state = |(chat, messages): (&str, _)| {
            (chat.to_owned(), ChatState { messages, ..ChatState::default() })
        };
        let stored: State = chats.map(state).collect();
        let final_state = FinalState { served: stored.clone(), stored, ..FinalState::default() };
        Self { records: model.records, final_state }
    }
}

impl Intention {
    fn takes_effect(&self) -> u64 {
        self.t0 + self.duration * self.effect / 100
    }
}

fn sent(number: usize, index: usize) -> Sent {
    let event_id = format!("evt-{number}-{index}");
    Sent { hash: format!("hash of {event_id}"), event_id }
}

fn refusal(code: &str, status: u16) -> Refusal {
    Refusal { code: code.to_owned(), status: Some(status), retry_after: Some(1) }
}

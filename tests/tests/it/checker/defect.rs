use prop::sample::Index;
use proptest::prelude::*;
use tests::faults::checker::Kind;
use tests::faults::history::{
    Answer, ChatState, History, Moment, Operation, Outcome, Page, Record, StoredMessage, Told,
};

/// One defect of a history.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Defect {
    /// An acknowledged message is missing, and later messages have moved up.
    Lost,
    /// A message is stored twice.
    Repeated,
    /// Two acknowledged neighbours are swapped.
    Swapped,
    /// An append was acknowledged before an earlier message was sent.
    TooEarly,
    /// A message has another body.
    Changed,
    /// A message is stored that no client sent.
    Invented,
    /// A message was acknowledged with another sequence.
    OtherAnswer,
    /// A refused message is stored.
    StoredThoughRefused,
    /// A page lacks a message in its midst.
    Hole,
    /// A reader saw a message that is not stored.
    Phantom,
    /// The service shows less than is stored.
    Withheld,
    /// A subscriber did not receive a message.
    NotTold,
    /// A subscriber received a message twice.
    ToldTwice,
    /// A subscriber received two neighbours in the wrong order.
    ToldLate,
}

impl Defect {
    pub(crate) const ALL: [Self; 14] = [
        Self::Lost,
        Self::Repeated,
        Self::Swapped,
        Self::TooEarly,
        Self::Changed,
        Self::Invented,
        Self::OtherAnswer,
        Self::StoredThoughRefused,
        Self::Hole,
        Self::Phantom,
        Self::Withheld,
        Self::NotTold,
        Self::ToldTwice,
        Self::ToldLate,
    ];

    /// The finding that the checker must report.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Lost => Kind::Lost,
            Self::Repeated => Kind::Repeated,
            Self::Swapped | Self::OtherAnswer => Kind::OtherSequence,
            Self::TooEarly => Kind::Reordered,
            Self::Changed => Kind::OtherBody,
            Self::Invented => Kind::Unexpected,
            Self::StoredThoughRefused => Kind::RefusedButStored,
            Self::Hole => Kind::BrokenPage,
            Self::Phantom => Kind::Vanished,
            Self::Withheld => Kind::StatesDiffer,
            Self::NotTold => Kind::NotTold,
            Self::ToldTwice => Kind::ToldTwice,
            Self::ToldLate => Kind::ToldLate,
        }
    }

    /// Plants it somewhere; returns false if the history has no place for it.
    pub(crate) fn plant(self, history: &mut History, place: Index) -> bool {
        self.try_plant(history, place).is_some()
    }

    fn try_plant(self, history: &mut History, place: Index) -> Option<()> {
        match self {
            Self::OtherAnswer => {
                let answer = any_of(answers(history), place)?;
                answer.messages[0].sequence += 1;
            }
            Self::TooEarly => {
                let later = history.records.iter().enumerate().filter(|(_, it)| is_behind(it));
                let (index, _) = any_of(later, place)?;
                for record in &mut history.records {
                    record.t0.0 += 1;
                    record.t1.0 += 1;
                }
                let record = &mut history.records[index];
                (record.t0, record.t1) = (Moment(0), Moment(0));
            }
            Self::Hole => {
                let long = pages(history).filter(|page| page.messages.len() > 2);
                any_of(long, place)?.messages.remove(1);
            }
            Self::Phantom => {
                let page = any_of(pages(history), place)?;
                page.messages.push(message("phantom", page.last_sequence));
            }
            Self::Withheld => {
                let chats = history.final_state.served.values_mut();
                any_of(chats.filter(|chat| !chat.messages.is_empty()), place)?.messages.pop();
            }
            Self::NotTold | Self::ToldTwice | Self::ToldLate => {
                let long = told(history).filter(|told| told.len() > 1);
                let told = any_of(long, place)?;
                let index = place.index(told.len() - 1);
                match self {
                    Self::NotTold => drop(told.remove(index)),
                    Self::ToldTwice => told.insert(index, told[index].clone()),
                    _ => told.swap(index, index + 1),
                }
            }
            Self::StoredThoughRefused => {
                let (chat, event_id) = any_of(refused(history).into_iter(), place)?;
                append(history, &chat, &event_id);
            }
            Self::Invented => {
                let chats: Vec<_> = history.final_state.stored.keys().cloned().collect();
                append(history, any_of(chats.iter(), place)?, "invented");
            }
            Self::Lost | Self::Repeated | Self::Swapped | Self::Changed => {
                let (chat, position) = any_of(acknowledged(history).into_iter(), place)?;
                for state in states(history, &chat) {
                    self.plant_at(&mut state.messages, position)?;
                }
            }
        }
        Some(())
    }

    /// Changes what is stored at a position.
    fn plant_at(self, messages: &mut Vec<StoredMessage>, position: usize) -> Option<()> {
        match self {
            Self::Lost => drop(messages.remove(position)),
            Self::Repeated => messages.push(messages[position].clone()),
            Self::Swapped if position + 1 < messages.len() => messages.swap(position, position + 1),
            Self::Changed => messages[position].hash.push('!'),
            _ => return None,
        }
        for (sequence, message) in (0..).zip(messages) {
            message.sequence = sequence;
        }
        Some(())
    }
}

fn any_of<T>(items: impl Iterator<Item = T>, place: Index) -> Option<T> {
    let mut items: Vec<_> = items.collect();
    (!items.is_empty()).then(|| items.swap_remove(place.index(items.len())))
}

fn answers(history: &mut History) -> impl Iterator<Item = &mut Answer> {
    history.records.iter_mut().filter_map(|record| match &mut record.operation {
        Operation::Append(append) => match &mut append.outcome {
            Outcome::Ok(answer) => Some(answer),
            _ => None,
        },
        _ => None,
    })
}

fn pages(history: &mut History) -> impl Iterator<Item = &mut Page> {
    history.records.iter_mut().filter_map(|record| match &mut record.operation {
        Operation::Read(read) => match &mut read.outcome {
            Outcome::Ok(page) => Some(page),
            _ => None,
        },
        _ => None,
    })
}

fn told(history: &mut History) -> impl Iterator<Item = &mut Vec<Told>> {
    history.records.iter_mut().filter_map(|record| match &mut record.operation {
        Operation::Listen(listen) => Some(&mut listen.told),
        _ => None,
    })
}

/// Whether a record is of an append that was acknowledged after another.
fn is_behind(record: &Record) -> bool {
    match &record.operation {
        Operation::Append(append) => {
            append.outcome.ok().is_some_and(|answer| answer.messages[0].sequence > 0)
        }
        _ => false,
    }
}

/// The chats and ids of refused messages.
fn refused(history: &History) -> Vec<(String, String)> {
    let appends = history.records.iter().filter_map(|record| match &record.operation {
        Operation::Append(append) if matches!(append.outcome, Outcome::Fail(_)) => Some(append),
        _ => None,
    });
    appends.map(|append| (append.chat.clone(), append.messages[0].event_id.clone())).collect()
}

/// The chats and positions of acknowledged messages.
fn acknowledged(history: &History) -> Vec<(String, usize)> {
    let mut places = Vec::new();
    for record in &history.records {
        if let Operation::Append(append) = &record.operation
            && let Some(answer) = append.outcome.ok()
        {
            let positions = answer.messages.iter().map(|placed| placed.sequence);
            let positions = positions.filter_map(|sequence| usize::try_from(sequence).ok());
            places.extend(positions.map(|position| (append.chat.clone(), position)));
        }
    }
    places
}

fn states<'a>(history: &'a mut History, chat: &str) -> impl Iterator<Item = &'a mut ChatState> {
    let state = &mut history.final_state;
    [state.served.get_mut(chat), state.stored.get_mut(chat)].into_iter().flatten()
}

/// Puts a message at the end of a chat.
fn append(history: &mut History, chat: &str, event_id: &str) {
    for state in states(history, chat) {
        let sequence = state.messages.len() as u64;
        state.messages.push(message(event_id, sequence));
    }
}

fn message(event_id: &str, sequence: u64) -> StoredMessage {
    let hash = format!("hash of {event_id}");
    StoredMessage { sequence, event_id: event_id.to_owned(), hash }
}

use std::collections::HashMap;
use std::time::Duration;

use crate::faults::history::{History, Listen, Moment, Operation};

/// The longest time from the acknowledgement of a message until a subscriber received it that had not left
/// by itself.
pub(super) fn longest_wait(history: &History) -> Option<Duration> {
    let acknowledged = acknowledged(history);
    let listens = history.records.iter().filter_map(|record| match &record.operation {
        Operation::Listen(listen) => Some(listen),
        _ => None,
    });
    listens.flat_map(|listen| waits(listen, &acknowledged)).max()
}

/// The time of the first acknowledgement of each message of a chat, by sequence.
type Acknowledged<'a> = HashMap<(&'a str, u64), Moment>;

fn acknowledged(history: &History) -> Acknowledged<'_> {
    let mut acknowledged = Acknowledged::new();
    for record in &history.records {
        if let Operation::Append(append) = &record.operation
            && let Some(answer) = append.outcome.ok()
        {
            for placed in &answer.messages {
                let at = acknowledged.entry((&append.chat, placed.sequence)).or_insert(record.t1);
                *at = record.t1.min(*at);
            }
        }
    }
    acknowledged
}

fn waits(listen: &Listen, acknowledged: &Acknowledged<'_>) -> impl Iterator<Item = Duration> {
    listen.told.iter().filter_map(|told| {
        let at = acknowledged.get(&(listen.chat.as_str(), told.message.sequence))?;
        Some(told.at.since(listen.since.max(*at)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::history::{
        Answer, Append, Outcome, Placed, Record, Sent, StoredMessage, Told,
    };

    #[test]
    fn a_subscriber_waits_from_the_acknowledgement_or_from_its_coming() {
        let event_id = || "a".to_owned();
        let placed = Placed { sequence: 0, duplicate: false };
        let append = Operation::Append(Append {
            chat: String::new(),
            messages: vec![Sent { event_id: event_id(), hash: String::new() }],
            outcome: Outcome::Ok(Answer { last_sequence: 1, messages: vec![placed] }),
        });
        let told_at = |since, at| {
            let message = StoredMessage { sequence: 0, event_id: event_id(), hash: String::new() };
            Operation::Listen(Listen {
                chat: String::new(),
                after: -1,
                since: Moment(since),
                told: vec![Told { at: Moment(at), message }],
                outcome: Outcome::Ok(()),
            })
        };
        let record = |operation| Record { client: 0, t0: Moment(1), t1: Moment(10), operation };
        let wait = |since, at| {
            let records = [append.clone(), told_at(since, at)].map(record).to_vec();
            longest_wait(&History { records, ..History::default() })
        };
        assert_eq!(wait(0, 14), Some(Duration::from_micros(4)));
        assert_eq!(wait(12, 14), Some(Duration::from_micros(2)));
        assert_eq!(wait(0, 9), Some(Duration::ZERO));
    }
}

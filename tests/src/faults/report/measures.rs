use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::live::longest_wait;
use crate::faults::history::{Append, History, Moment, Operation, Outcome, Record};
use crate::percentile;

/// The measurements of a trial.
#[derive(Debug, Default, Serialize)]
pub struct Measures {
    /// How long it took, in seconds.
    pub seconds: u64,
    /// Requests to the service.
    pub operations: usize,
    /// Messages that were stored in the end.
    pub messages: usize,
    /// Appends that were acknowledged.
    pub acknowledged: usize,
    /// Appends that were sent again because they had not been acknowledged.
    pub retried: usize,
    /// Operations whose outcome was unknown.
    pub unknown: usize,
    /// Operations without a result, by error code.
    pub refused: BTreeMap<String, usize>,
    /// The longest time without a newly acknowledged append, in milliseconds.
    pub outage_ms: u64,
    /// The median time of acknowledged appends, in milliseconds.
    pub median_ms: u64,
    /// The 99th percentile of acknowledged appends, in milliseconds.
    pub p99_ms: u64,
    /// The time of the slowest operation, in milliseconds.
    pub slowest_ms: u64,
    /// The longest time from the end of a fault to the next acknowledgement, in milliseconds.
    pub recovery_ms: u64,
    /// The longest time from the acknowledgement of a message until a subscriber received it that had not
    /// left by itself, in milliseconds.
    pub live_ms: u64,
    /// Pages that lack a message which was acknowledged before the request: majority reads that are older
    /// than they could be.
    pub stale_reads: usize,
    /// The time windows of the fault.
    pub windows: Vec<Window>,
}

/// The time window of a fault.
#[derive(Debug, Serialize)]
pub struct Window {
    /// The fault.
    pub kind: String,
    /// Its start, in milliseconds since the beginning.
    pub from_ms: u64,
    /// Its end.
    pub to_ms: u64,
    /// How often it took effect.
    pub fired: u64,
}

impl Measures {
    /// Measures a trial.
    pub fn of(history: &History) -> Self {
        let mut measures = Self::default();
        // When each append was first acknowledged; later repeats are no progress.
        let mut acknowledged: BTreeMap<&str, Moment> = BTreeMap::new();
        let mut latencies = Vec::new();
        // The client that must repeat an append, by the first of its ids.
        let mut pending: BTreeSet<(u32, &str)> = BTreeSet::new();
        for record in &history.records {
            measures.count(record);
            let Operation::Append(append) = &record.operation else { continue };
            let parcel = (record.client, first_id(append));
            measures.retried += usize::from(pending.remove(&parcel));
            if matches!(append.outcome, Outcome::Ok(_)) {
                let first = acknowledged.entry(parcel.1).or_insert(record.t1);
                *first = record.t1.min(*first);
                latencies.push(milliseconds(record.t1.since(record.t0)));
            } else {
                pending.insert(parcel);
            }
        }
        measures.live_ms = longest_wait(history).map_or(0, milliseconds);
        let mut acknowledgements: Vec<Moment> = acknowledged.into_values().collect();
        acknowledgements.sort_unstable();
        latencies.sort_unstable();
        measures.acknowledged = latencies.len();
        measures.outage_ms = longest_gap(&acknowledgements);
        measures.recovery_ms = longest_recovery(history, &acknowledgements);
        measures.stale_reads = stale_reads(history);
        measures.median_ms = percentile::of_sorted(&latencies, 50);
        measures.p99_ms = percentile::of_sorted(&latencies, 99);
        let stored = &history.final_state.stored;
        measures.messages = stored.values().map(|chat| chat.messages.len()).sum();
        let end = history.records.iter().map(|record| record.t1).max().unwrap_or_default();
        measures.seconds = end.since(Moment::default()).as_secs();
        measures
    }

    fn count(&mut self, record: &Record) {
        if let Operation::Nemesis(nemesis) = &record.operation {
            let [from_ms, to_ms] =
                [record.t0, record.t1].map(|at| milliseconds(at.since(Moment::default())));
            let (kind, fired) = (nemesis.kind.clone(), nemesis.fired);
            self.windows.push(Window { kind, from_ms, to_ms, fired });
            return;
        }
        if let Some(refusal) = record.operation.refusal() {
            *self.refused.entry(refusal.code.clone()).or_default() += 1;
        }
        // A subscription is one request, whatever its duration.
        if matches!(record.operation, Operation::Listen(_)) {
            return;
        }
        self.operations += 1;
        self.slowest_ms = milliseconds(record.t1.since(record.t0)).max(self.slowest_ms);
        self.unknown += usize::from(record.operation.is_unknown());
    }

    /// How often the fault took effect.
    pub fn fired(&self) -> u64 {
        self.windows.iter().map(|window| window.fired).sum()
    }
}

fn first_id(append: &Append) -> &str {
    append.messages.first().map_or("", |sent| &sent.event_id)
}

fn longest_gap(moments: &[Moment]) -> u64 {
    let gaps = moments.windows(2).map(|pair| pair[1].since(pair[0]));
    gaps.max().map_or(0, milliseconds)
}

fn longest_recovery(history: &History, acknowledgements: &[Moment]) -> u64 {
    let ends = history.records.iter().filter_map(|record| {
        matches!(record.operation, Operation::Nemesis(_)).then_some(record.t1)
    });
    let recoveries = ends.filter_map(|end| {
        let next = acknowledgements.partition_point(|at| *at < end);
        Some(acknowledgements.get(next)?.since(end))
    });
    recoveries.max().map_or(0, milliseconds)
}

fn stale_reads(history: &History) -> usize {
    let mut counters: BTreeMap<&str, Vec<(Moment, u64)>> = BTreeMap::new();
    for record in &history.records {
        if let Operation::Append(append) = &record.operation
            && let Some(placed) = append.outcome.ok().and_then(|answer| answer.messages.last())
        {
            counters.entry(&append.chat).or_default().push((record.t1, placed.sequence + 1));
        }
    }
    for known in counters.values_mut() {
        known.sort_unstable();
        let mut highest = 0;
        for (_, counter) in known {
            highest = highest.max(*counter);
            *counter = highest;
        }
    }
    let is_stale = |record: &&Record| match &record.operation {
        Operation::Read(read) => read.outcome.ok().is_some_and(|page| {
            let known = counters.get(read.chat.as_str()).map(Vec::as_slice).unwrap_or_default();
            let before = known[..known.partition_point(|(at, _)| *at < record.t0)].last();
            before.is_some_and(|(_, counter)| *counter > page.last_sequence)
        }),
        _ => false,
    };
    history.records.iter().filter(is_stale).count()
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::history::{Answer, NemesisRecord, Refusal, Sent};

    fn append(event_id: &str, [t0, t1]: [u64; 2], outcome: Outcome<Answer>) -> Record {
        let sent = Sent { event_id: event_id.to_owned(), hash: String::new() };
        let append = Append { chat: "chat".to_owned(), messages: vec![sent], outcome };
        record([t0, t1], Operation::Append(append))
    }

    fn record([t0, t1]: [u64; 2], operation: Operation) -> Record {
        let [t0, t1] = [t0, t1].map(|milliseconds| Moment(milliseconds * 1_000));
        Record { client: 1, t0, t1, operation }
    }

    fn ok() -> Outcome<Answer> {
        Outcome::Ok(Answer { last_sequence: 1, messages: Vec::new() })
    }

    #[test]
    fn an_outage_lasts_from_one_new_acknowledgement_to_the_next() {
        let code = "outcome-unknown".to_owned();
        let unknown = Refusal { code, status: Some(504), retry_after: Some(1) };
        let fault = NemesisRecord { kind: "pause".to_owned(), fired: 2 };
        let records = vec![
            append("a", [0, 10], ok()),
            record([20, 50], Operation::Nemesis(fault)),
            append("b", [20, 40], Outcome::Info(unknown)),
            append("a", [41, 45], ok()),
            append("b", [46, 70], ok()),
        ];
        let measures = Measures::of(&History { records, ..History::default() });
        assert_eq!((measures.operations, measures.acknowledged), (4, 3));
        assert_eq!((measures.retried, measures.unknown, measures.fired()), (1, 1, 2));
        assert_eq!((measures.outage_ms, measures.recovery_ms), (60, 20));
        assert_eq!((measures.slowest_ms, measures.p99_ms), (24, 24));
        assert_eq!(measures.refused, [("outcome-unknown".to_owned(), 1)].into());
    }
}

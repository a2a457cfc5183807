use super::Window;
use crate::faults::history::{History, Operation, Record};

/// The evidence from which a fault is judged.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The whole history.
    pub history: &'a History,
}

impl<'a> Evidence<'a> {
    /// The time windows of the fault.
    pub fn windows(&self, kind: &str) -> impl Iterator<Item = Window> {
        self.history.records.iter().filter_map(move |record| match &record.operation {
            Operation::Nemesis(nemesis) if nemesis.kind == kind => Some((record.t0, record.t1)),
            _ => None,
        })
    }

    /// The operations that were both begun and ended within a window.
    pub fn within(&self, (from, to): Window) -> impl Iterator<Item = &'a Record> {
        let records = self.history.records.iter();
        records.filter(move |record| record.t0 >= from && record.t1 <= to)
    }

    /// The number of operations that ended within a window without a result, by error code.
    pub fn refused(&self, (from, to): Window, code: &str) -> usize {
        let ended = self.history.records.iter().filter(|it| it.t1 >= from && it.t1 <= to);
        let refusals = ended.filter_map(|record| record.operation.refusal());
        refusals.filter(|refusal| refusal.code == code).count()
    }

    /// The number of appends that were both begun and acknowledged as new within a window.
    pub fn stored(&self, window: Window) -> usize {
        let answers = self.within(window).filter_map(|record| match &record.operation {
            Operation::Append(append) => append.outcome.ok(),
            _ => None,
        });
        answers.filter(|answer| answer.messages.iter().any(|placed| !placed.duplicate)).count()
    }
}

/// Whether a record is of a request to the store, through the service, that is answered.
pub fn is_request(record: &Record) -> bool {
    !matches!(record.operation, Operation::Listen(_) | Operation::Health(_) | Operation::Nemesis(_))
}

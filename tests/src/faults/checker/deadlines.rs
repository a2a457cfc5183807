//! Every operation ends in time, except streams: a subscription has no end, and each page of a
//! transcript may take as long as any other read.

use super::{Finding, Kind, Rules};
use crate::faults::history::{History, Operation, Record};

pub(super) fn check(history: &History, rules: &Rules, findings: &mut Vec<Finding>) {
    let has_deadline = |record: &&Record| {
        !matches!(
            record.operation,
            Operation::Nemesis(_) | Operation::Replay(_) | Operation::Listen(_)
        )
    };
    let operations = history.records.iter().filter(has_deadline);
    let late: Vec<_> = operations.filter(|it| it.t1.since(it.t0) > rules.deadline).collect();
    if let Some(slowest) = late.iter().max_by_key(|record| record.t1.since(record.t0)) {
        let (count, took, deadline) = (late.len(), slowest.t1.since(slowest.t0), rules.deadline);
        let detail =
            format!("{count} operations took longer than {deadline:?}, one of them {took:?}");
        findings.push(Finding::of(Kind::Late, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds};

    #[test]
    fn an_operation_that_takes_too_long_is_found() {
        let deadline_us = 1_000_000;
        let sketch = Sketch::new().append("a", 0, [1, 1 + deadline_us]).ends_with(["a"]);
        assert_eq!(kinds(&sketch), []);
        let sketch = Sketch::new().append("a", 0, [1, 2 + deadline_us]).ends_with(["a"]);
        assert_eq!(kinds(&sketch), [Kind::Late]);
    }
}

//! Every refusal has a documented code, and a time after which to retry.

use std::collections::BTreeMap;

use super::{Finding, Kind, Rules};
use crate::faults::history::{History, Operation, Outcome};

pub(super) fn check(history: &History, rules: &Rules, findings: &mut Vec<Finding>) {
    let mut unexpected: BTreeMap<&str, usize> = BTreeMap::new();
    let mut without_time: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &history.records {
        if let Operation::Exceed { limit, outcome } = &record.operation
            && let Some(detail) = not_kept(limit, outcome, rules)
        {
            findings.push(Finding::of(Kind::LimitNotKept, detail));
        }
        let Some(refusal) = record.operation.refusal() else { continue };
        if !rules.codes.contains(&refusal.code) {
            *unexpected.entry(&refusal.code).or_default() += 1;
        }
        let is_to_come_back = matches!(refusal.status, Some(503 | 504));
        if is_to_come_back && refusal.retry_after.is_none_or(|seconds| seconds == 0) {
            *without_time.entry(&refusal.code).or_default() += 1;
        }
    }
    let times = |count: usize, code: &str| format!("{code}, {count} times");
    findings.extend(
        unexpected
            .into_iter()
            .map(|(code, count)| Finding::of(Kind::UnexpectedCode, times(count, code))),
    );
    findings.extend(
        without_time
            .into_iter()
            .map(|(code, count)| Finding::of(Kind::NoRetryAfter, times(count, code))),
    );
}

/// A request that exceeds a limit gets the code of that limit, unless the service is away.
fn not_kept(limit: &str, outcome: &Outcome<()>, rules: &Rules) -> Option<String> {
    let Some(refusal) = outcome.refusal() else {
        return Some(format!("{limit} was accepted"));
    };
    let code = &refusal.code;
    let is_fine = code == limit || rules.codes.contains(code);
    (!is_fine).then(|| format!("{limit} was refused as {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::check;
    use crate::faults::checker::sketch::{Sketch, kinds, refused, rules};
    use crate::faults::history::Refusal;

    #[test]
    fn a_code_without_a_reason_is_found() {
        let sketch = Sketch::new().refused("a", [1, 2]).ends_with([]);
        assert_eq!(kinds(&sketch), []);
        let strict = Rules { codes: [].into(), ..rules() };
        let findings = check(sketch.history(), &strict);
        assert_eq!(findings[0].kind, Kind::UnexpectedCode);
    }

    #[test]
    fn a_caller_who_is_to_come_back_is_told_when() {
        let Outcome::Fail(refusal) = refused::<()>() else { unreachable!() };
        let never: Outcome<()> = Outcome::Fail(Refusal { retry_after: None, ..refusal });
        let sketch = Sketch::new().context(1, never, [1, 2]).ends_with([]);
        assert_eq!(kinds(&sketch), [Kind::NoRetryAfter]);
    }

    #[test]
    fn what_is_too_large_is_refused_as_such() {
        let too_large =
            Refusal { code: "context-too-large".to_owned(), status: Some(413), retry_after: None };
        let kept = |outcome| {
            let operation = Operation::Exceed { limit: "context-too-large".to_owned(), outcome };
            kinds(&Sketch::new().record([1, 2], operation))
        };
        assert_eq!(kept(Outcome::Fail(too_large.clone())), []);
        assert_eq!(kept(refused()), []);
        assert_eq!(kept(Outcome::Ok(())), [Kind::LimitNotKept]);
        let internal = Refusal { code: "internal".to_owned(), ..too_large };
        assert_eq!(kept(Outcome::Info(internal)), [Kind::LimitNotKept]);
    }
}

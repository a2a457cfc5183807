//! A context snapshot that is read was written before, and was not overwritten before.

use std::collections::BTreeMap;

use super::chat::Chat;
use super::{Finding, Kind};
use crate::faults::history::{Moment, Outcome};

/// One version, over all attempts at writing it.
struct Version {
    begun: Moment,
    /// When the last attempt ended; `None` if one may yet be carried out.
    ended: Option<Moment>,
    is_acknowledged: bool,
    may_exist: bool,
}

pub(super) fn check(chat: &Chat<'_>, findings: &mut Vec<Finding>) {
    let mut report = |kind, detail: String| findings.push(Finding::in_chat(kind, chat.id, detail));
    let versions = versions(chat);
    for (seen, version) in &chat.context_reads {
        let is_known = versions.get(version).is_some_and(|it| it.may_exist && it.begun < *seen);
        if *version != 0 && !is_known {
            report(Kind::Unexpected, format!("snapshot {version} was read before it was written"));
        }
    }
    let kept = chat.stored.context;
    let end = match versions.get(&kept) {
        Some(version) if version.may_exist => version.ended,
        None if kept == 0 => Some(Moment::default()),
        _ => {
            report(Kind::Unexpected, format!("snapshot {kept} is stored, and was not written"));
            return;
        }
    };
    let later = |(number, it): &(&u64, &Version)| {
        it.is_acknowledged && **number != kept && end.is_some_and(|end| it.begun > end)
    };
    if let Some((lost, _)) = versions.iter().find(later) {
        report(Kind::LostSnapshot, format!("{kept} is stored, {lost} was written after it"));
    }
}

fn versions(chat: &Chat<'_>) -> BTreeMap<u64, Version> {
    let mut versions: BTreeMap<u64, Version> = BTreeMap::new();
    for write in &chat.context_writes {
        let version = versions.entry(write.version).or_insert(Version {
            begun: write.t0,
            ended: Some(write.t1),
            is_acknowledged: false,
            may_exist: false,
        });
        version.begun = version.begun.min(write.t0);
        match write.outcome {
            Outcome::Ok(()) => {
                version.is_acknowledged = true;
                version.may_exist = true;
                version.ended = version.ended.map(|ended| ended.max(write.t1));
            }
            Outcome::Info(_) => {
                version.may_exist = true;
                version.ended = None;
            }
            Outcome::Fail(_) => {}
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds, unknown};

    fn two() -> Sketch {
        let ok = || Outcome::Ok(());
        Sketch::new().context(1, ok(), [1, 2]).context(2, ok(), [3, 4]).ends_with([])
    }

    #[test]
    fn the_last_acknowledged_snapshot_stays() {
        assert_eq!(kinds(&two().ends_with_context(2)), []);
        assert_eq!(kinds(&two().ends_with_context(1)), [Kind::LostSnapshot]);
        assert_eq!(kinds(&two().ends_with_context(0)), [Kind::LostSnapshot]);
    }

    #[test]
    fn a_snapshot_whose_outcome_is_unknown_may_be_written_at_any_later_time() {
        let sketch = two().context(3, unknown(), [5, 6]);
        let sketch = sketch.context(4, Outcome::Ok(()), [7, 8]);
        assert_eq!(kinds(&sketch.clone().ends_with_context(3)), []);
        assert_eq!(kinds(&sketch.clone().ends_with_context(4)), []);
        assert_eq!(kinds(&sketch.ends_with_context(2)), [Kind::LostSnapshot]);
    }

    #[test]
    fn a_snapshot_that_nobody_wrote_is_found() {
        assert_eq!(kinds(&two().ends_with_context(7)), [Kind::Unexpected]);
        let early = two().ends_with_context(2).read_context(2, [1, 2]);
        assert_eq!(kinds(&early), [Kind::Unexpected]);
    }
}

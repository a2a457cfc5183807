//! Documents have what was acknowledged, once, and nothing that was refused.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Kind};
use crate::faults::history::{DocumentWrite, History, Operation, Outcome, Writing};

/// The writes of one document, in the order of their beginning.
type Writes<'a> = Vec<&'a DocumentWrite>;

pub(super) fn check(history: &History, findings: &mut Vec<Finding>) {
    let mut documents: BTreeMap<&str, Writes<'_>> = BTreeMap::new();
    for record in &history.records {
        if let Operation::Document(write) = &record.operation {
            documents.entry(&write.path).or_default().push(write);
        }
    }
    for (path, writes) in documents {
        let content = history.final_state.documents.get(path).map(String::as_str);
        let mut wrong = Vec::new();
        match writes[0].write {
            Writing::Append { .. } => check_log(&writes, content.unwrap_or_default(), &mut wrong),
            Writing::Count { .. } => check_count(&writes, content, &mut wrong),
            Writing::Put { .. } | Writing::Delete => check_own(&writes, content, &mut wrong),
        }
        let found = |(kind, detail): (Kind, String)| Finding::of(kind, format!("{path}: {detail}"));
        findings.extend(wrong.into_iter().map(found));
    }
}

type Wrong = Vec<(Kind, String)>;

/// What is known of a line that was sent.
#[derive(Default)]
struct SentLine {
    /// Where it was said to begin.
    offsets: BTreeSet<u64>,
    may_be_stored: bool,
}

fn check_log(writes: &Writes<'_>, content: &str, wrong: &mut Wrong) {
    let mut sent: BTreeMap<&str, SentLine> = BTreeMap::new();
    for write in writes {
        let Writing::Append { line } = &write.write else { continue };
        let sent = sent.entry(line).or_default();
        sent.may_be_stored |= !matches!(write.outcome, Outcome::Fail(_));
        sent.offsets.extend(write.outcome.ok());
    }
    let mut stored: BTreeMap<&str, u64> = BTreeMap::new();
    let mut offset = 0;
    for line in content.split_terminator('\n') {
        let id = || line.split(' ').next().unwrap_or_default();
        if stored.insert(line, offset).is_some() {
            wrong.push((Kind::RepeatedWrite, format!("the line {} is there twice", id())));
        }
        if sent.get(line).is_none_or(|sent| !sent.may_be_stored) {
            let detail = format!("the line {} was not sent, or was refused", id());
            wrong.push((Kind::RepeatedWrite, detail));
        }
        offset += line.len() as u64 + 1;
    }
    for (line, SentLine { offsets, .. }) in sent {
        let Some(last) = offsets.last() else { continue };
        if stored.get(line) != Some(last) || offsets.len() > 1 {
            let (id, at) = (line.split(' ').next().unwrap_or_default(), stored.get(line));
            let detail = format!("the line {id} was said to be at {offsets:?}, and is at {at:?}");
            wrong.push((Kind::LostWrite, detail));
        }
    }
}

fn check_count(writes: &Writes<'_>, content: Option<&str>, wrong: &mut Wrong) {
    let number_of = |write: &DocumentWrite| match write.write {
        Writing::Count { number } => number,
        _ => 0,
    };
    let content: serde_json::Value =
        content.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    let counted = content["number"].as_u64().unwrap_or(0);
    let mut acknowledged = BTreeSet::new();
    for write in writes.iter().filter(|write| write.outcome.ok().is_some()) {
        if !acknowledged.insert(number_of(write)) {
            let detail = format!("two clients have written {}", number_of(write));
            wrong.push((Kind::LostWrite, detail));
        }
    }
    if acknowledged.last().is_some_and(|last| *last > counted) {
        let detail = format!("{:?} was written, and {counted} is stored", acknowledged.last());
        wrong.push((Kind::LostWrite, detail));
    }
    let may_be_stored = |write: &&&DocumentWrite| !matches!(write.outcome, Outcome::Fail(_));
    let sent: BTreeSet<_> = writes.iter().filter(may_be_stored).map(|it| number_of(it)).collect();
    // Each number is written over the one before it.
    if let Some(missing) = (1..=counted).find(|number| !sent.contains(number)) {
        wrong.push((Kind::RepeatedWrite, format!("{missing} was not written, or was refused")));
    }
}

fn check_own(writes: &Writes<'_>, content: Option<&str>, wrong: &mut Wrong) {
    let stored = content.map(|content| content.split(' ').next().unwrap_or_default());
    let last = writes.iter().rposition(|write| write.outcome.ok().is_some());
    let later = writes.iter().skip(last.unwrap_or(0));
    let candidates = later.filter(|write| !matches!(write.outcome, Outcome::Fail(_)));
    let mut candidates = candidates.map(|write| match &write.write {
        Writing::Put { id } => Some(id.as_str()),
        _ => None,
    });
    let is_untouched = last.is_none() && stored.is_none();
    if !is_untouched && !candidates.any(|candidate| candidate == stored) {
        let detail = format!("{stored:?} is stored, which is not the last write");
        wrong.push((Kind::LostWrite, detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{Sketch, kinds, refused, unknown};

    fn write(path: &str, write: Writing, outcome: Outcome<u64>) -> Operation {
        Operation::Document(DocumentWrite { path: path.to_owned(), write, outcome })
    }

    fn found(writes: Vec<Operation>, path: &str, content: Option<&str>) -> Vec<Kind> {
        let mut sketch = Sketch::new();
        for (at, write) in (1..).zip(writes) {
            sketch = sketch.record([2 * at, 2 * at + 1], write);
        }
        kinds(&sketch.with_document(path, content))
    }

    #[test]
    fn a_log_has_each_acknowledged_line_once_where_it_was_said_to_be() {
        let append =
            |line: &str, outcome| write("log", Writing::Append { line: line.into() }, outcome);
        let sent = || {
            vec![
                append("1-1 a", Outcome::Ok(0)),
                append("1-2 b", unknown()),
                append("1-2 b", Outcome::Ok(6)),
                append("1-3 c", refused()),
            ]
        };
        let found = |content| found(sent(), "log", Some(content));
        assert_eq!(found("1-1 a\n1-2 b\n"), []);
        assert_eq!(found("1-1 a\n"), [Kind::LostWrite]);
        assert_eq!(found("1-2 b\n1-1 a\n"), [Kind::LostWrite, Kind::LostWrite]);
        assert_eq!(found("1-1 a\n1-2 b\n1-2 b\n"), [Kind::RepeatedWrite, Kind::LostWrite]);
        assert_eq!(found("1-1 a\n1-2 b\n1-3 c\n"), [Kind::RepeatedWrite]);
        assert_eq!(found("1-1 a\n1-2 b\n9-9 z\n"), [Kind::RepeatedWrite]);
    }

    #[test]
    fn no_counted_number_is_lost_or_written_twice() {
        let count = |number, outcome| write("count", Writing::Count { number }, outcome);
        let sent = || vec![count(1, Outcome::Ok(0)), count(2, unknown()), count(3, refused())];
        let found_with = |writes, content| found(writes, "count", Some(content));
        assert_eq!(found_with(sent(), r#"{"number": 1}"#), []);
        assert_eq!(found_with(sent(), r#"{"number": 2}"#), []);
        assert_eq!(found_with(sent(), r#"{"number": 3}"#), [Kind::RepeatedWrite]);
        assert_eq!(found(sent(), "count", None), [Kind::LostWrite]);
        let twice = vec![count(1, Outcome::Ok(0)), count(1, Outcome::Ok(0))];
        assert_eq!(found_with(twice, r#"{"number": 1}"#), [Kind::LostWrite]);
    }

    #[test]
    fn a_document_of_one_client_has_its_last_write() {
        let put = |id: &str, outcome| write("own", Writing::Put { id: id.into() }, outcome);
        let delete = |outcome| write("own", Writing::Delete, outcome);
        let sent = || vec![put("a", Outcome::Ok(0)), put("b", unknown()), put("c", refused())];
        assert_eq!(found(sent(), "own", Some("a x")), []);
        assert_eq!(found(sent(), "own", Some("b x")), []);
        assert_eq!(found(sent(), "own", Some("c x")), [Kind::LostWrite]);
        assert_eq!(found(sent(), "own", None), [Kind::LostWrite]);
        let deleted = || vec![put("a", Outcome::Ok(0)), delete(Outcome::Ok(0))];
        assert_eq!(found(deleted(), "own", None), []);
        assert_eq!(found(deleted(), "own", Some("a x")), [Kind::LostWrite]);
        assert_eq!(found(vec![put("a", unknown())], "own", None), []);
    }
}

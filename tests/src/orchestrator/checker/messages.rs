use std::collections::HashMap;

use serde_json::Value;

use super::super::workflow::Way;
use super::{Evidence, Finding, Kind};

/// Checks that the messages are those of the workflow, in order, and every call has its result.
pub(super) fn check(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let expected = expected(evidence);
    let messages = &evidence.messages;
    for (place, message) in messages.iter().enumerate() {
        if message["sequence"] != place {
            let detail = format!("message {place} has the sequence {}", message["sequence"]);
            findings.push(Finding { kind: Kind::NotDense, detail });
        }
        let (kind, detail) = match expected.get(place) {
            None => (Kind::Unexpected, format!("message {place} is {message}")),
            Some(expected) if !is_same(expected, message) => {
                (Kind::OtherMessage, format!("message {place} is {message}, not {expected}"))
            }
            Some(_) => continue,
        };
        findings.push(Finding { kind, detail });
    }
    for expected in expected.iter().skip(messages.len()) {
        findings.push(Finding { kind: Kind::Missing, detail: expected.to_string() });
    }
    check_calls(messages, findings);
}

fn expected(evidence: &Evidence) -> Vec<Value> {
    let of_tasks = evidence.workflow.tasks().flat_map(|task| {
        let places = task.places().into_iter();
        places
            .map(|place| {
                let mut message = task.message(place);
                // The ids of a turn's messages are derived from the turn.
                if task.way == Way::Messages {
                    message["event_id"] = task.event_id(place).into();
                }
                message
            })
            .collect::<Vec<_>>()
    });
    of_tasks.collect()
}

/// Returns whether a message has all expected fields; it may have more, such as metadata.
fn is_same(expected: &Value, message: &Value) -> bool {
    let fields = expected.as_object().into_iter().flatten();
    let has_all = fields.into_iter().all(|(field, value)| message[field] == *value);
    let is_extra = |field: &&str| expected.get(*field).is_none() && !message[*field].is_null();
    has_all && !["tool_calls", "tool_call_id"].iter().any(is_extra)
}

fn check_calls(messages: &[Value], findings: &mut Vec<Finding>) {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for message in messages {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        for call in calls.filter_map(|call| call["id"].as_str()) {
            results.entry(call).or_default();
        }
        let Some(answered) = message["tool_call_id"].as_str() else { continue };
        match results.get_mut(answered) {
            Some(count) => *count += 1,
            None => findings.push(Finding { kind: Kind::Orphan, detail: message.to_string() }),
        }
    }
    for (call, count) in results {
        let kind = match count {
            0 => Kind::Unanswered,
            1 => continue,
            _ => Kind::AnsweredTwice,
        };
        findings.push(Finding { kind, detail: format!("{call} has {count} results") });
    }
}

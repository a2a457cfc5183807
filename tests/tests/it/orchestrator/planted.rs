//! The checker accepts the result of two orchestrators, and finds each planted error.

use serde_json::{Value, json};
use tests::orchestrator::checker::{Evidence, Kind, check};
use tests::orchestrator::journal::Line;
use tests::orchestrator::workflow::{Place, Workflow};

/// The number of tasks after which the first one is killed, right after the first tool of the next task.
const TASKS_OF_FIRST: usize = 3;

/// The result if one was killed after it had run a tool, and another one has done the rest.
fn honest() -> Evidence {
    let workflow = Workflow { seed: 7, tasks: 6 };
    let mut messages: Vec<Value> = Vec::new();
    let mut journals = vec![begins(1, 0, &[]), Vec::new()];
    for (number, task) in workflow.tasks().enumerate() {
        for place in task.places() {
            let is_of_first =
                number < TASKS_OF_FIRST || number == TASKS_OF_FIRST && !is_after_calls(place);
            let token = if is_of_first { 1 } else { 2 };
            let mut message = task.message(place);
            message["sequence"] = messages.len().into();
            message["event_id"] = task.event_id(place).into();
            message["metadata"] = json!({ "token": token });
            if let Place::Result(call) = place {
                let id = &task.calls[call].id;
                let known = number == TASKS_OF_FIRST;
                if known && call == 0 {
                    journals[0].push(runs(1, id, false));
                    let pending: Vec<&str> = task.calls.iter().map(|call| &*call.id).collect();
                    journals[1] = begins(2, messages.len() as u64, &pending);
                }
                if known {
                    message["metadata"]["rerun"] = true.into();
                }
                journals[token - 1].push(runs(token as u64, id, known));
            }
            messages.push(message);
        }
    }
    Evidence {
        workflow,
        messages,
        journals,
        status: "completed".to_owned(),
        action: "nothing_to_do".to_owned(),
        resume_points: 0,
    }
}

fn is_after_calls(place: Place) -> bool {
    matches!(place, Place::Result(_) | Place::Conclusion)
}

fn begins(token: u64, last_sequence: u64, pending: &[&str]) -> Vec<Line> {
    let pending = pending.iter().map(ToString::to_string).collect();
    let action = "continue".to_owned();
    vec![Line::Acquired { token }, Line::Planned { token, action, last_sequence, pending }]
}

fn runs(token: u64, call_id: &str, known: bool) -> Line {
    Line::Runs { token, call_id: call_id.to_owned(), known }
}

fn kinds(evidence: &Evidence) -> Vec<Kind> {
    check(evidence).into_iter().map(|finding| finding.kind).collect()
}

/// Plants an error, and checks that it is found as the right kind.
fn notices(kind: Kind, plant: impl FnOnce(&mut Evidence)) {
    let mut evidence = honest();
    plant(&mut evidence);
    let found = kinds(&evidence);
    assert!(found.contains(&kind), "{found:?} instead of {kind:?}");
}

/// The position of the first result that fits.
fn result(evidence: &Evidence, fits: impl Fn(&Value) -> bool) -> Option<usize> {
    let is_result = |message: &Value| message["role"] == "tool" && fits(message);
    evidence.messages.iter().position(is_result)
}

fn is_marked(message: &Value) -> bool {
    message["metadata"]["rerun"] == true
}

#[test]
fn what_is_as_it_should_be_has_no_findings() {
    let evidence = honest();
    assert_eq!(check(&evidence), []);
    assert!(evidence.messages.iter().any(is_marked));
}

#[test]
fn what_is_missing_or_too_much_or_changed_is_noticed() {
    notices(Kind::Missing, |it| drop(it.messages.pop()));
    notices(Kind::Unexpected, |it| it.messages.push(it.messages[0].clone()));
    notices(Kind::OtherMessage, |it| it.messages[2]["content"] = "else".into());
    notices(Kind::OtherMessage, |it| it.messages.swap(0, 1));
    notices(Kind::NotDense, |it| it.messages[5]["sequence"] = 6.into());
}

#[test]
fn results_that_do_not_belong_to_one_call_are_noticed() {
    notices(Kind::Unanswered, |it| {
        let place = result(it, |_| true).unwrap();
        it.messages.remove(place);
    });
    notices(Kind::AnsweredTwice, |it| {
        let place = result(it, |_| true).unwrap();
        it.messages.insert(place, it.messages[place].clone());
    });
    notices(Kind::Orphan, |it| {
        let place = result(it, |_| true).unwrap();
        it.messages[place]["tool_call_id"] = "call-of-no-message".into();
    });
}

#[test]
fn a_tool_that_ran_again_unmarked_is_noticed() {
    notices(Kind::RanUnmarked, |it| {
        let place = result(it, is_marked).unwrap();
        it.messages[place]["metadata"]["rerun"] = false.into();
    });
    // Neither knew about the other.
    notices(Kind::RanUnmarked, |it| {
        let place = result(it, |message| !is_marked(message)).unwrap();
        let call = it.messages[place]["tool_call_id"].as_str().unwrap().to_owned();
        it.journals[1].push(runs(2, &call, false));
    });
    notices(Kind::WrongMark, |it| {
        let place = result(it, |message| !is_marked(message)).unwrap();
        it.messages[place]["metadata"]["rerun"] = true.into();
    });
    notices(Kind::WrongMark, |it| {
        for line in &mut it.journals[1] {
            if let Line::Planned { pending, .. } = line {
                pending.clear();
            }
        }
    });
    notices(Kind::NeverRan, |it| it.journals[1].retain(|line| !matches!(line, Line::Runs { .. })));
}

#[test]
fn a_stale_writer_is_noticed() {
    notices(Kind::TokenDecreased, |it| {
        let last = it.messages.len() - 1;
        it.messages[last]["metadata"]["token"] = 1.into();
    });
    // After the plan of the other one and before its first write.
    notices(Kind::StaleWriter, |it| {
        let place = result(it, is_marked).unwrap();
        it.messages[place]["metadata"]["token"] = 1.into();
    });
    notices(Kind::StaleWriter, |it| it.messages[0]["metadata"] = Value::Null);
    notices(Kind::TokenGivenTwice, |it| it.journals.push(vec![Line::Acquired { token: 2 }]));
}

#[test]
fn a_chat_that_did_not_end_well_is_noticed() {
    notices(Kind::NotEnded, |it| it.status = "running".to_owned());
    notices(Kind::NotEnded, |it| it.action = "continue".to_owned());
    notices(Kind::NotEnded, |it| it.resume_points = 1);
}

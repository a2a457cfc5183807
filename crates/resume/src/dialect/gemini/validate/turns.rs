use serde_json::Value;

use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// Returns the violations of the order of turns, and of the rules for calls and responses.
///
/// The API matches responses by name: the turn after calls must hold one response for each of them, and
/// nothing else.
pub(super) fn violations(contents: &[Value]) -> ViolationList {
    let mut violations = ViolationList::default();
    let mut calls: Vec<&str> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let mut problem = |rule, detail: &str| violations.push(Violation::new(index, rule, detail));
        let responses = names(content, "functionResponse");
        if !have_same_names(&calls, &responses) {
            problem(
                "unmatched_responses",
                "the responses do not match the calls of the previous turn",
            );
        }
        let count = content["parts"].as_array().map_or(0, Vec::len);
        if !responses.is_empty() && responses.len() < count {
            problem("mixed_responses", "a turn with responses has other parts");
        }
        calls = names(content, "functionCall");
        let before = index.checked_sub(1).map(|before| &contents[before]);
        if !calls.is_empty() && before.is_none_or(is_model) {
            problem("call_out_of_turn", "the calls do not directly follow a turn of the user");
        }
    }
    let Some(last) = contents.last() else { return violations };
    let index = contents.len() - 1;
    if is_model(last) {
        violations.push(Violation::new(
            index,
            "last_not_user",
            "the last turn does not have the role user",
        ));
    }
    violations.extend(unsigned_calls(contents));
    violations
}

/// Returns the turns whose first call has no signature, after the last message of the user.
///
/// The API checks signatures only for the calls after that message.
fn unsigned_calls(contents: &[Value]) -> impl Iterator<Item = Violation> {
    let is_user_speech =
        |content: &Value| !is_model(content) && names(content, "functionResponse").is_empty();
    let begin = contents.iter().rposition(is_user_speech).unwrap_or(0);
    let active = contents.iter().enumerate().skip(begin);
    let unsigned = active.filter(|(_, content)| {
        let first = content["parts"].as_array().into_iter().flatten();
        let first = first.into_iter().find(|part| part.get("functionCall").is_some());
        first.is_some_and(|part| !part["thoughtSignature"].is_string())
    });
    unsigned.map(|(index, _)| {
        Violation::new(index, "missing_signature", "the first call of the turn has no signature")
    })
}

fn is_model(content: &Value) -> bool {
    content["role"] == "model"
}

fn names<'a>(content: &'a Value, field: &str) -> Vec<&'a str> {
    let parts = content["parts"].as_array().into_iter().flatten();
    let of_field = parts.filter_map(|part| part.get(field));
    of_field.map(|it| it["name"].as_str().unwrap_or_default()).collect()
}

fn have_same_names(calls: &[&str], responses: &[&str]) -> bool {
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort_unstable();
        names
    };
    sorted(calls) == sorted(responses)
}

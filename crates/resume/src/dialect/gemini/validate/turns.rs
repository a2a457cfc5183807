use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::violation::Violation;

/// Returns where turns do not follow each other as they should.
pub(super) fn violations(contents: &[Value]) -> Found {
    let mut found = Found::default();
    let mut called: Vec<&str> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        let mut problem = |rule, detail: &str| found.push(Violation::new(index, rule, detail));
        let responses = names(content, "functionResponse");
        if !is_same(&called, &responses) {
            problem("unmatched_responses", "the responses are not those to the calls before");
        }
        let count = content["parts"].as_array().map_or(0, Vec::len);
        if !responses.is_empty() && responses.len() < count {
            problem("mixed_responses", "a turn with responses holds something else");
        }
        called = names(content, "functionCall");
        let before = index.checked_sub(1).map(|before| &contents[before]);
        if !called.is_empty() && before.is_none_or(is_model) {
            problem("call_out_of_turn", "the calls do not follow on the user's turn");
        }
    }
    let Some(last) = contents.last() else { return found };
    let index = contents.len() - 1;
    if is_model(last) {
        found.push(Violation::new(index, "last_not_user", "the last turn is not the user's"));
    }
    found.extend(unsigned(contents));
    found
}

/// Returns the turns of the loop under way whose first call has no signature.
fn unsigned(contents: &[Value]) -> impl Iterator<Item = Violation> {
    let speaks =
        |content: &Value| !is_model(content) && names(content, "functionResponse").is_empty();
    let begin = contents.iter().rposition(speaks).unwrap_or(0);
    let active = contents.iter().enumerate().skip(begin);
    let bare = active.filter(|(_, content)| {
        let first = content["parts"].as_array().into_iter().flatten();
        let first = first.into_iter().find(|part| part.get("functionCall").is_some());
        first.is_some_and(|part| !part["thoughtSignature"].is_string())
    });
    bare.map(|(index, _)| {
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

fn is_same(called: &[&str], answered: &[&str]) -> bool {
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort_unstable();
        names
    };
    sorted(called) == sorted(answered)
}

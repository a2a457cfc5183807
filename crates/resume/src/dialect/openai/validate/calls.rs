use serde_json::{Map, Value};

use crate::dialect::checks::name_problem;
use crate::dialect::violation::Problem;

/// Returns the problems of the calls that a message makes.
pub(super) fn problems(message: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let tool_calls = message.get("tool_calls");
    let function_call = message.get("function_call");
    if let Some(calls) = tool_calls {
        problems.extend(list_problem(calls));
        problems.extend(builtin_problem(calls));
        problems.extend(id_problem(calls));
    }
    if let Some(call) = function_call
        && !is_target(call, "arguments")
    {
        let detail = "the function call has no valid name, or its arguments are not text";
        problems.push(("invalid_function_call", detail.to_owned()));
    }
    let listed = tool_calls.and_then(Value::as_array).into_iter().flatten();
    let targets = listed.flat_map(|call| [call.get("function"), call.get("custom")]).flatten();
    problems.extend(targets.chain(function_call).find_map(name_problem));
    if tool_calls.is_some() && function_call.is_some() {
        let detail = "a message may have tool_calls or function_call, not both";
        problems.push(("both_kinds_of_calls", detail.to_owned()));
    }
    problems
}

fn list_problem(calls: &Value) -> Option<Problem> {
    let calls = calls.as_array().map(Vec::as_slice).unwrap_or_default();
    if calls.is_empty() {
        return Some(("invalid_calls", "tool_calls is not a list of at least one call".to_owned()));
    }
    let broken = calls.iter().position(|call| !is_call(call))?;
    Some(("invalid_calls", format!("call {broken} lacks a valid id, type, name or input")))
}

fn builtin_problem(calls: &Value) -> Option<Problem> {
    let builtin = calls.as_array()?.iter().position(|call| call["type"] == "builtin_function")?;
    Some(("call_not_accepted", format!("call {builtin} is one of a built-in function of Kimi")))
}

/// The length of the longest call id, in characters.
const MAX_ID_CHARS: usize = 40;

fn id_problem(calls: &Value) -> Option<Problem> {
    let is_long =
        |call: &Value| call["id"].as_str().is_some_and(|id| id.chars().count() > MAX_ID_CHARS);
    let long = calls.as_array()?.iter().position(is_long)?;
    Some(("long_call_id", format!("the id of call {long} has more than {MAX_ID_CHARS} characters")))
}

fn is_call(call: &Value) -> bool {
    let has_id = call["id"].as_str().is_some_and(|id| !id.is_empty());
    let has_target = match call["type"].as_str() {
        Some("function" | "builtin_function") => is_target(&call["function"], "arguments"),
        Some("custom") => is_target(&call["custom"], "input"),
        _ => false,
    };
    has_id && has_target
}

fn is_target(target: &Value, input: &str) -> bool {
    target["name"].as_str().is_some_and(|name| !name.is_empty()) && target[input].is_string()
}

use serde_json::Value;

use super::events;
use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// Returns the rules that the events break, ordered by position.
pub(super) fn violations(events: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, event) in events.iter().enumerate() {
        validator.check(index, event);
    }
    for (index, id) in validator.open.take() {
        let detail = format!("no ToolResultsEvent has a result of the call {id:?}");
        validator.violations.push(Violation::new(index, "unsettled_call", detail));
    }
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of all calls that responses announced.
    announced: CallIds<'a>,
    /// The announced calls without a result in a `ToolResultsEvent`.
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    /// Checks one event; the checks return whether it has the fields of its class.
    fn check(&mut self, index: usize, event: &'a Value) {
        let class = event["__event__"].as_str().unwrap_or_default();
        let valid = match class.rsplit('.').next().unwrap_or_default() {
            "ModelRequest" | "DrainedModelRequest" => is_list(&event["parts"], "__event__"),
            "ModelResponse" => self.check_response(index, event),
            "ToolCallsEvent" => is_list(&event["calls"], "id"),
            "ToolCallEvent" => self.check_known(index, &event["id"]),
            "ToolResultEvent" | "ToolErrorEvent" | "ToolNotFoundEvent" => {
                event["result"].is_object() && self.check_known(index, &event["parent_id"])
            }
            "ToolResultsEvent" => self.close_calls(index, event),
            // Other events are kept, and have fields of their own.
            other => !other.is_empty(),
        };
        if !valid {
            let detail = format!("the event {class:?} is unknown or lacks a field");
            self.violations.push(Violation::new(index, "invalid_event", detail));
        }
    }

    fn check_response(&mut self, index: usize, event: &'a Value) -> bool {
        let calls = event["tool_calls"]["calls"].as_array().into_iter().flatten();
        let mut valid = event["message"].is_null() || event["message"]["content"].is_string();
        for call in calls {
            let arguments = call["arguments"].as_str();
            let is_object =
                |text: &str| events::read_arguments(text).is_some_and(|read| read.is_object());
            valid &= call["name"].is_string() && arguments.is_some_and(is_object);
            let Some(id) = call["id"].as_str() else {
                return false;
            };
            let problem = self.announced.add(id);
            if problem.is_none() {
                self.open.open(index, id);
            }
            self.violations.report(index, problem);
        }
        valid
    }

    /// Reports an id that no response announced; returns whether it is an id at all.
    fn check_known(&mut self, index: usize, id: &Value) -> bool {
        let Some(id) = id.as_str() else {
            return false;
        };
        if !self.announced.contains(id) {
            let detail = format!("no earlier response announces the call {id:?}");
            self.violations.push(Violation::new(index, "unknown_call", detail));
        }
        true
    }

    fn close_calls(&mut self, index: usize, event: &Value) -> bool {
        let Some(results) = event["results"].as_array() else {
            return false;
        };
        for result in results {
            if !self.check_known(index, &result["parent_id"]) {
                return false;
            }
            self.open.close(result["parent_id"].as_str().unwrap_or_default());
        }
        true
    }
}

fn is_list(list: &Value, field: &str) -> bool {
    list.as_array().is_some_and(|items| items.iter().all(|item| item[field].is_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::events;
    use super::*;

    fn rules(events: &[Value]) -> Vec<(usize, &'static str)> {
        let found = violations(events);
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    #[test]
    fn a_call_must_be_announced_and_closed() {
        let call = events::call("a", "f", "{}");
        let response = events::response(None, None, std::slice::from_ref(&call));
        let result = events::result("a", "f", &[events::text("x", None)], None);
        let settled = events::results(std::slice::from_ref(&result));
        assert_eq!(rules(&[response.clone(), call.clone(), result.clone(), settled]), []);
        assert_eq!(rules(&[response.clone(), call, result.clone()]), [(0, "unsettled_call")]);
        assert_eq!(rules(&[result]), [(0, "unknown_call")]);
        let twice = [response.clone(), response];
        assert!(rules(&twice).contains(&(1, "duplicate_call_id")));
    }

    #[test]
    fn open_calls_are_listed_in_order() {
        let ids: Vec<_> = (0..20).map(|id| format!("call {id}")).collect();
        let calls: Vec<_> = ids.iter().map(|id| events::call(id, "f", "{}")).collect();
        let found = violations(&[events::response(None, None, &calls)]);
        let details: Vec<_> = found.into_iter().map(|violation| violation.detail).collect();
        let expected =
            ids.iter().map(|id| format!("no ToolResultsEvent has a result of the call {id:?}"));
        assert_eq!(details, expected.collect::<Vec<_>>());
    }

    #[test]
    fn shapes_are_checked() {
        let call = events::call("a", "f", "x");
        let cases = [
            json!(1),
            json!({"__event__": ""}),
            json!({"__event__": "ag2.events.input_events.ModelRequest"}),
            events::response(None, None, &[call]),
        ];
        for event in cases {
            assert!(rules(std::slice::from_ref(&event)).contains(&(0, "invalid_event")), "{event}");
        }
    }
}

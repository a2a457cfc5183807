//! The calls and results of the log, for pieces of a transcript with events that may only repeat them.

use records::Message;
use serde_json::Value;

use super::events;

/// Returns whether an event may repeat a call or a result that the log has.
pub(super) fn is_needed(messages: &[Value]) -> bool {
    let mut classes = messages.iter().filter_map(|event| event["__event__"].as_str());
    classes.any(|class| class.contains(".Tool"))
}

/// Returns events with the calls and the results of a log.
pub(super) fn of_log(log: &[Message]) -> Vec<Value> {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for message in log {
        let list = |field: &str| message.body.extra.get(field).and_then(Value::as_array);
        let called = list("tool_calls").into_iter().flatten();
        let called = called.filter_map(|call| call["id"].as_str());
        calls.extend(called.map(|id| events::call(id, "", "{}")));
        let own = message.body.extra.get("tool_call_id");
        let several = list("tool_responses").into_iter().flatten();
        let answered = several.filter_map(|result| result.get("tool_call_id")).chain(own);
        let answered = answered.filter_map(Value::as_str);
        results.extend(answered.map(|id| events::result(id, "", &[], None)));
    }
    vec![events::response(None, None, &calls), events::results(&results)]
}

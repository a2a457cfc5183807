use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns the rules that the messages break, ordered by position.
///
/// A result may come anywhere after its call.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, message) in messages.iter().enumerate() {
        let problems = [problem(message), id_problem(message)].into_iter().flatten();
        validator.violations.report(index, problems);
        validator.check_pairs(index, message);
    }
    validator.violations.extend(validator.open.take_unanswered("has no result"));
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn check_pairs(&mut self, index: usize, message: &'a Value) {
        if message["role"] == "tool" {
            let id = message["toolCallId"].as_str().unwrap_or_default();
            self.violations.report(index, self.open.close_with_result(id));
        }
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            let Some(id) = call["id"].as_str() else { continue };
            self.violations.report(index, self.calls.add(id));
            self.open.open(index, id);
        }
    }
}

fn id_problem(message: &Value) -> Option<Problem> {
    let missing = message.is_object() && !message["id"].is_string();
    missing.then(|| ("missing_id", "the message has no id".to_owned()))
}

fn problem(message: &Value) -> Option<Problem> {
    if !message.is_object() {
        return Some(("not_an_object", "the message is not a JSON object".to_owned()));
    }
    let content = &message["content"];
    let is_content = || match content {
        Value::Array(parts) => parts.iter().all(is_part),
        _ => content.is_string(),
    };
    let valid = match message["role"].as_str() {
        Some("system" | "developer" | "reasoning") => content.is_string(),
        Some("user" | "tool") => is_content(),
        Some("assistant") => content.is_string() || content.is_null(),
        Some("activity") => content.is_object() && message["activityType"].is_string(),
        _ => return Some(("unknown_role", format!("there is no role {}", message["role"]))),
    };
    if !valid {
        let detail = format!("the role {} cannot have this content", message["role"]);
        return Some(("invalid_content", detail));
    }
    let calls = message.get("toolCalls").filter(|calls| !calls.is_null())?;
    let valid = calls.as_array().is_some_and(|calls| calls.iter().all(is_call));
    let detail = || "a call lacks an id, a name or arguments as text".to_owned();
    (!valid).then(|| ("invalid_calls", detail()))
}

fn is_call(call: &Value) -> bool {
    let function = &call["function"];
    call["id"].is_string() && function["name"].is_string() && function["arguments"].is_string()
}

fn is_part(part: &Value) -> bool {
    let source = &part["source"];
    match part["type"].as_str() {
        Some("text") => part["text"].is_string(),
        Some("image" | "audio" | "video" | "document") => {
            let is_whole = match source["type"].as_str() {
                Some("data") => source["mimeType"].is_string(),
                Some(kind) => kind == "url" || kind == "file",
                None => false,
            };
            is_whole && source["value"].is_string()
        }
        // Versions before 1.0 have one part for all media.
        Some("binary") => part["mimeType"].is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    #[test]
    fn a_result_comes_after_its_call() {
        let call =
            json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}});
        let caller = json!({"id": "1", "role": "assistant", "toolCalls": [call]});
        let user = json!({"id": "2", "role": "user", "content": "hi"});
        let result = json!({"id": "3", "role": "tool", "toolCallId": "a", "content": "x"});
        assert_eq!(rules(&json!([caller, user, result])), []);
        assert_eq!(rules(&json!([caller])), [(0, "unanswered_call")]);
        assert_eq!(rules(&json!([result])), [(0, "orphan_result")]);
        let twice = json!([caller, result, caller, result]);
        assert_eq!(rules(&twice), [(2, "duplicate_call_id")]);
    }

    #[test]
    fn shapes_are_checked() {
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"id": "1", "role": "function", "content": "x"}), "unknown_role"),
            (json!({"role": "user", "content": "x"}), "missing_id"),
            (json!({"id": "1", "role": "user"}), "invalid_content"),
            (json!({"id": "1", "role": "system", "content": []}), "invalid_content"),
            (json!({"id": "1", "role": "user", "content": [{"type": "image"}]}), "invalid_content"),
            (json!({"id": "1", "role": "assistant", "toolCalls": [{"id": "a"}]}), "invalid_calls"),
        ];
        for (message, rule) in cases {
            assert_eq!(rules(&json!([message]))[0], (0, rule), "{message}");
        }
    }
}

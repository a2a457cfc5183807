use serde_json::{Map, Value};

use super::profile::Profile;
use crate::dialect::checks::name_problem;
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

mod limits;
pub(super) use limits::violations as provider_violations;

mod pairs;

/// Returns the rules that the messages break, ordered by position.
pub(super) fn violations(profile: Profile, messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    if messages.is_empty() {
        violations.push(Violation::new(0, "no_messages", "there is nothing to resume from"));
    }
    for (index, message) in messages.iter().enumerate() {
        let is_last = index + 1 == messages.len();
        let check = MessageCheck { profile, is_first: index == 0, is_last };
        violations.report(index, check.problems(message));
    }
    violations.merged_with(pairs::violations(messages))
}

/// Checks one message; some rules apply only to the first or the last message.
struct MessageCheck {
    profile: Profile,
    is_first: bool,
    is_last: bool,
}

impl MessageCheck {
    fn problems(&self, message: &Value) -> Vec<Problem> {
        let Some(object) = message.as_object() else {
            return vec![("not_an_object", "the message is not a JSON object".to_owned())];
        };
        let problems = [
            self.name_problem(object),
            self.role_problem(object),
            self.content_problem(object),
            call_problem(object),
            function_name_problem(object),
            call_id_problem(object),
        ];
        problems.into_iter().flatten().collect()
    }

    fn name_problem(&self, object: &Map<String, Value>) -> Option<Problem> {
        let name = object.get("name")?;
        let refused: &[&str] = match self.profile {
            Profile::Pattern if self.is_first => {
                &["", "_User", "user", "Admin", "chat_manager", "_Group_Tool_Executor"]
            }
            Profile::Pattern => &["", "_User"],
            Profile::Manager => &["", "_User", "_Group_Tool_Executor"],
        };
        let invalid = name.as_str().is_none_or(|name| refused.contains(&name));
        invalid.then(|| ("invalid_name", format!("no agent may have the name {name} here")))
    }

    fn role_problem(&self, object: &Map<String, Value>) -> Option<Problem> {
        let missing = !self.is_last && !object.contains_key("role");
        missing.then(|| ("missing_role", "the role is missing".to_owned()))
    }

    fn content_problem(&self, object: &Map<String, Value>) -> Option<Problem> {
        let makes_calls =
            ["tool_calls", "function_call"].iter().any(|key| object.contains_key(*key));
        let invalid = |detail: &str| Some(("invalid_content", detail.to_owned()));
        match object.get("content") {
            None if !self.is_last => invalid("the content is missing"),
            None | Some(Value::Null) if !makes_calls => invalid("the content is null"),
            Some(Value::Array(parts)) if self.is_last && !parts.iter().all(is_part) => {
                invalid("the last message has a content part of an unknown type")
            }
            Some(Value::Object(_) | Value::Number(_) | Value::Bool(_)) if self.is_last => {
                invalid("the content of the last message is neither text nor a list")
            }
            _ => None,
        }
    }
}

fn is_part(part: &Value) -> bool {
    const KNOWN: [&str; 8] = [
        "text",
        "input_text",
        "image_url",
        "input_image",
        "function",
        "tool_call",
        "tool_calls",
        "apply_patch_call",
    ];
    part["type"].as_str().is_some_and(|kind| KNOWN.contains(&kind))
}

fn call_problem(object: &Map<String, Value>) -> Option<Problem> {
    let calls = object.get("tool_calls")?.as_array()?;
    let is_call = |call: &Value| {
        call["id"].is_string()
            && call["function"]["name"].as_str().is_some_and(|name| !name.is_empty())
            && call["function"]["arguments"].is_string()
    };
    let detail = || "a call lacks a valid id, name or arguments".to_owned();
    (!calls.iter().all(is_call)).then(|| ("invalid_calls", detail()))
}

fn function_name_problem(object: &Map<String, Value>) -> Option<Problem> {
    let calls = object.get("tool_calls")?.as_array()?.iter();
    calls.filter_map(|call| call.get("function")).find_map(name_problem)
}

/// AG2 sends the calls to interfaces like that of `OpenAI`, which accept no longer ids.
fn call_id_problem(object: &Map<String, Value>) -> Option<Problem> {
    const MAX_CHARS: usize = 40;
    let mut calls = object.get("tool_calls")?.as_array()?.iter();
    let is_long =
        |call: &Value| call["id"].as_str().is_some_and(|id| id.chars().count() > MAX_CHARS);
    let detail = || format!("the id of a call has more than {MAX_CHARS} characters");
    calls.any(is_long).then(|| ("long_call_id", detail()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(profile: Profile, messages: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(profile, messages.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn speech(name: &str) -> Value {
        json!({"role": "assistant", "name": name, "content": "x"})
    }

    #[test]
    fn allowed_names_depend_on_the_profile_and_the_position() {
        let chat = json!([speech("planner"), speech("user"), speech("_Group_Tool_Executor")]);
        assert_eq!(rules(Profile::Pattern, &chat), []);
        assert_eq!(rules(Profile::Manager, &chat), [(2, "invalid_name")]);
        for name in ["user", "Admin", "chat_manager", "_Group_Tool_Executor"] {
            assert_eq!(rules(Profile::Pattern, &json!([speech(name)])), [(0, "invalid_name")]);
        }
        for name in [json!(""), json!(null), json!("_User")] {
            let message = json!({"role": "user", "name": name, "content": "x"});
            let chat = json!([speech("a"), message, speech("a")]);
            assert_eq!(rules(Profile::Manager, &chat), [(1, "invalid_name")]);
        }
    }

    #[test]
    fn the_last_message_needs_no_role_but_a_known_content() {
        assert_eq!(rules(Profile::Manager, &json!([])), [(0, "no_messages")]);
        assert_eq!(rules(Profile::Manager, &json!([{"content": "x"}])), []);
        assert_eq!(
            rules(Profile::Manager, &json!([{"content": "x"}, speech("a")])),
            [(0, "missing_role")]
        );
        for content in [json!({"a": 1}), json!(1), json!([{"type": "file"}]), json!(null)] {
            let message = json!({"role": "user", "content": content});
            let found = rules(Profile::Manager, &json!([speech("a"), message]));
            assert_eq!(found, [(1, "invalid_content")], "{content}");
        }
    }

    #[test]
    fn results_may_be_separate_messages_or_one_message() {
        let call =
            |id: &str, name: &str| json!({"id": id, "function": {"name": name, "arguments": ""}});
        let caller = json!({
            "role": "assistant", "content": "", "tool_calls": [call("a", "f"), call("b", "f")],
        });
        let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
        let all = json!({
            "role": "tool", "content": "x", "tool_responses": [result("b"), result("a")],
        });
        assert_eq!(rules(Profile::Pattern, &json!([caller, all])), []);
        assert_eq!(rules(Profile::Pattern, &json!([caller, result("a"), result("b")])), []);
        let found = rules(Profile::Pattern, &json!([caller, result("a"), result("c")]));
        assert_eq!(found, [(0, "unanswered_call"), (2, "orphan_result")]);
        let bad = json!({"role": "assistant", "content": "", "tool_calls": [call("a", "f f")]});
        assert_eq!(rules(Profile::Pattern, &json!([bad, result("a")])), [(0, "invalid_name")]);
        let long = "a".repeat(41);
        let bad = json!({"role": "assistant", "content": "", "tool_calls": [call(&long, "f")]});
        assert_eq!(rules(Profile::Pattern, &json!([bad, result(&long)])), [(0, "long_call_id")]);
    }
}

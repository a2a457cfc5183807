use serde_json::Value;

use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

mod limits;
pub(super) use limits::violations as provider_violations;

mod turns;

/// Returns the rules that the contents break, ordered by position.
pub(super) fn violations(contents: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, content) in contents.iter().enumerate() {
        violations.report(index, problems(content));
    }
    violations.merged_with(turns::violations(contents))
}

fn problems(content: &Value) -> Vec<Problem> {
    let Some(object) = content.as_object() else {
        return vec![("not_an_object", "the content is not a JSON object".to_owned())];
    };
    let mut problems = Vec::new();
    if let Some(key) = object.keys().find(|key| *key != "role" && *key != "parts") {
        problems.push(("unknown_field", format!("the dialect has no field {key:?}")));
    }
    let role = content.get("role").map_or(Some("user"), Value::as_str);
    if !matches!(role, Some("user" | "model")) {
        problems.push(("unknown_role", format!("the dialect has no role {}", content["role"])));
    }
    match content["parts"].as_array() {
        Some(parts) if !parts.is_empty() => {
            problems.extend(parts.iter().filter_map(part_problem).take(ViolationList::MAX));
        }
        _ => problems.push(("no_parts", "the content has no parts".to_owned())),
    }
    problems
}

fn part_problem(part: &Value) -> Option<Problem> {
    let invalid = |rule, detail: &str| Some((rule, detail.to_owned()));
    if let Some(text) = part.get("text") {
        let blank = text.as_str().is_none_or(|text| text.trim().is_empty());
        return if blank {
            invalid("blank_text", "a text is empty or only white space")
        } else {
            None
        };
    }
    if let Some(call) = part.get("functionCall") {
        let valid = is_function(&call["name"]) && call.get("args").is_none_or(Value::is_object);
        return if valid {
            None
        } else {
            invalid("invalid_call", "the call lacks a valid name or arguments")
        };
    }
    if let Some(response) = part.get("functionResponse") {
        let valid = is_function(&response["name"]) && response["response"].is_object();
        return if valid {
            None
        } else {
            invalid("invalid_response", "the response lacks a valid name or a response object")
        };
    }
    let has_data =
        part["inlineData"]["mimeType"].is_string() && part["inlineData"]["data"].is_string();
    let others = ["executableCode", "codeExecutionResult"];
    let known = has_data
        || part["fileData"]["fileUri"].is_string()
        || others.iter().any(|field| part.get(field).is_some());
    if known { None } else { invalid("empty_part", "the part has no known field") }
}

fn is_function(name: &Value) -> bool {
    let name = name.as_str().unwrap_or_default().as_bytes();
    let begins = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let outside = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"_.:-".contains(byte));
    begins && name.len() <= 128 && !name.iter().any(outside)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(contents: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(contents.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn user() -> Value {
        json!({"role": "user", "parts": [{"text": "hi"}]})
    }

    fn model(part: &Value) -> Value {
        json!({"role": "model", "parts": [part]})
    }

    fn call(name: &str) -> Value {
        json!({"functionCall": {"name": name, "args": {}}, "thoughtSignature": "c2ln"})
    }

    fn answer(names: &[&str]) -> Value {
        let response = |name: &&str| json!({"functionResponse": {"name": name, "response": {}}});
        json!({"role": "user", "parts": names.iter().map(response).collect::<Vec<_>>()})
    }

    #[test]
    fn the_next_turn_answers_each_call_once_by_name() {
        let good = json!([user(), model(&call("f")), answer(&["f"])]);
        assert_eq!(rules(&good), []);
        for answers in [&["g"][..], &["f", "f"]] {
            let bad = json!([user(), model(&call("f")), answer(answers)]);
            assert_eq!(rules(&bad), [(2, "unmatched_responses")]);
        }
        let none = json!([user(), model(&call("f")), user()]);
        assert_eq!(rules(&none), [(2, "unmatched_responses")]);
        assert_eq!(rules(&json!([user(), answer(&["f"])])), [(1, "unmatched_responses")]);
        let mut mixed = answer(&["f"]);
        mixed["parts"].as_array_mut().unwrap().push(json!({"text": "and"}));
        let found = rules(&json!([user(), model(&call("f")), mixed]));
        assert_eq!(found, [(2, "mixed_responses")]);
    }

    #[test]
    fn a_call_follows_the_user_and_has_a_signature() {
        let text = json!({"text": "x"});
        let found = rules(&json!([user(), model(&text), model(&call("f")), answer(&["f"])]));
        assert_eq!(found, [(2, "call_out_of_turn")]);
        let bare = json!({"functionCall": {"name": "f"}});
        let found = rules(&json!([user(), model(&bare), answer(&["f"])]));
        assert_eq!(found, [(1, "missing_signature")]);
        let past = json!([user(), model(&bare), answer(&["f"]), model(&text), user()]);
        assert_eq!(rules(&past), []);
        assert_eq!(rules(&json!([user(), model(&text)])), [(1, "last_not_user")]);
    }

    #[test]
    fn shapes_are_checked() {
        let cases = [
            (json!(1), "not_an_object"),
            (json!({"role": "system", "parts": [{"text": "x"}]}), "unknown_role"),
            (json!({"role": "user", "parts": []}), "no_parts"),
            (json!({"role": "user", "parts": [{"text": ""}]}), "blank_text"),
            (json!({"role": "user", "parts": [{}]}), "empty_part"),
            (json!({"role": "user", "name": "a", "parts": [{"text": "x"}]}), "unknown_field"),
        ];
        for (content, rule) in cases {
            assert!(rules(&json!([content])).contains(&(0, rule)), "{content}");
        }
        let found = rules(&json!([user(), model(&call("1")), answer(&["1"])]));
        assert_eq!(found, [(1, "invalid_call"), (2, "invalid_response")]);
    }
}

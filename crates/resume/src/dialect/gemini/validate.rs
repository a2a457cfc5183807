use serde_json::Value;

use crate::dialect::found::Found;
use crate::dialect::violation::{Problem, Violation};

mod turns;

/// Returns the ways in which the contents break the rules, by position.
pub(super) fn violations(contents: &[Value]) -> Vec<Violation> {
    let mut found = Found::default();
    for (index, content) in contents.iter().enumerate() {
        found.extend(Violation::at(index, problems(content)));
    }
    found.and(turns::violations(contents))
}

fn problems(content: &Value) -> Vec<Problem> {
    let Some(object) = content.as_object() else {
        return vec![("not_an_object", "the content is not a JSON object".to_owned())];
    };
    let mut found = Vec::new();
    if let Some(key) = object.keys().find(|key| *key != "role" && *key != "parts") {
        found.push(("unknown_field", format!("the form has no field {key:?}")));
    }
    let role = content.get("role").map_or(Some("user"), Value::as_str);
    if !matches!(role, Some("user" | "model")) {
        found.push(("unknown_role", format!("the form has no role {}", content["role"])));
    }
    match content["parts"].as_array() {
        Some(parts) if !parts.is_empty() => {
            found.extend(parts.iter().filter_map(problem).take(Found::MOST));
        }
        _ => found.push(("no_parts", "the content has no parts".to_owned())),
    }
    found
}

fn problem(part: &Value) -> Option<Problem> {
    let invalid = |rule, detail: &str| Some((rule, detail.to_owned()));
    if let Some(text) = part.get("text") {
        let blank = text.as_str().is_none_or(|text| text.trim().is_empty());
        return if blank { invalid("blank_text", "a text is empty") } else { None };
    }
    if let Some(call) = part.get("functionCall") {
        let valid = is_function(&call["name"]) && call.get("args").is_none_or(Value::is_object);
        return if valid {
            None
        } else {
            invalid("invalid_call", "the call has no valid name or arguments")
        };
    }
    if let Some(response) = part.get("functionResponse") {
        let valid = is_function(&response["name"]) && response["response"].is_object();
        return if valid {
            None
        } else {
            invalid("invalid_response", "the response has no valid name or no object")
        };
    }
    let has_data =
        part["inlineData"]["mimeType"].is_string() && part["inlineData"]["data"].is_string();
    let others = ["executableCode", "codeExecutionResult"];
    let known = has_data
        || part["fileData"]["fileUri"].is_string()
        || others.iter().any(|field| part.get(field).is_some());
    if known { None } else { invalid("empty_part", "the part holds nothing that is known") }
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
    fn calls_are_answered_in_the_next_turn_in_number_and_by_name() {
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
    fn a_call_follows_the_user_and_carries_a_signature() {
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

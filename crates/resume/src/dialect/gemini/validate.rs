use serde_json::Value;

use super::part_fields::{OF_CALL, OF_RESPONSE, is_of_part, is_payload, may_be_alone};
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

/// Returns the fields that are not known of a part, of a call or of a response: a later version of the API has them.
pub(super) fn unknown_fields(contents: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, content) in contents.iter().enumerate() {
        let parts = content["parts"].as_array().into_iter().flatten();
        violations.report(index, parts.filter_map(unknown_field));
    }
    violations.into_sorted()
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
    // What calls gave may have a role of its own in older transcripts.
    if !matches!(role, Some("user" | "model" | "function")) {
        problems.push(("unknown_role", format!("the dialect has no role {}", content["role"])));
    }
    match content["parts"].as_array() {
        Some(parts) if !parts.is_empty() => {
            problems.extend(parts.iter().filter_map(part_problem).take(ViolationList::MAX));
        }
        None if content.get("parts").is_some_and(|parts| !parts.is_null()) => {
            problems.push(("invalid_parts", "the parts are not a list".to_owned()));
        }
        _ => problems.push(("missing_content", "the content has no parts".to_owned())),
    }
    problems
}

fn part_problem(part: &Value) -> Option<Problem> {
    let invalid = |rule, detail: &str| Some((rule, detail.to_owned()));
    let Some(fields) = part.as_object() else {
        return invalid("invalid_part", "a part is not a JSON object");
    };
    if let Some(text) = part.get("text") {
        let blank = text.as_str().is_none_or(|text| text.trim().is_empty());
        // A stream may end with a signature alone.
        return if blank && !(text.is_string() && part["thoughtSignature"].is_string()) {
            invalid("blank_text", "a text is empty or only white space")
        } else {
            None
        };
    }
    if let Some(call) = part.get("functionCall") {
        let valid = is_named(call) && call.get("args").is_none_or(Value::is_object);
        return if valid {
            name_problem(call)
        } else {
            invalid("invalid_call", "the call lacks a name or arguments")
        };
    }
    if let Some(response) = part.get("functionResponse") {
        // The SDKs leave out a response that is empty, or that has media alone.
        let valid = is_named(response) && response.get("response").is_none_or(Value::is_object);
        return if valid {
            name_problem(response)
        } else {
            invalid("invalid_response", "the response lacks a name, or is no object")
        };
    }
    let lacks = |payload: &str, field: &str| {
        part.get(payload).is_some_and(|payload| !payload[field].is_string())
    };
    if lacks("inlineData", "mimeType")
        || lacks("inlineData", "data")
        || lacks("fileData", "fileUri")
    {
        return invalid("invalid_part", "inline data or a file lacks a field");
    }
    if fields.keys().any(|field| is_payload(field) || may_be_alone(field)) {
        return None;
    }
    invalid("empty_part", "the part has no known field")
}

/// Returns the problem of the first field that is not known of a part, of a call or of a response.
fn unknown_field(part: &Value) -> Option<Problem> {
    let of = |object: &Value, is_known: fn(&str) -> bool| {
        let mut fields = object.as_object()?.iter().filter(|(_, value)| !value.is_null());
        fields.find(|(field, _)| !is_known(field)).map(|(field, _)| field.clone())
    };
    let of_call = |field: &str| {
        ["id", "name", "args"].contains(&field) || OF_CALL.iter().any(|(known, _)| *known == field)
    };
    let of_response = |field: &str| {
        ["id", "name", "response", "parts"].contains(&field)
            || OF_RESPONSE.iter().any(|(known, _)| *known == field)
    };
    // A part in the style of other formats may name its type.
    let unknown = of(part, |field| field == "type" || is_of_part(field))
        .or_else(|| of(&part["functionCall"], of_call))
        .or_else(|| of(&part["functionResponse"], of_response));
    unknown.map(|field| ("unknown_field", format!("parts have no field {field:?}")))
}

fn is_named(function: &Value) -> bool {
    function["name"].as_str().is_some_and(|name| !name.is_empty())
}

/// Returns the problem of a name that the API refuses, and that a rendering changes.
fn name_problem(function: &Value) -> Option<Problem> {
    let name = function["name"].as_str()?.as_bytes();
    let begins = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let outside = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"_.:-".contains(byte));
    let valid = begins && name.len() <= 128 && !name.iter().any(outside);
    let detail = "the name of a function does not match ^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$";
    (!valid).then(|| ("invalid_name", detail.to_owned()))
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
            (json!({"role": "user", "parts": []}), "missing_content"),
            (json!({"role": "user", "parts": [{"text": ""}]}), "blank_text"),
            (json!({"role": "user", "parts": [{}]}), "empty_part"),
            (json!({"role": "user", "parts": "x"}), "invalid_parts"),
            (json!({"role": "user", "parts": ["x"]}), "invalid_part"),
            (json!({"role": "user", "parts": [{"fileData": {}}]}), "invalid_part"),
            (json!({"role": "user", "name": "a", "parts": [{"text": "x"}]}), "unknown_field"),
        ];
        for (content, rule) in cases {
            assert!(rules(&json!([content])).contains(&(0, rule)), "{content}");
        }
        let found = rules(&json!([user(), model(&call("1")), answer(&["1"])]));
        assert_eq!(found, [(1, "invalid_name"), (2, "invalid_name")]);
    }
}

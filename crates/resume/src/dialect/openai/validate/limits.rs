use serde_json::Value;

use crate::dialect::checks::{holds_object, is_fetched};
use crate::dialect::open_calls::CallIds;
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns what the API refuses although its schema allows it, ordered by position.
pub(in crate::dialect::openai) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        let parts = message["content"].as_array().into_iter().flatten();
        let problems = parts.filter_map(part_problem);
        violations.report(index, problems);
        violations.report(index, call_problems(message));
    }
    violations.into_sorted()
}

/// Returns what other providers with this API refuse, besides what this one does.
pub(in crate::dialect::openai) fn of_other_providers(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    let mut call_ids = CallIds::default();
    for (index, message) in messages.iter().enumerate() {
        let parts = message["content"].as_array().into_iter().flatten();
        let files = parts.filter(|part| part["file"].get("file_id").is_some());
        violations.report(
            index,
            files.map(|_| ("foreign_file", "the id of a file is known to OpenAI alone".to_owned())),
        );
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        violations.report(
            index,
            calls.clone().filter_map(|call| call_ids.add(call["id"].as_str().unwrap_or_default())),
        );
        let is_custom = calls.into_iter().any(|call| call["type"] == "custom");
        let is_legacy = message.get("function_call").is_some() || message["role"] == "function";
        let detail = "only OpenAI has calls of custom tools, and calls without ids";
        violations
            .report(index, (is_custom || is_legacy).then(|| ("call_of_openai", detail.to_owned())));
    }
    violations.extend(self::violations(messages));
    violations.into_sorted()
}

/// "Array too long" in `tool_calls`: openai/openai-dotnet#317.
const MAX_CALLS: usize = 128;

fn call_problems(message: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if calls.len() > MAX_CALLS {
        problems.push(("too_many_calls", format!("there are more than {MAX_CALLS} calls")));
    }
    let functions = calls.iter().filter_map(|call| call.get("function"));
    let mut functions = functions.chain(message.get("function_call"));
    if functions.any(|function| !holds_object(&function["arguments"])) {
        let detail = "the arguments of a call are not the text of a JSON object";
        problems.push(("invalid_arguments", detail.to_owned()));
    }
    problems
}

fn part_problem(part: &Value) -> Option<Problem> {
    match part["type"].as_str()? {
        "image_url" if !is_image(part["image_url"]["url"].as_str().unwrap_or_default()) => {
            let detail = "an image is neither at a web address nor a JPEG, PNG, GIF or WebP file";
            Some(("invalid_image", detail.to_owned()))
        }
        "file" => file_problem(&part["file"]),
        _ => None,
    }
}

/// The guide "Images and vision" lists the types.
fn is_image(url: &str) -> bool {
    let lower = url.to_lowercase();
    let data = ["jpeg", "png", "gif", "webp"].map(|kind| format!("data:image/{kind};base64,"));
    data.iter().any(|prefix| lower.starts_with(prefix)) || is_fetched(url, &["https", "http"])
}

fn file_problem(file: &Value) -> Option<Problem> {
    if let Some(data) = file["file_data"].as_str() {
        // The guide "PDF files" has both in each example.
        return if !file["filename"].is_string() {
            Some(("unnamed_file", "a file has no name".to_owned()))
        } else if !data.starts_with("data:application/pdf;base64,") {
            Some(("invalid_file", "a file is not a PDF file".to_owned()))
        } else {
            None
        };
    }
    let is_foreign = file["file_id"].as_str().is_some_and(|id| id.starts_with("file_01"));
    is_foreign.then(|| ("foreign_file", "the id of a file is of another provider".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(message: Value) -> Vec<&'static str> {
        violations(&[message]).into_iter().map(|violation| violation.rule).collect()
    }

    fn user(part: &Value) -> Value {
        json!({"role": "user", "content": [part]})
    }

    #[test]
    fn media_are_checked() {
        let image = |url: &str| user(&json!({"type": "image_url", "image_url": {"url": url}}));
        for url in ["https://example.org/a", "http://example.org/a.png", "data:image/png;base64,"] {
            assert_eq!(rules(image(url)), [] as [&str; 0], "{url}");
        }
        for url in ["blob:https://example.org/1", "/uploads/a.png", "file:///a.png", ""] {
            assert_eq!(rules(image(url)), ["invalid_image"], "{url}");
        }
        for url in ["https://example.org/a.svg?b", "data:image/svg+xml;base64,PHN2Zz4="] {
            assert_eq!(rules(image(url)), ["invalid_image"], "{url}");
        }
        let file = |file: Value| user(&json!({"type": "file", "file": file}));
        let pdf = "data:application/pdf;base64,JVBE";
        assert!(rules(file(json!({"file_data": pdf, "filename": "a.pdf"}))).is_empty());
        assert_eq!(rules(file(json!({"file_data": pdf}))), ["unnamed_file"]);
        let text = json!({"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"});
        assert_eq!(rules(file(text)), ["invalid_file"]);
        assert_eq!(rules(file(json!({"file_id": "file_011abc"}))), ["foreign_file"]);
        assert!(rules(file(json!({"file_id": "file-abc"}))).is_empty());
    }

    #[test]
    fn calls_are_checked() {
        let call =
            |arguments: &str| json!({"id": "a", "function": {"name": "f", "arguments": arguments}});
        for arguments in ["", "[1]", r#"{"city": "#] {
            let message = json!({"role": "assistant", "tool_calls": [call(arguments)]});
            assert_eq!(rules(message), ["invalid_arguments"], "{arguments}");
        }
        let many =
            |count: usize| json!({"role": "assistant", "tool_calls": vec![call("{}"); count]});
        assert!(rules(many(128)).is_empty());
        assert_eq!(rules(many(129)), ["too_many_calls"]);
    }
}

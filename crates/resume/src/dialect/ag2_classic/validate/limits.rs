use serde_json::Value;

use crate::dialect::checks::{holds_object, is_fetched};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns what an interface like that of `OpenAI` refuses, to which AG2 sends the messages.
pub(in crate::dialect::ag2_classic) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, problems(message));
    }
    violations.into_sorted()
}

fn problems(message: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if calls.len() > 128 {
        problems.push(("too_many_calls", "there are more than 128 calls".to_owned()));
    }
    if !calls.iter().all(|call| holds_object(&call["function"]["arguments"])) {
        let detail = "the arguments of a call are not the text of a JSON object";
        problems.push(("invalid_arguments", detail.to_owned()));
    }
    let mut parts = message["content"].as_array().into_iter().flatten();
    if parts.any(|part| part["image_url"]["url"].as_str().is_some_and(|url| !is_image(url))) {
        let detail = "an image is neither at a web address nor inline data";
        problems.push(("invalid_image", detail.to_owned()));
    }
    problems
}

fn is_image(url: &str) -> bool {
    let lower = url.to_lowercase();
    let is_inline = lower.starts_with("data:image/") && !lower.starts_with("data:image/svg");
    is_inline || is_fetched(url, &["https", "http"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_and_images_are_checked() {
        let call = |arguments: &str| json!({"id": "a", "function": {"arguments": arguments}});
        let image = |url: &str| json!([{"type": "image_url", "image_url": {"url": url}}]);
        let cases = [
            (json!({"tool_calls": vec![call("{}"); 129]}), "too_many_calls"),
            (json!({"tool_calls": [call("[1]")]}), "invalid_arguments"),
            (json!({"content": image("blob:1")}), "invalid_image"),
            (json!({"content": image("https://example.org/a.svg")}), "invalid_image"),
        ];
        for (message, rule) in cases {
            assert_eq!(violations(&[message])[0].rule, rule);
        }
        let good = json!({"content": image("https://example.org/a"), "tool_calls": [call("{}")]});
        assert_eq!(violations(&[good]), []);
    }
}

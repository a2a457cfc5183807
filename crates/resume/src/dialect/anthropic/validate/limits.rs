use serde_json::Value;

use crate::dialect::checks::is_fetched;
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns what the API refuses although its schema allows it, ordered by position.
pub(in crate::dialect::anthropic) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    if messages.is_empty() {
        violations.push(Violation::new(0, "no_messages", "there are no messages"));
    }
    let mut role = &Value::Null;
    for (index, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let problems = blocks.iter().filter_map(block_problem);
        violations.report(index, problems);
        // The API joins the messages, and knows the signed blocks of one response only.
        if message["role"] == "assistant" && *role == "assistant" && blocks.iter().any(is_thinking)
        {
            let detail = "the thinking follows another message of the assistant";
            violations.push(Violation::new(index, "late_thinking", detail));
        }
        if blocks.last().is_some_and(is_thinking) {
            let detail = "the last block of the message is thinking";
            violations.push(Violation::new(index, "last_block_thinking", detail));
        }
        role = &message["role"];
    }
    violations.into_sorted()
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

fn block_problem(block: &Value) -> Option<Problem> {
    match block["type"].as_str()? {
        "image" | "document" => source_problem(&block["source"]),
        "tool_result" => result_problem(block),
        _ => None,
    }
}

fn source_problem(source: &Value) -> Option<Problem> {
    match source["type"].as_str()? {
        "url" => {
            let valid = is_fetched(source["url"].as_str().unwrap_or_default(), &["https"]);
            (!valid).then(|| ("invalid_url", "a URL is not one that the API fetches".to_owned()))
        }
        "file" if source["file_id"].as_str().is_some_and(|id| id.starts_with("file-")) => {
            Some(("foreign_file", "the id of a file is of another provider".to_owned()))
        }
        _ => None,
    }
}

/// A failed call has text only: vellum-ai/vellum-assistant#18387.
fn result_problem(block: &Value) -> Option<Problem> {
    let parts = block["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    if block["is_error"] == true && parts.iter().any(|part| part["type"] != "text") {
        let detail = "the result of a failed call holds something other than text";
        return Some(("media_in_error", detail.to_owned()));
    }
    parts.iter().find_map(block_problem)
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
    fn sources_are_checked() {
        let image = |source: Value| json!({"type": "image", "source": source});
        let url = |url: &str| image(json!({"type": "url", "url": url}));
        let file = |id: &str| image(json!({"type": "file", "file_id": id}));
        let cases = [
            (url("https://example.org/a.png"), None),
            (url("http://example.org/a.png"), Some("invalid_url")),
            (url("https://example.org/a.svg"), Some("invalid_url")),
            (url("blob:1"), Some("invalid_url")),
            (file("file_011abc"), None),
            (file("file-abc"), Some("foreign_file")),
        ];
        for (block, rule) in cases {
            let expected: Vec<_> = rule.map(|rule| (0, rule)).into_iter().collect();
            assert_eq!(rules(&json!([{"role": "user", "content": [block]}])), expected, "{block}");
            let failed = json!({"type": "tool_result", "tool_use_id": "a", "is_error": true,
                "content": [block]});
            let found = rules(&json!([{"role": "user", "content": [failed]}]));
            assert_eq!(found, [(0, "media_in_error")]);
        }
        assert_eq!(rules(&json!([])), [(0, "no_messages")]);
    }

    #[test]
    fn thinking_belongs_to_one_response() {
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
        let text = json!({"type": "text", "text": "x"});
        let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
        let agent = |blocks: &[&Value]| json!({"role": "assistant", "content": blocks});
        let interleaved = agent(&[&thinking, &text, &thinking, &call]);
        assert_eq!(rules(&json!([interleaved])), []);
        let found = rules(&json!([agent(&[&text]), interleaved]));
        assert_eq!(found, [(1, "late_thinking")]);
        assert_eq!(rules(&json!([agent(&[&text, &thinking])])), [(0, "last_block_thinking")]);
    }
}

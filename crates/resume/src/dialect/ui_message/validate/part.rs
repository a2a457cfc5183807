use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns the problem of a part, if it has one.
pub(super) fn problem(part: &Value) -> Option<Problem> {
    let kind = part["type"].as_str().unwrap_or_default();
    let needed: &[&str] = match kind {
        // The tool part of version 4 of the SDK.
        "tool-invocation" => return Some(unknown_part(part)),
        "text" | "reasoning" | "steering-message" => &["text"],
        "file" | "reasoning-file" => &["mediaType", "url"],
        "source-url" => &["sourceId", "url"],
        "source-document" => &["sourceId", "mediaType", "title"],
        "custom" => &["kind"],
        "step-start" => &[],
        "dynamic-tool" => return tool_problem(part, part["toolName"].is_string()),
        _ if kind.starts_with("tool-") => return tool_problem(part, true),
        _ if kind.starts_with("data-") => &[],
        _ => return Some(unknown_part(part)),
    };
    let missing = needed.iter().find(|field| !part[**field].is_string())?;
    Some(("invalid_part", format!("the part {kind:?} has no {missing}")))
}

fn unknown_part(part: &Value) -> Problem {
    ("unknown_part", format!("the dialect has no part of the type {}", part["type"]))
}

fn tool_problem(part: &Value, is_named: bool) -> Option<Problem> {
    let has_input = part.get("input").is_some();
    let is_complete = match part["state"].as_str() {
        Some("output-available") => {
            has_input && part.get("output").is_some() && part.get("errorText").is_none()
        }
        Some("output-error") => part["errorText"].is_string() && part.get("output").is_none(),
        Some("output-denied") => has_input && part["approval"]["approved"] == false,
        Some(
            state @ ("input-streaming" | "input-available" | "approval-requested"
            | "approval-responded"),
        ) => {
            return Some((
                "missing_result",
                format!("the call has no result: its state is {state}"),
            ));
        }
        _ => false,
    };
    let valid = is_named && part["toolCallId"].is_string() && is_complete;
    let detail = || "the call lacks an id, a name or the fields of its state".to_owned();
    (!valid).then(|| ("invalid_tool", detail()))
}

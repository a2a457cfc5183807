use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns what is wrong with a part.
pub(super) fn problem(part: &Value) -> Option<Problem> {
    let kind = part["type"].as_str().unwrap_or_default();
    let needed: &[&str] = match kind {
        // The shape of version 4.
        "tool-invocation" => return Some(unknown(part)),
        "text" | "reasoning" | "steering-message" => &["text"],
        "file" | "reasoning-file" => &["mediaType", "url"],
        "source-url" => &["sourceId", "url"],
        "source-document" => &["sourceId", "mediaType", "title"],
        "custom" => &["kind"],
        "step-start" => &[],
        "dynamic-tool" => return tool(part, part["toolName"].is_string()),
        _ if kind.starts_with("tool-") => return tool(part, true),
        _ if kind.starts_with("data-") => &[],
        _ => return Some(unknown(part)),
    };
    let missing = needed.iter().find(|field| !part[**field].is_string())?;
    Some(("invalid_part", format!("the part {kind:?} has no {missing}")))
}

fn unknown(part: &Value) -> Problem {
    ("unknown_part", format!("the form has no part {}", part["type"]))
}

fn tool(part: &Value, is_named: bool) -> Option<Problem> {
    let has_input = part.get("input").is_some();
    let whole = match part["state"].as_str() {
        Some("output-available") => {
            has_input && part.get("output").is_some() && part.get("errorText").is_none()
        }
        Some("output-error") => part["errorText"].is_string() && part.get("output").is_none(),
        Some("output-denied") => has_input && part["approval"]["approved"] == false,
        Some(
            state @ ("input-streaming" | "input-available" | "approval-requested"
            | "approval-responded"),
        ) => {
            return Some(("missing_result", format!("the call is left in the state {state}")));
        }
        _ => false,
    };
    let valid = is_named && part["toolCallId"].is_string() && whole;
    let detail = || "the call has no id, no name or not what its state says".to_owned();
    (!valid).then(|| ("invalid_tool", detail()))
}

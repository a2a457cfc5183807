use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns the problem of a part, if it has one.
pub(super) fn problem(part: &Value) -> Option<Problem> {
    let kind = part["type"].as_str().unwrap_or_default();
    let needed: &[&str] = match kind {
        // The tool part of version 4 of the SDK.
        "tool-invocation" => return Some(unknown_part(part)),
        "text" | "reasoning" => &["text"],
        "steering-message" => &["id"],
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

/// Returns the problem of a part whose call has no result.
pub(super) fn waiting_problem(part: &Value) -> Option<Problem> {
    let kind = part["type"].as_str()?;
    let is_tool = kind == "dynamic-tool" || kind.starts_with("tool-");
    let state = part["state"].as_str().filter(|_| is_tool)?;
    let waits = state.starts_with("input-") || state.starts_with("approval-");
    waits.then(|| ("missing_result", format!("the call has no result: its state is {state}")))
}

fn tool_problem(part: &Value, is_named: bool) -> Option<Problem> {
    let has_input = part.get("input").is_some();
    let approval = &part["approval"];
    // The answer to a request for approval may have gone to the agent alone.
    let may_be_approved = approval["approved"] != false;
    let is_complete = match part["state"].as_str() {
        Some("output-available") => {
            let has_error = part.get("errorText").is_some();
            has_input && part.get("output").is_some() && !has_error && may_be_approved
        }
        Some("output-error") => {
            part["errorText"].is_string() && part.get("output").is_none() && may_be_approved
        }
        Some("output-denied") => has_input && approval["approved"] == false,
        Some("input-streaming") => approval.is_null(),
        Some("input-available") => has_input && approval.is_null(),
        Some("approval-requested") => {
            has_input && approval["id"].is_string() && approval.get("approved").is_none()
        }
        Some("approval-responded") => {
            has_input && approval["id"].is_string() && approval["approved"].is_boolean()
        }
        _ => false,
    };
    let valid = is_named && part["toolCallId"].is_string() && is_complete;
    let detail = || "the call lacks an id, a name or the fields of its state".to_owned();
    (!valid).then(|| ("invalid_tool", detail()))
}

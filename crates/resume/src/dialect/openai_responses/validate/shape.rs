use serde_json::{Value, json};

use crate::canonical::are_parts;
use crate::dialect::checks::name_problem;
use crate::dialect::openai_responses::items::OUTPUT;
use crate::dialect::violation::Problem;

/// The types of the calls that the client answers.
pub(super) const CALLS: [&str; 6] = [
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
];

/// The items of tools that the API runs itself, which have an id.
const HOSTED: [&str; 9] = [
    "code_interpreter_call",
    "file_search_call",
    "image_generation_call",
    "mcp_approval_request",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "web_search_call",
];

/// Returns the problems of one item, without regard to other items.
pub(super) fn problems(item: &Value) -> Vec<Problem> {
    if !item.is_object() {
        return vec![("not_an_object", "the item is not a JSON object".to_owned())];
    }
    let role = item["role"].as_str();
    let kind = item["type"].as_str().or_else(|| role.and(Some("message"))).unwrap_or_default();
    let found = match kind {
        "message" => message_problem(item, role.unwrap_or_default()),
        "reasoning" => reasoning_problem(item),
        _ if CALLS.contains(&kind) => call_problem(item, kind),
        _ if is_output(kind) => output_problem(item, kind),
        _ if HOSTED.contains(&kind) => missing(item, "id"),
        // They name what the provider has, or tell it what to do from there on, and are in `dropped`.
        "item_reference" => missing(item, "id"),
        "additional_tools" | "compaction_trigger" | "configuration_update" => None,
        "" if is_reference(item) => None,
        "compaction" => missing(item, "encrypted_content"),
        "mcp_approval_response" => missing(item, "approval_request_id"),
        // Agents of the API that work together; `openai` 3.57 has them among its beta types.
        "agent_message" => missing(item, "author"),
        "multi_agent_call" | "multi_agent_call_output" => missing(item, "call_id"),
        "tool_search_call" if item.get("arguments").is_some() => None,
        "tool_search_output" if item["tools"].is_array() => None,
        _ => Some(("unknown_item", format!("the dialect has no item of type {}", item["type"]))),
    };
    found.into_iter().chain(field_problem(item)).chain(id_problem(item, kind)).collect()
}

/// Returns whether an item names another one by its id: the API does not require the type of a reference.
pub(in crate::dialect::openai_responses) fn is_reference(item: &Value) -> bool {
    let fields = item.as_object().into_iter().flatten();
    let mut others = fields.filter(|(field, value)| *field != "id" && !value.is_null());
    item["id"].is_string() && others.next().is_none()
}

fn is_output(kind: &str) -> bool {
    kind.strip_suffix("_output").is_some_and(|call| CALLS.contains(&call))
}

fn missing(item: &Value, field: &str) -> Option<Problem> {
    let detail = || format!("the item has no {field}");
    (!item[field].is_string()).then(|| ("invalid_item", detail()))
}

fn message_problem(item: &Value, role: &str) -> Option<Problem> {
    if !["user", "assistant", "system", "developer"].contains(&role) {
        return Some(("unknown_role", format!("the dialect has no role {role:?}")));
    }
    let valid = match &item["content"] {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(|part| is_part(role, part)),
        _ => false,
    };
    if item["content"].is_null() {
        return Some(("missing_content", format!("the role {role} needs a content")));
    }
    if !valid && item["content"].as_array().is_some_and(|parts| are_parts(parts)) {
        return Some(("unknown_block", format!("the role {role} has no such content part")));
    }
    let detail = || format!("the role {role} cannot have this content");
    (!valid).then(|| ("invalid_content", detail()))
}

fn is_part(role: &str, part: &Value) -> bool {
    let has_text = |field: &str| part[field].is_string();
    let is_input = role != "assistant";
    match part["type"].as_str().unwrap_or_default() {
        "input_text" if is_input => has_text("text"),
        "output_text" if !is_input => has_text("text"),
        "refusal" if !is_input => has_text("refusal"),
        "input_image" if role == "user" => has_text("image_url") || has_text("file_id"),
        "input_file" if role == "user" => {
            ["file_data", "file_id", "file_url"].into_iter().any(has_text)
        }
        _ => false,
    }
}

fn reasoning_problem(item: &Value) -> Option<Problem> {
    let is_known = item["id"].is_string() || item["encrypted_content"].is_string();
    let detail = || "the reasoning has no summary, or neither id nor encrypted content".to_owned();
    (!is_known || !item["summary"].is_array()).then(|| ("invalid_reasoning", detail()))
}

fn call_problem(item: &Value, kind: &str) -> Option<Problem> {
    let is_named = item["name"].as_str().is_some_and(|name| !name.is_empty());
    let has_input = match kind {
        "function_call" => is_named && item["arguments"].is_string(),
        "custom_tool_call" => is_named && item["input"].is_string(),
        "apply_patch_call" => item["operation"].is_object(),
        "computer_call" => item["pending_safety_checks"].is_array(),
        _ => item["action"].is_object(),
    };
    let has_id = item["call_id"].as_str().is_some_and(|id| !id.is_empty());
    if !has_id || !has_input {
        return Some(("invalid_call", "the call lacks an id, a name or its input".to_owned()));
    }
    name_problem(item)
}

fn output_problem(item: &Value, kind: &str) -> Option<Problem> {
    let id = if kind == "local_shell_call_output" { "id" } else { "call_id" };
    let may_lack_id = kind == OUTPUT && item[id].is_null();
    if !may_lack_id && item[id].as_str().is_none_or(str::is_empty) {
        return Some(("missing_call_id", "the output has no call id".to_owned()));
    }
    let output = &item["output"];
    let valid = match kind {
        "local_shell_call_output" => output.is_string(),
        "shell_call_output" => output.is_array(),
        "computer_call_output" => output.is_object(),
        "apply_patch_call_output" => item["status"] == "completed" || item["status"] == "failed",
        _ => {
            let parts = output.as_array();
            output.is_string()
                || parts.is_some_and(|parts| parts.iter().all(|part| is_part("user", part)))
        }
    };
    let detail = || "the output is neither text nor a list of content parts".to_owned();
    (!valid).then(|| ("invalid_content", detail()))
}

/// The length of the longest call id, in characters.
const MAX_ID_CHARS: usize = 64;

fn id_problem(item: &Value, kind: &str) -> Option<Problem> {
    let id = item["call_id"].as_str().filter(|_| CALLS.contains(&kind))?;
    let detail = || format!("the call id has more than {MAX_ID_CHARS} characters");
    (id.chars().count() > MAX_ID_CHARS).then(|| ("long_call_id", detail()))
}

fn field_problem(item: &Value) -> Option<Problem> {
    let known_phases = [json!(null), json!("commentary"), json!("final_answer")];
    if !known_phases.contains(&item["phase"]) {
        return Some(("invalid_field", format!("there is no phase {}", item["phase"])));
    }
    let is_id = item["id"].is_string() || item["id"].is_null();
    (!is_id).then(|| ("invalid_field", "the id is not text".to_owned()))
}

//! Tools that a provider runs itself: in the form that the library has for all of them, and in that of the provider.

use serde_json::{Value, json};

/// The types of a call and of its result.
const CALL: &str = "server_tool_call";
const RESULT: &str = "server_tool_result";

/// Takes a block of Anthropic out of a call or a result; its payload is left null there.
pub(super) fn take_of_anthropic(block: &mut Value) -> Option<Value> {
    let text = |place: &str| block.pointer(place)?.as_str().map(str::to_owned);
    if block["type"] == RESULT {
        let kind = text("/extras/block_type").filter(|kind| kind.ends_with("_tool_result"))?;
        let mut part = json!({"type": kind, "tool_use_id": text("/tool_call_id")?});
        if kind == "mcp_tool_result" {
            part["is_error"] = (block["status"] == "error").into();
        }
        part["content"] = block.get_mut("output")?.take();
        return Some(part);
    }
    let id = text("/id").filter(|id| id.starts_with("srvtoolu_") || id.starts_with("mcptoolu_"))?;
    let name = text("/name").filter(|_| block["type"] == CALL)?;
    let mut part = match name.as_str() {
        "remote_mcp" => json!({
            "type": "mcp_tool_use", "id": id, "name": text("/extras/tool_name")?,
            "server_name": text("/extras/server_name")?,
        }),
        "code_interpreter" => {
            json!({"type": "server_tool_use", "id": id, "name": "code_execution"})
        }
        name => json!({"type": "server_tool_use", "id": id, "name": name}),
    };
    part["input"] = block.get_mut("args")?.take();
    Some(part)
}

/// Puts the payload of a block of Anthropic back.
pub(super) fn put_back(block: &mut Value, part: &mut Value) {
    for (given, kept) in [("args", "input"), ("output", "content")] {
        if let Some(payload) = block.get_mut(given).filter(|payload| payload.is_null()) {
            *payload = part[kept].take();
        }
    }
}

/// Returns the item of `OpenAI` that a call and its result are.
pub(super) fn item_of_openai(call: &Value, result: &Value) -> Option<Value> {
    let id = call["id"].as_str()?;
    let is_pair = call["type"] == CALL && result["type"] == RESULT && result["tool_call_id"] == id;
    let (kind, prefix) = match call["name"].as_str()? {
        "web_search" => ("web_search_call", "ws_"),
        "file_search" => ("file_search_call", "fs_"),
        "code_interpreter" => ("code_interpreter_call", "ci_"),
        _ => return None,
    };
    if !is_pair || !id.starts_with(prefix) {
        return None;
    }
    let status = match result["status"].as_str() {
        Some("success") => json!("completed"),
        Some("error") => json!("failed"),
        _ => result["extras"]["status"].clone(),
    };
    let container = call.get("container_id").unwrap_or(&call["extras"]["container_id"]);
    let args = &call["args"];
    let fields = match kind {
        // The API refuses the sources, which the result has.
        "web_search_call" => vec![("action", args)],
        "file_search_call" => vec![("queries", &args["queries"]), ("results", &result["output"])],
        _ => vec![
            ("code", &args["code"]),
            ("container_id", container),
            ("outputs", &result["output"]),
        ],
    };
    let mut item = json!({"type": kind, "id": id});
    for (field, value) in fields.into_iter().chain([("status", &status)]) {
        if !value.is_null() {
            item[field] = value.clone();
        }
    }
    Some(item)
}

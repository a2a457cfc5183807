use serde_json::{Map, Value, json};

use crate::canonical::CanonicalMessage;

/// A tool that the API defines and the client runs. Its calls and outputs have item types of their own.
#[derive(Debug)]
pub(super) struct ClientTool {
    /// The type of its calls.
    call: &'static str,
    /// The field that a call must have.
    payload: &'static str,
    /// The type of its outputs.
    pub(super) output: &'static str,
    /// The field of an output that names the call.
    pub(super) output_id: &'static str,
    /// Returns whether a content may be the output.
    pub(super) takes_output: fn(&Value) -> bool,
    /// The name of the function as whose call it is stored.
    pub(super) name: &'static str,
}

const CLIENT_TOOLS: [ClientTool; 4] = [
    ClientTool {
        call: "local_shell_call",
        payload: "action",
        output: "local_shell_call_output",
        output_id: "id",
        takes_output: Value::is_string,
        name: "local_shell",
    },
    ClientTool {
        call: "shell_call",
        payload: "action",
        output: "shell_call_output",
        output_id: "call_id",
        takes_output: Value::is_array,
        name: "shell",
    },
    ClientTool {
        call: "apply_patch_call",
        payload: "operation",
        output: APPLY_PATCH_OUTPUT,
        output_id: "call_id",
        takes_output: |output| output.is_null() || output.is_string(),
        name: "apply_patch",
    },
    ClientTool {
        call: "computer_call",
        payload: "pending_safety_checks",
        output: COMPUTER_OUTPUT,
        output_id: "call_id",
        takes_output: |output| output.is_object() || screenshot_url(output).is_some(),
        name: "computer",
    },
];

const COMPUTER_OUTPUT: &str = "computer_call_output";

/// The type of the picture that the tool `computer` returns.
const SCREENSHOT: &str = "computer_screenshot";

/// Returns the content to store for what a tool returned: other formats know a screenshot as an image.
pub(super) fn read_output(output: Value) -> Value {
    let is_bare = output.as_object().is_some_and(|fields| fields.len() == 2);
    if !is_bare || output["type"] != SCREENSHOT || !output["image_url"].is_string() {
        return output;
    }
    json!([{"type": "image_url", "image_url": {"url": output["image_url"]}}])
}

/// Returns the URL of a stored screenshot.
fn screenshot_url(content: &Value) -> Option<&Value> {
    let [part] = content.as_array()?.as_slice() else { return None };
    let is_bare = part.as_object()?.len() == 2 && part["image_url"].as_object()?.len() == 1;
    part["image_url"].get("url").filter(|url| is_bare && url.is_string())
}

const APPLY_PATCH_OUTPUT: &str = "apply_patch_call_output";

/// The fields of a call that are not part of its arguments, besides the id.
const CALL_FIELDS: [&str; 4] = ["type", "id", "status", "caller"];

impl ClientTool {
    /// Returns the tool whose calls have this type.
    pub(super) fn of_call(kind: &Value) -> Option<&'static Self> {
        CLIENT_TOOLS.iter().find(|tool| kind == tool.call)
    }

    /// Returns the tool whose outputs have this type.
    pub(super) fn of_output(kind: &Value) -> Option<&'static Self> {
        CLIENT_TOOLS.iter().find(|tool| kind == tool.output)
    }

    /// Takes the id of the call that an output answers.
    pub(super) fn take_output_id(&self, output: &mut Map<String, Value>) -> Option<Value> {
        output.remove(self.output_id).or_else(|| output.remove("call_id"))
    }

    /// Returns the arguments of a call, and its other fields, but for its id.
    pub(super) fn split_call(call: Map<String, Value>) -> (Value, Map<String, Value>) {
        let (other, arguments): (Map<_, _>, Map<_, _>) =
            call.into_iter().partition(|(field, _)| CALL_FIELDS.contains(&field.as_str()));
        (arguments.into(), other)
    }

    /// Writes a call of the tool, if the arguments can be those of one.
    pub(super) fn write_call(
        &self,
        id: &str,
        arguments: &Value,
        stored: Map<String, Value>,
    ) -> Option<Value> {
        let arguments: Map<String, Value> = serde_json::from_str(arguments.as_str()?).ok()?;
        arguments.get(self.payload).filter(|it| it.is_object() || it.is_array())?;
        let mut item = json!({"type": self.call, "call_id": id});
        add_stored_fields(&mut item, arguments);
        add_stored_fields(&mut item, stored);
        Some(item)
    }

    /// Writes an output of the tool.
    pub(super) fn write_output(
        &self,
        message: &mut CanonicalMessage,
        stored: Map<String, Value>,
    ) -> Value {
        let mut item = json!({"type": self.output, self.output_id: message.call_id});
        let output = message.content.take();
        if self.output == COMPUTER_OUTPUT
            && let Some(url) = screenshot_url(&output)
        {
            item["output"] = json!({"type": SCREENSHOT, "image_url": url});
        } else if !output.is_null() {
            item["output"] = output;
        }
        add_stored_fields(&mut item, stored);
        if self.output == APPLY_PATCH_OUTPUT && item.get("status").is_none() {
            item["status"] = if message.is_error { "failed" } else { "completed" }.into();
        }
        item
    }
}

/// The items that stay as they are, each with a field that it must have.
///
/// They belong to the answer of the model, except the response to a request for approval.
const KEPT_ITEMS: [(&str, &str); 16] = [
    ("agent_message", "author"),
    ("code_interpreter_call", "id"),
    ("compaction", "encrypted_content"),
    ("file_search_call", "id"),
    ("image_generation_call", "id"),
    ("mcp_approval_request", "id"),
    (APPROVAL_RESPONSE, "approval_request_id"),
    ("mcp_call", "id"),
    ("mcp_list_tools", "id"),
    ("multi_agent_call", "call_id"),
    ("multi_agent_call_output", "call_id"),
    ("program", "id"),
    ("program_output", "id"),
    ("tool_search_call", "arguments"),
    ("tool_search_output", "tools"),
    ("web_search_call", "id"),
];

/// The item with which a user allows or refuses a call.
const APPROVAL_RESPONSE: &str = "mcp_approval_response";

/// The output of a function. It need not name its call.
pub(super) const OUTPUT: &str = "function_call_output";

/// Returns the role to which an item belongs that stays as it is.
pub(super) fn kept_item_role(item: &Value) -> Option<&'static str> {
    let kind = item["type"].as_str()?;
    if kind == OUTPUT {
        // Nothing tells which call it answers.
        let is_alone =
            item["call_id"].is_null() && (item["output"].is_string() || item["output"].is_array());
        return is_alone.then_some("user");
    }
    let (_, required) = KEPT_ITEMS.iter().find(|(known, _)| *known == kind)?;
    let fits = match *required {
        "arguments" => item.get(required).is_some(),
        "tools" => item[required].is_array(),
        _ => item[required].is_string(),
    };
    // Anthropic has blocks of the same type, with the summary beside what it encrypted.
    let is_of_anthropic = kind == "compaction" && item.get("content").is_some();
    if !fits || is_of_anthropic {
        return None;
    }
    Some(if kind == APPROVAL_RESPONSE { "user" } else { "assistant" })
}

/// Adds the stored fields that only this format has, unless the item has them already.
///
/// They may have been stored by anyone, so fields with a value that the API refuses are omitted.
pub(super) fn add_stored_fields(item: &mut Value, stored: Map<String, Value>) {
    for (field, value) in stored {
        if field != "type" && item.get(&field).is_none() && fits(&field, &value) {
            item[field] = value;
        }
    }
}

fn fits(field: &str, value: &Value) -> bool {
    let is_one_of = |known: &[&str]| value.as_str().is_some_and(|text| known.contains(&text));
    match field {
        "status" => is_one_of(&["in_progress", "completed", "incomplete", "failed"]),
        "phase" => is_one_of(&["commentary", "final_answer"]),
        "id" | "namespace" | "encrypted_content" => value.is_string(),
        _ => true,
    }
}

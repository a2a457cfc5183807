use serde_json::{Value, json};

use super::message::PartialMessage;
use super::tool::{ToolOutput, ToolPart};
use crate::canonical::take_field;

/// Applies a chunk of a UI message stream, or returns what is wrong with it.
pub(super) fn apply(
    messages: &mut Vec<PartialMessage>,
    mut chunk: Value,
) -> Result<(), &'static str> {
    if messages.is_empty() {
        messages.push(PartialMessage::new("assistant"));
    }
    let Some(message) = messages.last_mut() else { return Ok(()) };
    let kind = chunk["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "start" => {
            if let Some(id) = chunk["messageId"].as_str() {
                id.clone_into(&mut message.id);
            }
            merge_metadata(message, &mut chunk);
        }
        "message-metadata" | "finish" => merge_metadata(message, &mut chunk),
        "start-step" => message.begin_step(),
        "reset-step" => message.reset_step(),
        "finish-step" | "abort" | "error" => {}
        "source-url" | "source-document" | "file" | "reasoning-file" | "custom"
        | "steering-message" => message.add(chunk),
        _ if kind.starts_with("data-") => apply_data(message, &kind, chunk),
        _ if kind.starts_with("tool-") => apply_to_tool(message, &kind, chunk)?,
        _ => apply_to_text(message, &kind, &chunk)?,
    }
    Ok(())
}

fn merge_metadata(message: &mut PartialMessage, chunk: &mut Value) {
    merge(&mut message.metadata, take_field(chunk, "messageMetadata"));
}

/// Adds to a value what a later one has; the fields of objects are added one by one.
fn merge(value: &mut Value, later: Value) {
    match (value, later) {
        (_, Value::Null) => {}
        (Value::Object(fields), Value::Object(later)) => {
            for (field, later) in later {
                merge(fields.entry(field).or_insert(Value::Null), later);
            }
        }
        (value, later) => *value = later,
    }
}

/// Adds data, or replaces the data with the same type and id; transient data is only for display.
fn apply_data(message: &mut PartialMessage, kind: &str, chunk: Value) {
    if chunk["transient"] == true {
        return;
    }
    match chunk.get("id").cloned() {
        Some(id) => message.put_data(kind, &id, chunk),
        None => message.add(chunk),
    }
}

/// Applies a chunk of a text or a reasoning, such as `text-delta`.
fn apply_to_text(
    message: &mut PartialMessage,
    kind: &str,
    chunk: &Value,
) -> Result<(), &'static str> {
    let (part_kind, event) = match kind.split_once('-') {
        Some(("text", event)) => ("text", event),
        Some(("reasoning", event)) => ("reasoning", event),
        _ => return Err("the type is unknown"),
    };
    let id = chunk["id"].as_str().ok_or("the id is missing")?;
    match event {
        "start" => message.begin(part_kind, id),
        "delta" => message.append_text(
            part_kind,
            id,
            chunk["delta"].as_str().ok_or("the delta is missing")?,
        ),
        "end" => {}
        _ => return Err("the type is unknown"),
    }
    // Any chunk may have the signature, which applies to the whole part; the last one has the citations.
    for field in ["providerMetadata", "citations"] {
        if let Some(value) = chunk.get(field).filter(|value| !value.is_null())
            && let Some(part) = message.open_part(part_kind, id)
        {
            part[field] = value.clone();
        }
    }
    if event == "end" {
        message.end(part_kind, id);
    }
    Ok(())
}

fn apply_to_tool(
    message: &mut PartialMessage,
    kind: &str,
    mut chunk: Value,
) -> Result<(), &'static str> {
    if kind == "tool-approval-response" {
        return apply_approval(message, &chunk);
    }
    let call_id = chunk["toolCallId"].as_str().ok_or("the call id is missing")?.to_owned();
    // A later step may give its calls the ids of an earlier one.
    let begins = kind.starts_with("tool-input-") && !message.has_tool_in_step(&call_id);
    if begins || message.tool(&call_id).is_none() {
        let name = chunk["toolName"].as_str().ok_or("no earlier chunk begins the call")?;
        message.add_tool(ToolPart::new(&call_id, name, chunk["dynamic"] == true));
    }
    let Some(tool) = message.tool(&call_id) else { return Ok(()) };
    tool.copy_common_fields(kind, &chunk);
    match kind {
        "tool-input-start" => tool.set_encoding(&chunk["inputEncoding"]),
        "tool-input-delta" => {
            tool.append_input(chunk["inputTextDelta"].as_str().ok_or("the delta is missing")?);
        }
        "tool-input-available" => tool.set_input(take_field(&mut chunk, "input")),
        "tool-input-error" => {
            tool.set_input(take_field(&mut chunk, "input"));
            tool.end(ToolOutput::Failed(take_field(&mut chunk, "errorText")));
        }
        "tool-approval-request" => {
            tool.set_approval(approval_request(&chunk));
        }
        "tool-output-available" => {
            let is_preliminary = chunk["preliminary"] == true;
            tool.end(ToolOutput::Available {
                value: take_field(&mut chunk, "output"),
                is_preliminary,
            });
        }
        "tool-output-error" => tool.end(ToolOutput::Failed(take_field(&mut chunk, "errorText"))),
        "tool-output-denied" => tool.end(ToolOutput::Denied),
        _ => return Err("the type is unknown"),
    }
    Ok(())
}

/// The fields of a request for an approval, and how its chunk names them.
pub(super) const APPROVAL_FIELDS: [(&str, &str); 5] = [
    ("descriptor", "approvalDescriptor"),
    ("inputSchemaInput", "inputSchemaInput"),
    ("requestReason", "reason"),
    ("isAutomatic", "isAutomatic"),
    ("signature", "signature"),
];

/// Returns the request for an approval that a chunk holds.
fn approval_request(chunk: &Value) -> Value {
    let mut approval = json!({"id": chunk["approvalId"]});
    for (field, of_chunk) in APPROVAL_FIELDS {
        if let Some(value) = chunk.get(of_chunk).filter(|value| !value.is_null()) {
            approval[field] = value.clone();
        }
    }
    approval
}

/// Applies the answer to a request for approval, which the chunk names.
fn apply_approval(message: &mut PartialMessage, chunk: &Value) -> Result<(), &'static str> {
    let waits_for_it =
        |tool: &&mut ToolPart| tool.approval().is_some_and(|it| it["id"] == chunk["approvalId"]);
    let tool = message.tools().find(waits_for_it).ok_or("no call waits for this approval")?;
    let mut approval = tool.approval().cloned().unwrap_or_default();
    for field in ["approved", "reason"] {
        if let Some(value) = chunk.get(field).filter(|value| !value.is_null()) {
            approval[field] = value.clone();
        }
    }
    tool.copy_common_fields("tool-approval-response", chunk);
    tool.set_approval(approval);
    Ok(())
}

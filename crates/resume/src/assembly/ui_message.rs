use serde_json::{Value, json};

use super::message::Message;
use super::tool::{Output, Tool};
use crate::canonical::taken;

/// Adds a chunk of a UI message stream; says what is wrong with one that is none.
pub(super) fn add(messages: &mut Vec<Message>, mut chunk: Value) -> Result<(), &'static str> {
    if messages.is_empty() {
        messages.push(Message::new("assistant"));
    }
    let Some(message) = messages.last_mut() else { return Ok(()) };
    let kind = chunk["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "start" => {
            if let Some(id) = chunk["messageId"].as_str() {
                id.clone_into(&mut message.id);
            }
            merge(message, &mut chunk);
        }
        "message-metadata" | "finish" => merge(message, &mut chunk),
        "start-step" => message.add(json!({"type": "step-start"})),
        "reset-step" => message.reset_step(),
        "finish-step" | "abort" | "error" => {}
        "source-url" | "source-document" | "file" | "reasoning-file" | "custom" => {
            message.add(chunk);
        }
        _ if kind.starts_with("data-") => data(message, &kind, chunk),
        _ if kind.starts_with("tool-") => tool(message, &kind, chunk)?,
        _ => text(message, &kind, &chunk)?,
    }
    Ok(())
}

fn merge(message: &mut Message, chunk: &mut Value) {
    if let Value::Object(metadata) = taken(chunk, "messageMetadata") {
        message.metadata.extend(metadata);
    }
}

/// Adds data, which may come again to take the place of what came before; some is only to be seen.
fn data(message: &mut Message, kind: &str, chunk: Value) {
    if chunk["transient"] == true {
        return;
    }
    match chunk.get("id").cloned() {
        Some(id) => message.put_data(kind, &id, chunk),
        None => message.add(chunk),
    }
}

fn text(message: &mut Message, kind: &str, chunk: &Value) -> Result<(), &'static str> {
    let (of, what) = match kind.split_once('-') {
        Some(("text", what)) => ("text", what),
        Some(("reasoning", what)) => ("reasoning", what),
        _ => return Err("its type is not known"),
    };
    let id = chunk["id"].as_str().ok_or("it has no id")?;
    match what {
        "start" => message.begin(of, id),
        "delta" => message.extend(of, id, chunk["delta"].as_str().ok_or("it has no delta")?),
        "end" => {}
        _ => return Err("its type is not known"),
    }
    // A signature comes with any of them, and counts for the whole.
    if let Some(metadata) = chunk.get("providerMetadata")
        && let Some(part) = message.going_on(of, id)
    {
        part["providerMetadata"] = metadata.clone();
    }
    if what == "end" {
        message.end(of, id);
    }
    Ok(())
}

fn tool(message: &mut Message, kind: &str, mut chunk: Value) -> Result<(), &'static str> {
    if kind == "tool-approval-response" {
        return respond(message, &chunk);
    }
    let call_id = chunk["toolCallId"].as_str().ok_or("it has no call id")?.to_owned();
    if message.tool(&call_id).is_none() {
        let name = chunk["toolName"].as_str().ok_or("there is no such call")?;
        message.add_tool(Tool::new(&call_id, name, chunk["dynamic"] == true));
    }
    let Some(tool) = message.tool(&call_id) else { return Ok(()) };
    tool.note(kind, &chunk);
    match kind {
        "tool-input-start" => {}
        "tool-input-delta" => {
            tool.extend_input(chunk["inputTextDelta"].as_str().ok_or("it has no delta")?);
        }
        "tool-input-available" => tool.give_input(taken(&mut chunk, "input")),
        "tool-input-error" => {
            tool.give_input(taken(&mut chunk, "input"));
            tool.end(Output::Failed(taken(&mut chunk, "errorText")));
        }
        "tool-approval-request" => {
            tool.give_approval(json!({"id": chunk["approvalId"]}));
        }
        "tool-output-available" => {
            let is_preliminary = chunk["preliminary"] == true;
            tool.end(Output::Available { value: taken(&mut chunk, "output"), is_preliminary });
        }
        "tool-output-error" => tool.end(Output::Failed(taken(&mut chunk, "errorText"))),
        "tool-output-denied" => tool.end(Output::Denied),
        _ => return Err("its type is not known"),
    }
    Ok(())
}

/// Answers whether a call is allowed; the chunk names what was asked.
fn respond(message: &mut Message, chunk: &Value) -> Result<(), &'static str> {
    let asked =
        |tool: &&mut Tool| tool.approval().is_some_and(|it| it["id"] == chunk["approvalId"]);
    let tool = message.tools().find(asked).ok_or("nothing was asked")?;
    let (id, approved) = (&chunk["approvalId"], &chunk["approved"]);
    tool.give_approval(json!({"id": id, "approved": approved}));
    Ok(())
}

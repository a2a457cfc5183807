//! The chunks that make a message: the inverse of an assembly.

use serde_json::{Value, json};

use crate::canonical::take_field;

/// Returns chunks of which the AI SDK makes a UI message.
///
/// They are not those that it was made of: each text is one delta, and each input is complete. The first one has the id and
/// the metadata of the message.
pub fn chunks_of(mut message: Value) -> Vec<Value> {
    let mut chunks = vec![start(&mut message)];
    if let Value::Array(parts) = take_field(&mut message, "parts") {
        for (at, part) in parts.into_iter().enumerate() {
            add_part(&mut chunks, at, part);
        }
    }
    chunks
}

fn start(message: &mut Value) -> Value {
    let mut start = json!({"type": "start"});
    copy(message, &mut start, [("id", "messageId"), ("metadata", "messageMetadata")]);
    start
}

fn add_part(chunks: &mut Vec<Value>, at: usize, part: Value) {
    let kind = part["type"].as_str().unwrap_or_default().to_owned();
    match kind.as_str() {
        "text" | "reasoning" => chunks.extend(text_chunks(&kind, at, part)),
        "step-start" => chunks.push(json!({"type": "start-step"})),
        _ if kind == "dynamic-tool" || kind.starts_with("tool-") => add_tool(chunks, &kind, part),
        _ => chunks.push(part),
    }
}

/// Returns the chunks of a text or a reasoning.
fn text_chunks(kind: &str, at: usize, mut part: Value) -> [Value; 3] {
    let id = format!("part-{at}");
    let delta = take_field(&mut part, "text");
    let mut end = json!({"type": format!("{kind}-end"), "id": id});
    let fields = ["providerMetadata", "citations"].map(|field| (field, field));
    copy(&mut part, &mut end, fields);
    [
        json!({"type": format!("{kind}-start"), "id": id}),
        json!({"type": format!("{kind}-delta"), "id": id, "delta": delta}),
        end,
    ]
}

fn add_tool(chunks: &mut Vec<Value>, kind: &str, mut part: Value) {
    let name = match kind.strip_prefix("tool-") {
        Some(name) => name.into(),
        None => part["toolName"].clone(),
    };
    let call_id = part["toolCallId"].clone();
    let mut begun = json!({"toolCallId": call_id, "toolName": name});
    if kind == "dynamic-tool" {
        begun["dynamic"] = true.into();
    }
    let common = ["title", "toolMetadata", "providerExecuted"].map(|field| (field, field));
    copy(&mut part, &mut begun, common);
    copy(&mut part, &mut begun, [("callProviderMetadata", "providerMetadata")]);
    let state = part["state"].as_str().unwrap_or_default().to_owned();
    if state == "input-available" {
        begun["type"] = "tool-input-available".into();
        begun["input"] = take_field(&mut part, "input");
        chunks.push(begun);
        return;
    }
    // A page runs its tools when an input is available, and these calls have gone on since.
    begun["type"] = "tool-input-start".into();
    let input = if state == "input-streaming" {
        copy(&mut part, &mut begun, [("inputEncoding", "inputEncoding")]);
        take_field(&mut part, "rawInput")
    } else {
        take_field(&mut part, "input").to_string().into()
    };
    chunks.push(begun);
    if input.is_string() {
        let delta =
            json!({"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": input});
        chunks.push(delta);
    }
    add_approval(chunks, &call_id, take_field(&mut part, "approval"));
    chunks.extend(end_of(&state, &call_id, part));
}

/// Adds the request for an approval, and its answer.
fn add_approval(chunks: &mut Vec<Value>, call_id: &Value, mut approval: Value) {
    if !approval.is_object() {
        return;
    }
    let id = approval["id"].clone();
    let mut request =
        json!({"type": "tool-approval-request", "toolCallId": call_id, "approvalId": id});
    copy(&mut approval, &mut request, super::ui_message::APPROVAL_FIELDS);
    chunks.push(request);
    if approval.get("approved").is_some() {
        let mut answer = json!({"type": "tool-approval-response", "approvalId": id});
        copy(&mut approval, &mut answer, ["approved", "reason"].map(|field| (field, field)));
        chunks.push(answer);
    }
}

/// Returns the chunk that ends a call in a state.
fn end_of(state: &str, call_id: &Value, mut part: Value) -> Option<Value> {
    let mut end = json!({"type": format!("tool-{state}"), "toolCallId": call_id});
    match state {
        "output-available" => {
            end["output"] = take_field(&mut part, "output");
            copy(&mut part, &mut end, [("preliminary", "preliminary")]);
        }
        "output-error" => end["errorText"] = take_field(&mut part, "errorText"),
        "output-denied" => return Some(end),
        _ => return None,
    }
    copy(&mut part, &mut end, [("resultProviderMetadata", "providerMetadata")]);
    Some(end)
}

/// Moves the fields that a value has to another one, under other names.
fn copy<const N: usize>(from: &mut Value, to: &mut Value, fields: [(&str, &str); N]) {
    for (field, name) in fields {
        match take_field(from, field) {
            Value::Null => {}
            value => to[name] = value,
        }
    }
}

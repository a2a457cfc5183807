//! Parsing a rendering gives back the messages, except for the losses that the dialect declares.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{Message, MessageBody};
use resume::Options;
use resume::dialect::{self, Loss};
use serde_json::{Value, json};

use crate::otel_genai;
use crate::transcript::{log, stored_all};

proptest! {
    #[test]
    fn only_the_declared_losses_are_lost(chat in transcript()) {
        for dialect in dialect::all() {
            let rendered = dialect.render(log(&chat), &Options::default());
            let given = rendered.messages.clone();
            let after = if dialect.is_export_only() {
                otel_genai::read_back(&rendered)
            } else {
                stored_all(dialect.parse(rendered.system, rendered.messages).messages)
            };
            let before = log(&chat);
            let losses = dialect.losses();
            prop_assert_eq!(
                said(&after, losses), said(&before, losses),
                "{} gave {:#?}", dialect.name(), given
            );
        }
    }
}

#[test]
fn no_loss_is_declared_twice() {
    for dialect in dialect::all() {
        let losses = dialect.losses();
        for (at, loss) in losses.iter().enumerate() {
            assert!(!losses[..at].contains(loss), "{} loses {loss:?} twice", dialect.name());
        }
    }
}

/// A transcript that every dialect can represent, except for its declared losses.
pub(crate) fn transcript() -> impl Strategy<Value = Vec<Value>> {
    let episode = prop_oneof![
        3 => user().prop_map(|one| vec![one]),
        3 => agent().prop_map(|one| vec![one]),
        3 => exchange(),
        1 => select(vec!["system", "developer"])
            .prop_map(|role| vec![json!({"role": role, "content": "Be brief."})]),
    ];
    vec(episode, 0..8).prop_map(|episodes| number_the_calls(episodes.concat()))
}

fn user() -> impl Strategy<Value = Value> {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    let sound = json!({"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}});
    let file = json!({
        "type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
    });
    let linked = json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}});
    let mut named = image.clone();
    named["filename"] = json!("a.png");
    let text = json!({"type": "text", "text": "look"});
    let contents = vec![
        json!("hi"),
        json!([text, image, linked]),
        json!([text, sound, file]),
        json!([text, named]),
    ];
    (select(contents), name()).prop_map(|(content, name)| with_name("user", name, &content))
}

fn agent() -> impl Strategy<Value = Value> {
    let signed = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let reasoning = option::weighted(0.5, select(vec![json!("hm"), signed]));
    let refusal = option::weighted(0.2, Just(json!("no")));
    (name(), reasoning, refusal).prop_map(|(name, reasoning, refusal)| {
        let mut message = with_name("assistant", name, &json!("hello"));
        for (field, value) in [("reasoning_content", reasoning), ("refusal", refusal)] {
            if let Some(value) = value {
                message[field] = value;
            }
        }
        message
    })
}

fn exchange() -> impl Strategy<Value = Vec<Value>> {
    let custom =
        json!({"id": "", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
    let call = json!({
        "id": "", "type": "function",
        "function": {"name": "look_up", "arguments": r#"{"a":1.5,"b":[null]}"#},
    });
    // The stored form of a call of a custom tool has no signature.
    let mut signed = call.clone();
    signed["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    let calls = vec(select(vec![call, signed, custom]), 1..3);
    let content = select(vec![json!(null), json!("let me see")]);
    (calls, content, name(), any::<bool>()).prop_map(|(calls, content, name, fails)| {
        let mut caller = with_name("assistant", name, &content);
        caller["tool_calls"] = json!(calls);
        let broken = json!({"role": "tool", "tool_responses": [
            {"tool_call_id": "", "content": "broken", "is_error": true},
        ]});
        let done = json!({"role": "tool", "tool_call_id": "", "content": "done"});
        let result = |_| if fails { broken.clone() } else { done.clone() };
        let results: Vec<_> = calls.iter().map(result).collect();
        [vec![caller], results].concat()
    })
}

fn name() -> impl Strategy<Value = Option<&'static str>> {
    option::weighted(0.7, select(vec!["planner", "Bob", "cook"]))
}

fn with_name(role: &str, name: Option<&str>, content: &Value) -> Value {
    let mut message = json!({"role": role, "content": content});
    // The strict form has no speaker without a name.
    message["name"] = json!(name.unwrap_or(role));
    message
}

fn number_the_calls(mut chat: Vec<Value>) -> Vec<Value> {
    let (mut called, mut answered) = (0, 0);
    let id = |count: &mut usize| {
        *count += 1;
        json!(format!("call_{count}"))
    };
    for message in &mut chat {
        for call in
            message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten()
        {
            call["id"] = id(&mut called);
        }
        if let Some(own) = message.get_mut("tool_call_id") {
            *own = id(&mut answered);
        } else if let Some(own) = message.pointer_mut("/tool_responses/0/tool_call_id") {
            *own = id(&mut answered);
        }
    }
    chat
}

/// Returns the parts of a transcript that are not lost.
fn said(messages: &[Message], losses: &[Loss]) -> Vec<Value> {
    let lost = |loss: Loss| losses.contains(&loss);
    let all = messages.iter().map(|message| one(&message.body, losses));
    let mut all = with_reasoning(all.flatten());
    if lost(Loss::Boundaries) {
        all.retain(|message| message["parts"] != json!([{"type": "text", "text": "Continue."}]));
    }
    if lost(Loss::InstructionPlaces) {
        all.sort_by_key(|message| message["role"] != "system");
    }
    if lost(Loss::Boundaries) { merged(all) } else { all }
}

/// Puts reasoning that is a message of its own into the answer that follows it.
fn with_reasoning(all: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for mut message in all {
        let is_alone = |last: &mut Value| {
            let is_empty = |field: &str| items(&last[field]).next().is_none();
            let says_nothing = is_empty("parts") && is_empty("calls") && last["refusal"].is_null();
            last["role"] == "assistant" && says_nothing && !is_empty("reasoning")
        };
        if message["role"] == "assistant"
            && let Some(last) = joined.pop_if(is_alone)
        {
            let (before, own) = (items(&last["reasoning"]), items(&message["reasoning"]));
            message["reasoning"] = before.chain(own).cloned().collect();
        }
        joined.push(message);
    }
    joined
}

fn merged(all: Vec<Value>) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for message in all {
        let joins = ["user", "assistant"].contains(&text(&message["role"]));
        match merged.last_mut().filter(|last| joins && last["role"] == message["role"]) {
            Some(last) => {
                for field in ["parts", "calls", "reasoning"] {
                    last[field] =
                        items(&last[field]).chain(items(&message[field])).cloned().collect();
                }
            }
            None => merged.push(message),
        }
    }
    merged
}

/// Returns the parts of a message, one for each result.
fn one(body: &MessageBody, losses: &[Loss]) -> Vec<Value> {
    let lost = |loss: Loss| losses.contains(&loss);
    let extra = |field: &str| body.extra.get(field).cloned().unwrap_or_default();
    if body.role == "tool" {
        let single = json!([{"tool_call_id": extra("tool_call_id"), "content": body.content}]);
        let results =
            if extra("tool_responses").is_null() { single } else { extra("tool_responses") };
        let result = |it: &Value| {
            let failed = it["is_error"] == true && !lost(Loss::Errors);
            json!({"role": "tool", "id": it["tool_call_id"], "content": it["content"], "failed": failed})
        };
        return if lost(Loss::Calls) { Vec::new() } else { items(&results).map(result).collect() };
    }
    let is_instruction = ["system", "developer"].contains(&&*body.role);
    if is_instruction && lost(Loss::Instructions) {
        return Vec::new();
    }
    let role = if lost(Loss::Developer) && is_instruction { "system" } else { &body.role };
    let mut parts = match &body.content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() && lost(Loss::BlankText) => Vec::new(),
        Value::Array(parts) => parts.clone(),
        other => vec![json!({"type": "text", "text": other})],
    };
    let is_web = |part: &Value| text(&part["image_url"]["url"]).starts_with("http");
    let is_lost = |part: &Value| match part["type"].as_str() {
        Some("text") => false,
        Some("image_url") => lost(Loss::Media) || (lost(Loss::WebMedia) && is_web(part)),
        Some("input_audio") if lost(Loss::Sounds) => true,
        _ => lost(Loss::Media) || lost(Loss::OtherMedia),
    };
    for part in parts.iter_mut().filter(|_| lost(Loss::MediaNames)) {
        part.as_object_mut().map(|part| part.remove("filename"));
    }
    for part in parts.iter_mut().filter(|_| lost(Loss::FileNames)) {
        part.pointer_mut("/file")
            .and_then(Value::as_object_mut)
            .map(|file| file.remove("filename"));
    }
    for part in parts.iter_mut().filter(|part| is_lost(part)) {
        *part = json!({"type": "text", "text": part.to_string()});
    }
    for part in parts.iter_mut().filter(|_| lost(Loss::MediaKinds)) {
        if let Some(url) =
            part.pointer("/image_url/url").filter(|url| text(url).starts_with("http"))
        {
            *part = json!({"type": "file", "file": {"file_url": url}});
        }
    }
    let refusal = extra("refusal");
    if lost(Loss::RefusalMarks) && !refusal.is_null() {
        parts.push(json!({"type": "text", "text": refusal}));
    }
    if lost(Loss::JoinedTexts) && role == "assistant" && parts.len() > 1 {
        let texts: Vec<_> = parts.iter().map(|part| text(&part["text"])).collect();
        parts = vec![json!({"type": "text", "text": texts.join("\n")})];
    }
    let mut name = body.name.clone().filter(|name| *name != body.role);
    if lost(Loss::Names)
        && let Some(name) = name.take()
        && let Some(part) = parts.iter_mut().find(|part| part["type"] == "text")
    {
        part["text"] = json!(format!("{name}: {}", text(&part["text"])));
    }
    if lost(Loss::SilentSpeakers) && parts.is_empty() {
        name = None;
    }
    let calls = extra("tool_calls");
    let calls = items(&calls).enumerate().map(|(at, call)| self::call(at, call, losses));
    let calls: Vec<_> = calls.filter(|_| !lost(Loss::Calls)).collect();
    if lost(Loss::Calls) && parts.is_empty() {
        return Vec::new();
    }
    let reasoning = match extra("reasoning_content") {
        _ if lost(Loss::Reasoning) => json!([]),
        Value::Array(blocks) if lost(Loss::ReasoningSignatures) => {
            blocks.iter().map(|block| block["thinking"].clone()).collect()
        }
        Value::Array(blocks) => json!(blocks),
        Value::String(text) if !lost(Loss::UnsignedReasoning) => json!([text]),
        _ => json!([]),
    };
    let loses_refusal = lost(Loss::Refusals) || lost(Loss::RefusalMarks);
    let refusal = if loses_refusal { Value::Null } else { refusal };
    vec![json!({
        "role": role, "name": name, "parts": parts, "calls": calls, "reasoning": reasoning,
        "refusal": refusal,
    })]
}

fn call(at: usize, call: &Value, losses: &[Loss]) -> Value {
    let lost = |loss: Loss| losses.contains(&loss);
    let arguments = |input: &Value| serde_json::from_str(text(input)).unwrap_or_default();
    let (kind, target, input): (_, _, Value) = if call["type"] == "custom" {
        let target = &call["custom"];
        if lost(Loss::CustomCalls) {
            ("function", target, json!({"input": target["input"]}))
        } else {
            ("custom", target, target["input"].clone())
        }
    } else {
        ("function", &call["function"], arguments(&call["function"]["arguments"]))
    };
    let signature = call.pointer("/extra_content/google/thought_signature");
    // The text with which Gemini skips its check is no signature.
    let signature = signature.filter(|it| *it != "skip_thought_signature_validator");
    let signature = signature
        .filter(|_| !lost(Loss::CallSignatures) && (at == 0 || !lost(Loss::LaterCallSignatures)));
    json!({"id": call["id"], "kind": kind, "name": target["name"], "input": input, "signature": signature})
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

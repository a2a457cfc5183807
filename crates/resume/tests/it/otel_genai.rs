//! The messages of OpenTelemetry's semantic conventions for generative AI, which are for export only.

use records::{Message, MessageBody};
use resume::Options;
use resume::dialect::{self, Dialect, OtelGenAi, Rendered};
use serde_json::{Value, json};

use crate::openai::{call, repaired, result};
use crate::transcript::{log, stored_all};

/// Reads an export back, to compare it with what was exported: the dialect itself has no parser.
pub(crate) fn read_back(exported: &Rendered) -> Vec<Message> {
    let instruction = |part: &Value| MessageBody::new("system", None, part["content"].clone());
    let instructions = exported.system.iter().map(instruction);
    let messages = exported.messages.iter().map(read_message);
    stored_all(instructions.chain(messages).map(Into::into).collect())
}

fn read_message(message: &Value) -> MessageBody {
    let (role, name) = (message["role"].as_str().unwrap_or_default(), message["name"].as_str());
    let (mut content, mut calls, mut thinking) = (Vec::new(), Vec::new(), Vec::new());
    let mut body = MessageBody::new(role, name, Value::Null);
    for part in message["parts"].as_array().into_iter().flatten() {
        match part["type"].as_str().unwrap_or_default() {
            "text" => content.push(json!({"type": "text", "text": part["content"]})),
            "reasoning" => thinking.push(json!({"type": "thinking", "thinking": part["content"]})),
            "tool_call" => {
                let arguments = part["arguments"].to_string();
                let function = json!({"name": part["name"], "arguments": arguments});
                calls.push(json!({"id": part["id"], "type": "function", "function": function}));
            }
            "tool_call_response" => {
                body.content = part["response"].clone();
                body.extra.insert("tool_call_id".to_owned(), part["id"].clone());
            }
            _ => content.push(read_media(part)),
        }
    }
    if !content.is_empty() {
        body.content = content.into();
    }
    for (field, list) in [("tool_calls", calls), ("reasoning_content", thinking)] {
        if !list.is_empty() {
            body.extra.insert(field.to_owned(), list.into());
        }
    }
    body
}

fn read_media(part: &Value) -> Value {
    let text = |field: &str| part[field].as_str().unwrap_or_default();
    let data = format!("data:{};base64,{}", text("mime_type"), text("content"));
    match (text("type"), text("modality")) {
        ("blob", "image") => json!({"type": "image_url", "image_url": {"url": data}}),
        ("blob", "audio") => {
            let format = text("mime_type").trim_start_matches("audio/");
            json!({"type": "input_audio", "input_audio": {"data": text("content"), "format": format}})
        }
        ("blob", _) => json!({"type": "file", "file": {"file_data": data}}),
        ("uri", "image") => json!({"type": "image_url", "image_url": {"url": text("uri")}}),
        _ => panic!("{part} is in no transcript of the tests"),
    }
}

fn render(messages: &[Value]) -> Rendered {
    let rendered = OtelGenAi.render(log(messages), &Options::default());
    assert_eq!(dialect::validate(&OtelGenAi, &rendered.messages), Ok(()));
    rendered
}

fn message(role: &str, parts: &[Value]) -> Value {
    json!({"role": role, "parts": parts})
}

fn text(content: &str) -> Value {
    json!({"type": "text", "content": content})
}

#[test]
fn an_exchange_with_a_tool_is_exported() {
    let mut asks = json!({"role": "assistant", "name": "planner", "content": "Let me see.",
        "reasoning_content": "Which one?", "tool_calls": [call("a")]});
    asks["tool_calls"][0]["function"]["arguments"] = json!(r#"{"city":"Oslo"}"#);
    let mut answer = result("a");
    answer["content"] = json!({"sky": "clear"});
    let chat = [
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "name": "zoe", "content": "Where is it sunny?"}),
        asks,
        answer,
        json!({"role": "developer", "name": "editor", "content": "In English."}),
        json!({"role": "assistant", "content": "In Oslo."}),
    ];
    let rendered = render(&chat);
    let mut user = message("user", &[text("Where is it sunny?")]);
    user["name"] = json!("zoe");
    let name = &chat[2]["tool_calls"][0]["function"]["name"];
    let mut caller = message(
        "assistant",
        &[
            json!({"type": "reasoning", "content": "Which one?"}),
            text("Let me see."),
            json!({"type": "tool_call", "id": "a", "name": name, "arguments": {"city": "Oslo"}}),
        ],
    );
    caller["name"] = json!("planner");
    let response = json!({"type": "tool_call_response", "id": "a", "response": {"sky": "clear"}});
    assert_eq!(
        rendered.messages,
        [user, caller, message("tool", &[response]), message("assistant", &[text("In Oslo.")])]
    );
    assert_eq!(rendered.system, [text("Be brief."), text("editor: In English.")]);
    assert_eq!(repaired(&rendered), [(4, "instruction_hoisted"), (4, "speaker_folded")]);
    assert_eq!(rendered.dropped, []);
}

#[test]
fn media_are_blobs_uris_and_files() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file = |field: &str, value: &str| json!({"type": "file", "file": {field: value}});
    let mut named = file("file_url", "https://example.org/a.pdf");
    named["file"]["filename"] = json!("a.pdf");
    let sound = json!({"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}});
    let mut spoken = sound.clone();
    spoken["filename"] = json!("a.wav");
    let blob = |mime_type: &str, modality: &str, content: &str| json!({"type": "blob", "mime_type": mime_type, "modality": modality, "content": content});
    let uri = |modality: &str, uri: &str| json!({"type": "uri", "modality": modality, "uri": uri});
    let cases = [
        (image("data:image/png;base64,iVBO"), blob("image/png", "image", "iVBO"), &[][..]),
        (image("https://example.org/a.png"), uri("image", "https://example.org/a.png"), &[]),
        (sound, blob("audio/wav", "audio", "UklG"), &[]),
        (spoken, blob("audio/wav", "audio", "UklG"), &["part_fields_removed"]),
        (file("file_data", "data:video/mp4;base64,AAAA"), blob("video/mp4", "video", "AAAA"), &[]),
        (named, uri("document", "https://example.org/a.pdf"), &["part_fields_removed"]),
        (
            file("file_id", "file-1"),
            json!({"type": "file", "modality": "document", "file_id": "file-1"}),
            &[],
        ),
    ];
    for (part, expected, repairs) in cases {
        let rendered = render(&[json!({"role": "user", "content": [part]})]);
        assert_eq!(rendered.messages, [message("user", &[expected])]);
        let found: Vec<_> = repaired(&rendered).into_iter().map(|(_, slug)| slug).collect();
        assert_eq!(found, repairs, "{part}");
        let instruction = render(&[json!({"role": "system", "content": [part]})]);
        assert_eq!(instruction.system, [text(&part.to_string())]);
        assert_eq!(repaired(&instruction), [(0, "part_serialised")]);
    }
}

#[test]
fn reasoning_without_a_text_is_reported() {
    let encrypted = json!({"type": "redacted_thinking", "data": "gAAA"});
    let signed = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln", "position": 1});
    let said =
        json!({"role": "assistant", "content": "Yes.", "reasoning_content": [encrypted, signed]});
    let rendered = render(&[said]);
    let parts = [text("Yes."), json!({"type": "reasoning", "content": "Hm."})];
    assert_eq!(rendered.messages, [message("assistant", &parts)]);
    assert_eq!(repaired(&rendered), [(0, "reasoning_removed")]);
}

#[test]
fn arguments_that_are_no_json_stay_text() {
    let mut broken = call("a");
    broken["function"]["arguments"] = json!(r#"{"city": "#);
    let custom =
        json!({"id": "b", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
    let chat = [
        json!({"role": "assistant", "content": null, "tool_calls": [broken, custom]}),
        result("a"),
        result("b"),
    ];
    let rendered = render(&chat);
    let arguments = |at: usize| &rendered.messages[0]["parts"][at]["arguments"];
    assert_eq!(
        (arguments(0), arguments(1)),
        (&json!(r#"{"city": "#), &json!({"input": "select 1"}))
    );
}

#[test]
fn the_rules_are_checked() {
    let cases = [
        (json!("x"), "not_an_object"),
        (message("system", &[text("x")]), "unknown_role"),
        (message("user", &[]), "invalid_parts"),
        (json!({"role": "user"}), "invalid_parts"),
        (json!({"role": "user", "parts": [text("x")], "name": 1}), "invalid_name"),
        (json!({"role": "user", "parts": [text("x")], "id": "m"}), "unknown_field"),
        (message("user", &[json!("x")]), "invalid_part"),
        (message("user", &[json!({"type": "image"})]), "invalid_part"),
        (message("user", &[json!({"type": "text"})]), "invalid_part"),
        (message("user", &[json!({"type": "text", "content": 1})]), "invalid_part"),
        (message("user", &[json!({"type": "text", "content": "x", "a": 1})]), "unknown_field"),
        (message("user", &[json!({"type": "blob", "content": "iVBO"})]), "invalid_part"),
        (message("user", &[json!({"type": "reasoning", "content": "x"})]), "misplaced_part"),
        (
            message("tool", &[json!({"type": "tool_call_response", "id": "a", "response": 1})]),
            "orphan_result",
        ),
        (
            message("assistant", &[json!({"type": "tool_call", "id": "a", "name": "f"})]),
            "unanswered_call",
        ),
    ];
    for (message, rule) in cases {
        let found = OtelGenAi.validate(&[message]);
        let rules: Vec<_> = found.iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, [rule]);
    }
}

#[test]
fn only_this_dialect_is_for_export_only() {
    let parsed: Vec<_> = dialect::parsed().map(Dialect::name).collect();
    let mut all: Vec<_> = dialect::names().collect();
    all.retain(|name| *name != "otel-genai");
    assert_eq!(parsed, all);
    let parsed = OtelGenAi.parse(vec![text("x")], vec![message("user", &[text("x")])]);
    assert_eq!(parsed.messages, []);
    let reasons: Vec<_> =
        parsed.dropped.iter().map(|drop| (drop.index, drop.reason.slug())).collect();
    assert_eq!(reasons, [(0, "export_only")]);
}

#[test]
fn an_answer_whose_reasoning_is_encrypted_is_dropped() {
    let thinking = json!([
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
    ]);
    let answer = json!({"role": "assistant", "content": null, "reasoning_content": thinking});
    let rendered = OtelGenAi.render(log(&[answer]), &Options::default());
    assert_eq!(rendered.messages, [Value::Null; 0]);
    assert_eq!(rendered.dropped[0].reason.slug(), "only_reasoning");
}

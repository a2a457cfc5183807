use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use resume::dialect::{AgUi, Dialect, OpenAi, OpenAiResponses};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};

fn caller(id: &str) -> Value {
    let target = json!({"name": "f", "arguments": "{}"});
    let call = json!({"id": id, "type": "function", "function": target, "encryptedValue": "x"});
    json!({"id": format!("m_{id}"), "role": "assistant", "content": "Let me see.", "toolCalls": [call]})
}

fn result(id: &str) -> Value {
    json!({"id": format!("r_{id}"), "role": "tool", "toolCallId": id, "content": "done"})
}

fn parts() -> Value {
    let source = |kind: &str, value: &str| json!({"type": kind, "value": value});
    let mut sound = source("data", "SUQz");
    sound["mimeType"] = json!("audio/mpeg");
    let mut uploaded = source("file", "file_1");
    uploaded["provider"] = json!("openai");
    json!([
        {"type": "text", "text": "look", "metadata": {"title": "t"}},
        {"type": "image", "source": source("url", "https://example.org/a.png"), "id": "p"},
        {"type": "audio", "source": sound},
        {"type": "video", "source": source("url", "https://example.org/a.mp4")},
        {"type": "document", "source": uploaded, "metadata": {"filename": "a.pdf"}},
    ])
}

#[test]
fn messages_are_kept() {
    let encrypted = r#"{"id": "rs_1", "signature": "gAAA", "provider_name": "openai"}"#;
    let mut failed = result("b");
    failed["error"] = json!("no connection");
    let mut pictures = result("a");
    pictures["content"] = parts();
    let messages = [
        json!({"id": "s", "role": "developer", "content": "Be brief.", "name": "host"}),
        json!({"id": "u", "role": "user", "content": parts(), "metadata": {"a": 1}}),
        json!({"id": "t", "role": "reasoning", "content": "hm", "encryptedValue": encrypted}),
        json!({"id": "o", "role": "reasoning", "content": "", "encryptedValue": "opaque"}),
        caller("a"),
        pictures,
        caller("b"),
        failed,
        json!({"id": "e", "role": "assistant", "content": "Done.", "subagentRunId": "r"}),
    ];
    assert_kept(&AgUi, &messages);
    let items = stored_in(&OpenAiResponses, &AgUi, &messages).messages;
    let reasoning = items.iter().find(|item| item["type"] == "reasoning").unwrap();
    assert_eq!(
        (&reasoning["id"], &reasoning["encrypted_content"]),
        (&json!("rs_1"), &json!("gAAA"))
    );
}

#[test]
fn media_of_older_versions_are_those_of_1_0() {
    let part = json!({"type": "binary", "mimeType": "image/png", "data": "iVBO"});
    let message = json!({"id": "u", "role": "user", "content": [part]});
    let rendered = stored_in(&AgUi, &AgUi, &[message]);
    let source = json!({"type": "data", "value": "iVBO", "mimeType": "image/png"});
    let image = json!([{"type": "image", "source": source}]);
    assert_eq!(rendered.messages[0]["content"], image);
}

#[test]
fn activities_are_reported() {
    let activity = json!({"id": "a", "role": "activity", "activityType": "x", "content": {}});
    let parsed = AgUi.parse(Vec::new(), vec![activity]);
    assert_eq!(parsed.dropped[0].reason.slug(), "unsupported_role");
}

/// A message of any kind, with faults.
fn message() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"id": "s", "role": "system", "content": "x"}),
        json!({"id": "u", "role": "user", "content": parts()}),
        json!({"id": "u", "role": "user", "content": [{"type": "image"}, 1]}),
        json!({"role": "user", "content": []}),
        json!({"id": "t", "role": "reasoning", "content": "hm"}),
        json!({"id": "t", "role": "reasoning", "content": "", "encryptedValue": "[1]"}),
        json!({"id": "t", "role": "reasoning", "content": 1, "encryptedValue": "{\"a\": 1}"}),
        json!({"id": 1, "role": "assistant", "content": "", "toolCalls": []}),
        json!({"id": "e", "role": "assistant", "content": null}),
        caller("a"),
        caller("b"),
        result("a"),
        result("b"),
        json!({"id": "r", "role": "tool", "toolCallId": "a", "error": "no", "content": "no"}),
    ])
}

proptest! {
    #[test]
    fn any_messages_can_be_stored_and_rendered(messages in vec(message(), 0..12)) {
        check_faulty(&AgUi, &AgUi.parse(Vec::new(), messages).messages)?;
    }
}

/// Other formats have one place for what a tool has said.
#[test]
fn an_error_without_a_content_is_the_content_in_other_formats() {
    let transcript = [
        json!({"id": "u", "role": "user", "content": "hi"}),
        json!({"id": "a", "role": "assistant", "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
        json!({"id": "t1", "role": "tool", "toolCallId": "c1", "content": "", "error": "BOOM"}),
    ];
    assert_kept(&AgUi, &transcript);
    assert_eq!(stored_in(&OpenAi, &AgUi, &transcript).messages[2]["content"], "BOOM");
}

/// A part of versions before 1.0 is written as one of 1.0: both must be the same message when they come back.
#[test]
fn a_binary_part_is_stored_as_the_part_as_which_it_is_shown() {
    for (binary, kind) in [
        (json!({"type": "binary", "mimeType": "image/png", "data": "iVBO"}), "image"),
        (
            json!({"type": "binary", "mimeType": "image/png", "data": "iVBO", "filename": "a.png"}),
            "image",
        ),
        (
            json!({"type": "binary", "mimeType": "video/mp4", "url": "https://example.org/a"}),
            "video",
        ),
        (json!({"type": "binary", "mimeType": "application/pdf", "id": "file-1"}), "document"),
    ] {
        let said = json!({"id": "u", "role": "user", "content": [binary]});
        let stored = |said: Value| AgUi.parse(Vec::new(), vec![said]).messages.remove(0);
        let shown = stored_in(&AgUi, &AgUi, std::slice::from_ref(&said)).messages.remove(0);
        assert_eq!(shown["content"][0]["type"], kind);
        assert_eq!(stored(said).body, stored(shown).body, "{binary}");
    }
}

#[test]
fn an_answer_without_a_content_is_kept() {
    let messages = [
        json!({"id": "1", "role": "user", "content": "q"}),
        json!({"id": "2", "role": "assistant"}),
        json!({"id": "3", "role": "assistant", "name": "planner"}),
    ];
    assert_kept(&AgUi, &messages);
}

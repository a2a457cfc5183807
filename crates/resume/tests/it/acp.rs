use resume::dialect::{Acp, Dialect, OpenAi, UiMessage};
use resume::ingest;
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, stored_in};
use crate::transcript::violations;

/// A session of a coding agent: thoughts, an embedded file, and a call with everything that a client shows of it.
fn session() -> Vec<Value> {
    let diff = json!({"type": "diff", "path": "/a.rs", "oldText": "1", "newText": "2"});
    let shown = json!({"type": "content", "content": {"type": "text", "text": "1 line changed"}});
    let updates = json!([
        {"sessionUpdate": "user_message_chunk", "messageId": "m1", "content": {"type": "text", "text": "Change it."},
         "_meta": {"client": "editor"}},
        {"sessionUpdate": "user_message_chunk", "messageId": "m1", "content": {"type": "resource",
         "resource": {"uri": "file:///a.rs", "mimeType": "text/rust", "text": "1"}}},
        {"sessionUpdate": "plan", "entries": [{"content": "Edit", "priority": "high", "status": "pending"}]},
        {"sessionUpdate": "agent_thought_chunk", "messageId": "m2", "content": {"type": "text", "text": "Easy."}},
        {"sessionUpdate": "agent_message_chunk", "messageId": "m2", "content": {"type": "text", "text": "I edit it.",
         "annotations": {"audience": ["user"]}}},
        {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Editing a.rs", "name": "edit", "kind": "edit",
         "status": "pending", "locations": [{"path": "/a.rs", "line": 1}], "rawInput": {"path": "/a.rs"},
         "_meta": {"messageId": "m2", "model": "large"}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": "Edited a.rs", "status": "completed",
         "content": [diff, shown], "locations": [{"path": "/a.rs", "line": 2}], "rawOutput": {"changed": 1}},
        {"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "ls", "kind": "execute", "status": "pending",
         "rawInput": {}, "_meta": {"messageId": "m3"}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c2", "status": "failed",
         "content": [{"type": "terminal", "terminalId": "t1"}]},
    ]);
    updates.as_array().cloned().unwrap_or_default()
}

#[test]
fn a_session_is_kept() {
    assert_kept(&Acp, &session());
}

#[test]
fn other_formats_get_what_is_said_and_called() {
    let rendered = stored_in(&OpenAi, &Acp, &session()).messages;
    assert_eq!(
        rendered[0]["content"],
        json!([{"type": "text", "text": "Change it."}, {"type": "text", "text": "1"}])
    );
    assert_eq!(rendered[1]["tool_calls"][0]["function"]["name"], "edit");
    assert_eq!(rendered[2]["content"], r#"{"changed":1}"#);
    assert_eq!(violations(&UiMessage, &stored_in(&UiMessage, &Acp, &session()).messages), []);
}

#[test]
fn chunks_that_come_later_continue_their_message() {
    let chunk = |text: &str| {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": "m1",
            "content": {"type": "text", "text": text}})
    };
    let first = Acp.parse(Vec::new(), vec![chunk("Let ")]).messages.remove(0);
    let mut second = Acp.parse(Vec::new(), vec![chunk("me see.")]).messages.remove(0);
    assert!(ingest::continue_message(&Acp, &mut second, None));
    assert!(!ingest::continue_message(&Acp, &mut second, None));
    let rendered = crate::transcript::rendered_in(&Acp, vec![first, second]);
    assert_eq!(rendered.messages, [chunk("Let "), chunk("me see.")]);
    assert_eq!(rendered.repaired, []);
}

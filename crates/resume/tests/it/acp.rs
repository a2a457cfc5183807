use resume::dialect::{Acp, AgUi, Dialect, LangChain, OpenAi, OtelGenAi, PydanticAi, UiMessage};
use resume::{Options, ingest};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, stored_in};
use crate::transcript::{in_single_chunks, stored_all, violations};

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

/// A model that was stopped while it thought has said nothing else.
#[test]
fn a_thought_alone_is_shown_in_the_formats_of_pages_and_of_no_call() {
    let said = |text: &str| json!({"type": "text", "text": text});
    let thought = [
        json!({"sessionUpdate": "user_message_chunk", "content": said("Why?")}),
        json!({"sessionUpdate": "agent_thought_chunk", "content": said("Hm.")}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "f"}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}),
    ];
    let dialects: [&dyn Dialect; 5] = [&UiMessage, &AgUi, &LangChain, &PydanticAi, &OtelGenAi];
    for dialect in dialects {
        let rendered = stored_in(dialect, &Acp, &thought[..2]);
        assert_eq!(rendered.dropped, [], "{}", dialect.name());
        assert_eq!(violations(dialect, &rendered.messages), [], "{}", dialect.name());
        assert!(Value::from(rendered.messages).to_string().contains("Hm."), "{}", dialect.name());
    }
    // An agent may send a call without its input.
    let called = stored_in(&OpenAi, &Acp, &thought).messages;
    assert_eq!(called[1]["tool_calls"][0]["function"]["arguments"], "{}");
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

/// Most agents give their chunks no ids: all chunks of an answer are then one message.
#[test]
fn chunks_without_ids_continue_the_answer_before_them() {
    let chunk = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let sent = [
        chunk("user_message_chunk", "Where?"),
        chunk("agent_message_chunk", "Let "),
        chunk("agent_message_chunk", "me see."),
        json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "look", "status": "completed",
            "rawInput": {}, "rawOutput": "nothing"}),
        chunk("agent_message_chunk", "Nowhere."),
        chunk("user_message_chunk", "Why?"),
    ];
    let stored = stored_all(in_single_chunks(&sent));
    let roles = |messages: &[Value]| -> Vec<_> {
        messages.iter().map(|it| it["role"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let other = OpenAi.render(stored.clone(), &Options::default()).messages;
    assert_eq!(roles(&other), ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(other[1]["content"].as_array().map(Vec::len), Some(2));
    assert_eq!(other[1]["tool_calls"].as_array().map(Vec::len), Some(1));
    let own = Acp.render(stored, &Options::default()).messages;
    assert_eq!(violations(&Acp, &own), []);
    assert_eq!(own.iter().filter(|update| update.get("messageId").is_some()).count(), 0);
}

/// Without an id, the second one would be read as the rest of the first one.
#[test]
fn a_chunk_without_an_id_gets_one_beside_another_message_of_its_speaker() {
    let chunk = |text: &str| json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}});
    let parsed = |text: &str| Acp.parse(Vec::new(), vec![chunk(text)]).messages.remove(0);
    let rendered = crate::transcript::rendered_in(&Acp, vec![parsed("Yes."), parsed("No.")]);
    assert_eq!(rendered.messages[0], chunk("Yes."));
    assert!(rendered.messages[1]["messageId"].is_string());
    assert_eq!(Acp.parse(Vec::new(), rendered.messages).messages.len(), 2);
}

#[test]
fn a_thought_after_a_text_stays_after_it() {
    let chunk = |kind: &str, id: Option<&str>, text: &str| {
        let mut chunk = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        if let Some(id) = id {
            chunk["messageId"] = id.into();
        }
        chunk
    };
    for id in [None, Some("m1")] {
        let session = [
            chunk("user_message_chunk", None, "Why?"),
            chunk("agent_thought_chunk", id, "T1"),
            chunk("agent_message_chunk", id, "M1"),
            chunk("agent_thought_chunk", id, "T2"),
            chunk("agent_message_chunk", id, "M2"),
        ];
        assert_kept(&Acp, &session);
    }
}

#[test]
fn the_output_of_the_update_that_begins_a_call_is_its_result() {
    let session = [
        json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Read it."}}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read", "status": "in_progress",
            "rawOutput": {"o": 1}}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}),
    ];
    let back = stored_in(&Acp, &Acp, &session).messages;
    assert_eq!(back[2]["rawOutput"], json!({"o": 1}));
    assert_eq!(stored_in(&OpenAi, &Acp, &session).messages[2]["content"], r#"{"o":1}"#);
}

#[test]
fn a_file_without_a_type_is_a_file() {
    let resource = json!({"type": "resource", "resource": {"uri": "file:a.bin", "blob": "AAAA"}});
    let session = [json!({"sessionUpdate": "user_message_chunk", "content": resource})];
    let back = stored_in(&Acp, &Acp, &session).messages;
    let expected =
        json!({"uri": "file:a.bin", "mimeType": "application/octet-stream", "blob": "AAAA"});
    assert_eq!(back[0]["content"]["resource"], expected);
}

#[test]
fn updates_of_plans_are_no_messages() {
    let session = [
        json!({"sessionUpdate": "plan_update", "plan": {"type": "markdown", "id": "p", "markdown": "x"}}),
        json!({"sessionUpdate": "plan_removed", "id": "p"}),
    ];
    assert_eq!(violations(&Acp, &session), []);
}

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use records::MessageEdit;
use resume::dialect::{self, Anthropic, ClaudeAgentSdk, Dialect, OpenAi};
use resume::ingest::{self, Check};
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};
use crate::transcript::{rendered_in, stored_all};

/// Returns the UUID of the entry with a number.
fn uuid(number: usize) -> Value {
    json!(format!("6f1d2c3b-0000-4000-8000-{number:012}"))
}

/// Returns an entry with the fields that each one has; it follows the one before it.
fn entry(number: usize, kind: &str, message: &Value) -> Value {
    let parent = number.checked_sub(1).map_or(Value::Null, uuid);
    json!({
        "type": kind, "uuid": uuid(number), "parentUuid": parent, "isSidechain": false,
        "sessionId": "0f8fad5b-d9cb-469f-a165-70867728950e", "cwd": "/trip", "version": "2.1.0",
        "timestamp": format!("2026-01-01T00:00:{number:02}.000Z"), "message": message,
    })
}

fn user(number: usize, content: &Value) -> Value {
    entry(number, "user", &json!({"role": "user", "content": content}))
}

fn answer(number: usize, id: &str, blocks: &[Value]) -> Value {
    let usage = json!({"input_tokens": 9, "output_tokens": 2, "service_tier": "standard"});
    entry(
        number,
        "assistant",
        &json!({
            "id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-5",
            "content": blocks, "stop_reason": null, "stop_sequence": null, "usage": usage,
        }),
    )
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "a.txt", "limit": 1.5}})
}

fn result(number: usize, id: &str, content: &Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let mut result = user(number, &json!([block]));
    result["toolUseResult"] = json!({"file": {"content": content}, "files.changed": {"a.txt": 1}});
    result
}

fn thinking() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})
}

fn title() -> Value {
    json!({"type": "custom-title", "customTitle": "A trip", "sessionId": "s"})
}

/// An answer of which each block is an entry, with parallel calls: their results come between, as the SDK writes them.
fn parallel_calls() -> Vec<Value> {
    let mut second = result(6, "b", &json!("2"));
    second["parentUuid"] = uuid(5);
    let mut later = answer(5, "msg_1", &[call("b")]);
    later["parentUuid"] = uuid(3);
    vec![
        user(0, &json!("Read both.")),
        answer(1, "msg_1", &[thinking()]),
        answer(2, "msg_1", &[text("Let me see.")]),
        answer(3, "msg_1", &[call("a")]),
        result(4, "a", &json!("1")),
        later,
        second,
        answer(7, "msg_2", &[text("Both are read.")]),
    ]
}

#[test]
fn the_entries_of_one_answer_are_one_message() {
    let entries = parallel_calls();
    assert_kept(&ClaudeAgentSdk, &entries);
    let rendered = stored_in(&Anthropic, &ClaudeAgentSdk, &entries);
    let roles: Vec<_> = rendered.messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let blocks = json!([thinking(), text("Let me see."), call("a"), call("b")]);
    assert_eq!(rendered.messages[1]["content"], blocks);
    let chat = stored_in(&OpenAi, &ClaudeAgentSdk, &entries).messages;
    assert_eq!(chat[1]["tool_calls"].as_array().map(Vec::len), Some(2));
}

#[test]
fn entries_of_every_kind_are_kept() {
    let mut meta = user(1, &json!("<local-command-caveat>"));
    meta["isMeta"] = json!(true);
    let mut boundary = entry(3, "system", &Value::Null);
    boundary["subtype"] = json!("compact_boundary");
    boundary["parentUuid"] = Value::Null;
    boundary["logicalParentUuid"] = uuid(2);
    let image = json!({
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"},
    });
    let pdf = json!({
        "type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
        "title": "plan", "citations": {"enabled": true},
    });
    let plain = json!({
        "type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
    });
    let cached = json!({"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}});
    let late = json!({
        "type": "tool_result", "tool_use_id": "a", "is_error": true, "content": "no such file",
    });
    let listed = json!({
        "type": "tool_result", "tool_use_id": "b", "is_error": false,
        "content": [cached, image, {"type": "tool_reference", "tool_name": "Grep"}],
    });
    let empty = json!({"type": "tool_result", "tool_use_id": "c", "content": []});
    let mut direct = call("c");
    direct["caller"] = json!({"type": "direct"});
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let unsigned = json!({"type": "thinking", "thinking": "so", "signature": ""});
    let silent = json!({"type": "thinking", "thinking": "", "signature": ""});
    let cited = json!({"type": "text", "text": "Done.", "citations": null});
    let blank = text("\n\n");
    let mut failed = answer(9, "msg_3", &[text("API Error: 529")]);
    failed["isApiErrorMessage"] = json!(true);
    let mut spoken = answer(10, "msg_4", &[]);
    spoken["message"]["content"] = json!("A text.");
    let mut unlinked = user(12, &json!(""));
    unlinked.as_object_mut().map(|entry| entry.remove("parentUuid"));
    let snapshot = json!({
        "type": "file-history-snapshot", "messageId": "m", "isSnapshotUpdate": false,
        "snapshot": {"trackedFileBackups": {"src/main.rs": {"version": 1}}, "messageId": "m"},
    });
    assert_kept(
        &ClaudeAgentSdk,
        &[
            json!({"type": "summary", "summary": "A trip", "leafUuid": uuid(0)}),
            snapshot,
            user(0, &json!("hi")),
            meta,
            user(2, &json!([cached, image, pdf, plain])),
            boundary,
            answer(4, "msg_1", &[silent, unsigned, blank, call("a"), search, found, direct, cited]),
            answer(5, "msg_1", &[call("b")]),
            title(),
            user(6, &json!([text("Wait."), late, listed, empty])),
            json!({"type": "queue-operation", "operation": "enqueue", "content": "go on"}),
            title(),
            entry(7, "attachment", &Value::Null),
            answer(8, "msg_2", &[]),
            failed,
            spoken,
            entry(11, "progress", &Value::Null),
            unlinked,
            json!({"type": "x", "n": 1}),
        ],
    );
}

#[test]
fn entries_that_are_no_messages_are_in_no_other_format() {
    let entries = [title(), user(0, &json!("hi")), entry(1, "system", &Value::Null), title()];
    for to in dialect::all().filter(|it| it.name() != "claude-agent-sdk") {
        let rendered = stored_in(to, &ClaudeAgentSdk, &entries);
        assert!(!format!("{:?}", rendered.messages).contains("A trip"), "{to:?}");
        let dropped = rendered.dropped.iter().map(|it| it.index);
        assert_eq!(dropped.filter(|at| *at != 1).collect::<Vec<_>>(), [0, 2, 3], "{to:?}");
    }
    assert_kept(&ClaudeAgentSdk, &[title(), title()]);
}

#[test]
fn a_sub_agent_speaks_in_its_own_session_alone() {
    let mut asked = user(2, &json!("Look."));
    let mut said = answer(3, "msg_2", &[text("Found.")]);
    asked["isSidechain"] = json!(true);
    said["isSidechain"] = json!(true);
    let own = [asked.clone(), said.clone()];
    assert_kept(&ClaudeAgentSdk, &own);
    assert_eq!(stored_in(&OpenAi, &ClaudeAgentSdk, &own).messages.len(), 2);
    let mut answered = result(4, "a", &json!("Found."));
    answered["parentUuid"] = uuid(1);
    let session = [user(0, &json!("hi")), answer(1, "msg_1", &[call("a")]), asked, said, answered];
    assert_kept(&ClaudeAgentSdk, &session);
    assert_eq!(stored_in(&OpenAi, &ClaudeAgentSdk, &session).messages.len(), 3);
}

#[test]
fn an_edit_keeps_the_place_of_an_entry() {
    let mut parsed = ClaudeAgentSdk.parse(Vec::new(), parallel_calls()).messages;
    let edit = MessageEdit { content: Some("Read one.".into()), ..MessageEdit::default() };
    parsed[0].body = edit.apply(&parsed[0].body);
    let rendered = rendered_in(&ClaudeAgentSdk, parsed);
    let first = &rendered.messages[0];
    assert_eq!((&first["uuid"], &first["parentUuid"]), (&uuid(0), &Value::Null));
    assert_eq!(first["message"]["content"], "Read one.");
    assert_eq!(rendered.messages[1..], parallel_calls()[1..]);
    assert_eq!(rendered.repaired[0].repair.slug(), "provider_fields_removed");
}

#[test]
fn entries_follow_one_another_although_one_was_deleted() {
    let mut parsed = ClaudeAgentSdk.parse(Vec::new(), parallel_calls()).messages;
    parsed.remove(2);
    let rendered = rendered_in(&ClaudeAgentSdk, parsed);
    assert_eq!(dialect::validate(&ClaudeAgentSdk, &rendered.messages), Ok(()));
}

#[test]
fn a_chat_of_other_agents_is_a_session() {
    let chat = [
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "Where is it sunny?"}),
        json!({"role": "assistant", "name": "guide", "content": "Let me see.", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "a", "content": "Oslo"}),
        json!({"role": "assistant", "name": "guide", "content": "In Oslo."}),
    ];
    let rendered = stored_in(&ClaudeAgentSdk, &OpenAi, &chat);
    assert_eq!(rendered.system, ["Be brief."]);
    let entries = rendered.messages;
    assert_eq!(dialect::validate(&ClaudeAgentSdk, &entries), Ok(()));
    assert_eq!(entries[0]["parentUuid"], Value::Null);
    for pair in entries.windows(2) {
        assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"]);
        assert_eq!(pair[1]["sessionId"], pair[0]["sessionId"]);
    }
    assert_eq!(entries[0]["message"], json!({"role": "user", "content": "Where is it sunny?"}));
    assert_eq!(entries[3]["message"]["content"], json!([text("guide: In Oslo.")]));
}

#[test]
fn a_call_without_a_result_comes_back() {
    let entries = &parallel_calls()[..6];
    assert_kept(&ClaudeAgentSdk, entries);
    let parsed = ClaudeAgentSdk.parse(Vec::new(), entries.to_vec()).messages;
    let options = Options { unsettled: Some(UnsettledPolicy::Settle), ..Options::default() };
    let rendered = ClaudeAgentSdk.render(stored_all(parsed), &options);
    assert_eq!(rendered.repaired[0].repair.slug(), "result_added");
    assert_eq!(stored_in(&OpenAi, &ClaudeAgentSdk, entries).messages.len(), 2);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let nameless = json!({"type": "tool_use", "id": "a", "input": {}});
    let cases = [
        json!(1),
        json!({"uuid": "x"}),
        json!({"type": "user", "uuid": "x"}),
        user(0, &json!(1)),
        user(0, &json!([1])),
        answer(0, "msg_1", &[nameless]),
    ];
    for case in cases {
        let checked = ingest::check(&ClaudeAgentSdk, std::slice::from_ref(&case), Check::Lenient);
        assert_eq!(checked.refused.len(), 1, "{case}");
    }
    let mut strange = result(1, "z", &json!("1"));
    strange["uuid"] = uuid(0);
    strange["parentUuid"] = uuid(7);
    let entries = [user(0, &json!("hi")), strange];
    let checked = ingest::check(&ClaudeAgentSdk, &entries, Check::Lenient);
    assert_eq!(checked.refused, []);
    let noted: Vec<_> = checked.noted.iter().map(|it| it.rule).collect();
    assert_eq!(noted, ["unknown_parent", "duplicate_id", "orphan_result"]);
}

/// An entry of any kind, with faults.
fn any_entry() -> impl Strategy<Value = Value> {
    let mut known = parallel_calls();
    let mut sidechain = answer(3, "msg_1", &[text("Found.")]);
    sidechain["isSidechain"] = json!(true);
    let mut anonymous = user(2, &json!([text("x"), 1, {"type": "image"}, {"type": "new"}]));
    anonymous.as_object_mut().map(|entry| entry.remove("uuid"));
    known.extend([
        title(),
        entry(2, "system", &Value::Null),
        sidechain,
        anonymous,
        json!({"type": "user", "isSidechain": true, "message": {"content": [1]}}),
        user(1, &json!([])),
        user(1, &json!("")),
        user(1, &json!([text(" "), {"type": "tool_use", "id": "a"}])),
        answer(4, "msg_1", &[]),
        answer(4, "msg_1", &[json!({"type": "tool_use", "id": "b", "name": "f", "input": "x"})]),
        answer(4, "msg_2", &[json!({"type": "thinking"}), json!({"type": "tool_result"})]),
        answer(5, "msg_2", &[json!({"type": "tool_use", "id": ""}), json!(null)]),
        result(8, "a", &json!([])),
        result(9, "b", &json!({"a": 1})),
        user(9, &json!([text("x"), {"type": "tool_result", "tool_use_id": "a"}])),
        json!({"type": "assistant", "message": {"content": "x", "role": "user"}}),
        json!({"type": 1}),
    ]);
    select(known)
}

proptest! {
    #[test]
    fn any_messages_can_be_stored_and_rendered(entries in vec(any_entry(), 0..12)) {
        check_faulty(&ClaudeAgentSdk, &ClaudeAgentSdk.parse(Vec::new(), entries).messages)?;
    }
}

/// The API refuses signed thinking that comes back in another order.
#[test]
fn thinking_between_calls_keeps_its_place_in_the_api_and_comes_back() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let answer = json!([thinking("1"), call("t1"), thinking("2"), call("t2")]);
    let said = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": [result("t1"), result("t2")]},
    ]);
    let said = said.as_array().unwrap();
    let entries = stored_in(&ClaudeAgentSdk, &Anthropic, said).messages;
    assert_eq!(entries[1]["message"]["content"], answer);
    let rendered = stored_in(&Anthropic, &ClaudeAgentSdk, &entries);
    assert_eq!(rendered.messages[1]["content"], answer);
}

/// A tool that runs on in the background, or a session that was resumed, may answer a call twice.
#[test]
fn a_second_result_of_a_call_stays_in_the_session() {
    let entries = [
        user(0, &json!("Read it.")),
        answer(1, "msg_1", &[call("a")]),
        result(2, "a", &json!("It runs.")),
        result(3, "a", &json!("1")),
        answer(4, "msg_2", &[text("It is read.")]),
    ];
    let rendered = stored_in(&ClaudeAgentSdk, &ClaudeAgentSdk, &entries);
    assert_eq!(rendered.messages, entries, "{:?}", rendered.dropped);
    let rendered = stored_in(&Anthropic, &ClaudeAgentSdk, &entries);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    assert_eq!(rendered.dropped.len(), 1);
}

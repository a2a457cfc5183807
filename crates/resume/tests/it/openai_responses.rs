use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use resume::dialect::{Anthropic, Dialect, OpenAi, OpenAiCompatible, OpenAiResponses};
use resume::ingest::{self, Check};
use resume::{Options, Repair, UnsettledPolicy};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};
use crate::transcript::{rendered_in, stored_all};

fn reasoning(id: &str) -> Value {
    json!({
        "type": "reasoning", "id": id, "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "hm"}],
    })
}

fn call(number: usize) -> Value {
    json!({
        "type": "function_call", "call_id": format!("call_{number}"), "name": "f",
        "arguments": "{}", "id": format!("fc_{number}"), "status": "completed",
    })
}

fn output(number: usize) -> Value {
    json!({"type": "function_call_output", "call_id": format!("call_{number}"), "output": "done"})
}

fn answer(id: &str) -> Value {
    json!({
        "type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "hello", "annotations": []}],
    })
}

/// A message of the user.
fn said() -> Value {
    json!({"role": "user", "content": "hi"})
}

#[test]
fn a_session_of_the_agents_sdk_is_kept() {
    let session = [said(), reasoning("rs_1"), call(1), reasoning("rs_2"), call(2)];
    let rest = [output(2), output(1), reasoning("rs_3"), answer("msg_1"), said()];
    assert_kept(&OpenAiResponses, &[&session[..], &rest[..]].concat());
    let typed = json!({"type": "message", "role": "user", "content": "hi"});
    assert_kept(&OpenAiResponses, &[typed, answer("msg_1"), answer("msg_2"), call(1), output(1)]);
}

#[test]
fn reasoning_with_a_summary_and_a_content_is_read_by_others() {
    let mut thought = reasoning("rs_1");
    thought["content"] = json!([{"type": "reasoning_text", "text": "all of it"}]);
    let items = [said(), thought, answer("msg_1")];
    assert_kept(&OpenAiResponses, &items);
    let message = &stored_in(&OpenAiCompatible, &OpenAiResponses, &items).messages[1];
    assert_eq!(message["reasoning_content"], "hm\n\nall of it");
}

#[test]
fn what_only_this_format_has_is_kept() {
    let mut noted = answer("msg_1");
    noted["phase"] = json!("commentary");
    noted["status"] = json!("incomplete");
    let citation = json!({
        "type": "url_citation", "start_index": 0, "end_index": 5, "title": "t", "url": "u",
    });
    noted["content"][0]["annotations"] = json!([citation]);
    let refusal = json!({
        "type": "message", "id": "__fake_id__", "role": "assistant", "status": "completed",
        "content": [{"type": "refusal", "refusal": "no"}],
    });
    let image = json!({"type": "input_image", "file_id": "file_1", "detail": "high"});
    let file = json!({"type": "input_file", "file_url": "https://example.org/a.pdf"});
    let user = json!({"role": "user", "content": [
        {"type": "input_text", "text": "look"}, image, file,
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
    ]});
    let custom = json!({
        "type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1", "id": "ctc_1",
    });
    let seen = json!({
        "type": "custom_tool_call_output", "call_id": "c",
        "output": [{"type": "input_text", "text": "1"}, image],
    });
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let several = json!({
        "type": "reasoning", "id": "rs_2", "status": "completed", "summary": [
            {"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"},
        ],
    });
    assert_kept(&OpenAiResponses, &[user, bare, several, noted, custom, seen, refusal]);
}

#[test]
fn items_of_tools_of_the_api_are_kept() {
    let search = json!({
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "q"},
    });
    let searched = [said(), reasoning("rs_1"), search.clone(), reasoning("rs_2"), search];
    let request = json!({
        "type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}",
        "server_label": "s",
    });
    let response = json!({
        "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true,
    });
    assert_kept(&OpenAiResponses, &[&searched[..], &[answer("msg_1"), request, response]].concat());
    let exec = json!({"type": "exec", "command": ["ls"], "env": {}});
    let operation = json!({"type": "delete_file", "path": "a"});
    let ran = json!([{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]);
    let screen = json!({"type": "computer_screenshot", "image_url": "https://example.org/a.png"});
    let click = json!({"type": "click", "x": 1, "y": 2, "button": "left"});
    let items = json!([
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "a", "action": exec, "status": "completed"},
        {"type": "shell_call", "call_id": "b", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "local_shell_call_output", "id": "a", "output": "a"},
        {"type": "shell_call_output", "call_id": "b", "output": ran, "max_output_length": 10},
        {"type": "apply_patch_call", "call_id": "c", "operation": operation, "status": "completed"},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
        {
            "type": "computer_call", "id": "cu_1", "call_id": "d", "action": click,
            "pending_safety_checks": [], "status": "completed",
        },
        {"type": "computer_call_output", "call_id": "d", "output": screen},
    ]);
    assert_kept(&OpenAiResponses, items.as_array().unwrap());
}

#[test]
fn a_call_of_a_tool_of_the_api_that_is_kept_open_stays_one() {
    let exec = json!({"type": "exec", "command": ["ls"], "env": {}});
    let operation = json!({"type": "delete_file", "path": "a"});
    let click = json!({"type": "click", "x": 1, "y": 2, "button": "left"});
    let calls = [
        json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "a", "action": exec, "status": "completed"}),
        json!({"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}, "status": "completed"}),
        json!({"type": "apply_patch_call", "call_id": "a", "operation": operation, "status": "completed"}),
        json!({
            "type": "computer_call", "id": "cu_1", "call_id": "a", "action": click, "pending_safety_checks": [],
            "status": "completed",
        }),
    ];
    for call in calls {
        let items = vec![said(), call];
        let parsed = OpenAiResponses.parse(Vec::new(), items.clone()).messages;
        let kept = Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() };
        assert_eq!(OpenAiResponses.render(stored_all(parsed.clone()), &kept).messages, items);
        // What closes it is the output of a function.
        let settled = Options { unsettled: Some(UnsettledPolicy::Settle), ..Options::default() };
        let rendered = OpenAiResponses.render(stored_all(parsed), &settled).messages;
        let kinds: Vec<_> = rendered.iter().map(|item| &item["type"]).collect();
        assert_eq!(kinds[1..], ["function_call", "function_call_output"]);
    }
}

#[test]
fn a_call_of_a_tool_of_the_api_is_a_function_call_elsewhere() {
    let exec = json!({"type": "exec", "command": ["ls"], "env": {}});
    let items = [
        json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "a", "action": exec}),
        json!({"type": "local_shell_call_output", "id": "a", "output": "a.txt"}),
    ];
    let rendered = stored_in(&OpenAi, &OpenAiResponses, &items);
    let target = json!({"name": "local_shell", "arguments": json!({"action": exec}).to_string()});
    let call = json!({"id": "a", "type": "function", "function": target});
    let caller = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "a.txt"});
    assert_eq!(rendered.messages, [caller, result]);
}

#[test]
fn a_screenshot_is_an_image_elsewhere() {
    let shown =
        json!({"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let items = [
        said(),
        json!({
            "type": "computer_call", "id": "cu_1", "call_id": "d", "action": {"type": "screenshot"},
            "pending_safety_checks": [], "status": "completed",
        }),
        json!({"type": "computer_call_output", "call_id": "d", "output": shown}),
        said(),
    ];
    assert_kept(&OpenAiResponses, &items);
    let rendered = stored_in(&Anthropic, &OpenAiResponses, &items);
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let result = &rendered.messages[2]["content"][0];
    assert_eq!(result["content"], json!([{"type": "image", "source": source}]));
    // An uploaded one has no place elsewhere.
    let mut uploaded = items.clone();
    uploaded[2]["output"] = json!({"type": "computer_screenshot", "file_id": "file_1"});
    assert_kept(&OpenAiResponses, &uploaded);
}

#[test]
fn a_message_before_the_output_of_a_call_joins_it() {
    let items = [said(), call(1), answer("msg_1"), output(1)];
    let rendered = stored_in(&OpenAiResponses, &OpenAiResponses, &items);
    assert_eq!(rendered.messages, [said(), answer("msg_1"), call(1), output(1)]);
}

#[test]
fn references_and_triggers_are_accepted_and_reported() {
    let mut items = vec![
        said(),
        json!({"type": "item_reference", "id": "msg_1"}),
        json!({"id": "msg_1"}),
        json!({"type": null, "id": "msg_1"}),
        json!({"type": "compaction_trigger"}),
        json!({"type": "additional_tools", "role": "developer", "tools": []}),
        json!({"type": "configuration_update", "reasoning": {"effort": "low"}}),
    ];
    let checked = ingest::check(&OpenAiResponses, &items, Check::Strict);
    assert_eq!((checked.refused, checked.noted), (vec![], vec![]));
    items.push(json!({"type": "new"}));
    let refused = ingest::check(&OpenAiResponses, &items, Check::Lenient).refused;
    assert_eq!((refused[0].index, refused[0].rule), (7, "unknown_item"));
    let parsed = OpenAiResponses.parse(Vec::new(), items);
    let dropped: Vec<_> = parsed.dropped.iter().map(|it| (it.index, it.reason.slug())).collect();
    assert_eq!(dropped, [1, 2, 3, 4, 5, 6, 7].map(|at| (at, "unsupported_role")));
}

#[test]
fn reasoning_of_others_is_removed_with_a_report() {
    let signed = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let chat = json!({"role": "assistant", "content": "hi", "reasoning_content": signed});
    let parsed = OpenAi.parse(Vec::new(), vec![chat]);
    let rendered = rendered_in(&OpenAiResponses, parsed.messages);
    assert_eq!(rendered.messages, [json!({"role": "assistant", "content": "hi"})]);
    assert_eq!(rendered.repaired[0].repair, Repair::ReasoningRemoved);
}

/// An item of any kind, with faults.
fn item() -> impl Strategy<Value = Value> {
    let exec = json!({"type": "exec", "command": ["ls"], "env": {}});
    let known = vec![
        said(),
        json!({"role": "assistant", "content": ""}),
        json!({"role": "assistant", "content": "hi", "phase": "commentary"}),
        json!({"role": "user", "content": [{"type": "output_text", "text": "x"}], "status": 1}),
        json!({"role": "developer", "content": [{"type": "input_image", "file_id": "f"}]}),
        json!({"role": "assistant", "content": [{"type": "refusal", "refusal": ""}, 1]}),
        json!({"role": "assistant", "content": [], "id": 1}),
        answer("msg_1"),
        answer("fake"),
        reasoning("rs_1"),
        json!({"type": "reasoning", "summary": 1}),
        call(1),
        call(2),
        output(1),
        output(2),
        json!({"type": "custom_tool_call_output", "call_id": "call_1", "output": [1]}),
        json!({"type": "web_search_call", "id": "ws_1"}),
        json!({"role": "assistant", "content": [{"type": "web_search_call", "id": 1}]}),
        json!({"role": "user", "content": [{"type": "mcp_approval_response"}]}),
        json!({"type": "mcp_approval_response", "approval_request_id": "m", "approve": true}),
        json!({"type": "local_shell_call", "call_id": "call_1", "action": exec}),
        json!({"type": "local_shell_call_output", "id": "call_1", "output": "x"}),
        json!({"type": "shell_call", "call_id": "call_2", "action": 1}),
        json!({"type": "shell_call_output", "call_id": "call_2", "output": [{"stdout": "x"}]}),
        json!({"type": "apply_patch_call", "call_id": "call_2", "operation": {}}),
        json!({"type": "apply_patch_call_output", "call_id": "call_2"}),
    ];
    select(known)
}

proptest! {
    #[test]
    fn any_items_can_be_stored_and_rendered(items in vec(item(), 0..12)) {
        let parsed = OpenAiResponses.parse(Vec::new(), items);
        prop_assert_eq!(parsed.dropped, []);
        check_faulty(&OpenAiResponses, &parsed.messages)?;
    }
}

#[test]
fn a_compaction_of_another_provider_is_no_item() {
    let block = json!({"type": "compaction", "content": "SUM", "encrypted_content": "abc"});
    let chat = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]}),
        json!({"role": "user", "content": "x"}),
    ];
    let rendered = stored_in(&OpenAiResponses, &Anthropic, &chat);
    assert!(rendered.messages.iter().all(|item| item["type"] != "compaction"), "{rendered:?}");
}

/// `openai` 3.57 requires no more of an output than its type and what it says.
#[test]
fn an_output_need_not_name_its_call() {
    let alone = json!({"type": "function_call_output", "output": "22 °C", "name": "weather", "namespace": "home"});
    let mut named = output(1);
    (named["name"], named["namespace"]) = (json!("f"), json!("home"));
    assert_kept(&OpenAiResponses, &[said(), alone.clone(), call(1), named, answer("msg_1")]);
    let other = stored_in(&OpenAi, &OpenAiResponses, &[said(), alone]);
    assert!(other.messages.iter().any(|it| it.to_string().contains("22 °C")), "{other:?}");
    let empty = json!({"type": "function_call_output", "call_id": "", "output": "x"});
    assert_eq!(OpenAiResponses.validate(&[empty])[0].rule, "missing_call_id");
}

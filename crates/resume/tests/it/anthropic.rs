use resume::Options;
use resume::dialect::{Anthropic, Dialect, OpenAi, Rendered};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::openai::{caller, dropped, repaired, result, said};
use crate::round_trip::{assert_kept, stored_in};
use crate::transcript::log;

fn render(messages: &[Value]) -> Rendered {
    let rendered = Anthropic.render(log(messages), &Options::default());
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    rendered
}

#[test]
fn a_message_with_only_reasoning_is_dropped() {
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let message = json!({"role": "assistant", "content": " ", "reasoning_content": thinking});
    let rendered = render(&[said(), message]);
    assert_eq!(rendered.messages.len(), 1);
    assert_eq!(dropped(&rendered), [(1, "blank_content")]);
}

#[test]
fn results_and_the_next_user_message_become_one_message() {
    let rendered = render(&[said(), caller("x", &["a", "b"]), result("b"), result("a"), said()]);
    assert_eq!(rendered.messages.len(), 3);
    let kinds = rendered.messages[2]["content"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
    assert_eq!(rendered.repaired, []);
}

#[test]
fn encrypted_reasoning_without_data_is_skipped() {
    let empty = json!({"type": "redacted_thinking", "data": ""});
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    for (blocks, count) in [(json!([empty]), 1), (json!([signed, empty]), 2)] {
        let message = json!({"role": "assistant", "content": "x", "reasoning_content": blocks});
        let rendered = render(&[said(), message, said()]);
        assert_eq!(rendered.messages[1]["content"].as_array().map(Vec::len), Some(count));
        assert_eq!(rendered.repaired, []);
    }
}

#[test]
fn unsigned_reasoning_is_removed() {
    let message = json!({"role": "assistant", "content": "x", "reasoning_content": "hm"});
    let rendered = render(&[said(), message, said()]);
    let text = json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]});
    assert_eq!(rendered.messages[1], text);
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed")]);
}

/// Blocks of tools that Anthropic runs itself, as its library writes them.
fn searched() -> Vec<Value> {
    let place = json!({"type": "web_search_result_location", "cited_text": "sun", "url": "https://example.org"});
    vec![
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "sun"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://example.org", "encrypted_content": "e"},
        ]}),
        json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}}),
        json!({"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": []}),
        json!({"type": "container_upload", "file_id": "file_011"}),
        json!({"type": "mcp_tool_listing", "mcp_server_name": "files", "tools": [{"name": "f"}]}),
        json!({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}}),
        json!({"type": "text", "text": "It is sunny.", "citations": [place]}),
    ]
}

#[test]
fn what_a_tool_of_the_server_wrote_comes_back() {
    let messages = [
        json!({"role": "user", "content": [{"type": "text", "text": "Where?"}]}),
        json!({"role": "assistant", "content": searched()}),
        json!({"role": "user", "content": [{"type": "text", "text": "Thanks."}]}),
    ];
    assert_eq!(Anthropic.validate(&messages), []);
    let rendered = stored_in(&Anthropic, &Anthropic, &messages);
    assert_eq!(rendered, Rendered { messages: messages.to_vec(), ..Rendered::default() });
    let elsewhere = stored_in(&OpenAi, &Anthropic, &messages);
    assert_eq!(repaired(&elsewhere)[0], (1, "part_serialised"));
}

#[test]
fn a_result_of_the_server_without_its_call_is_text() {
    let messages = [
        said(),
        json!({"role": "assistant", "content": searched()[1..2]}),
        said(),
        json!({"role": "assistant", "content": searched()[..1]}),
        said(),
    ];
    let checked = ingest::check(&Anthropic, &messages, Check::Lenient);
    assert_eq!(checked.refused, []);
    let noted: Vec<_> = checked.noted.iter().map(|it| (it.index, it.rule)).collect();
    assert_eq!(noted, [(1, "unpaired_server_tool"), (3, "unpaired_server_tool")]);
    let rendered = stored_in(&Anthropic, &Anthropic, &messages);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    assert_eq!(repaired(&rendered), [(1, "part_serialised"), (3, "part_serialised")]);
}

fn user(blocks: &Value) -> Value {
    json!({"role": "user", "content": blocks})
}

fn model(blocks: &Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

fn found_page() -> Value {
    json!({"type": "search_result", "source": "https://example.org", "title": "Sun", "content": [
        {"type": "text", "text": "It is sunny."},
    ], "citations": {"enabled": true}})
}

fn document_of_blocks() -> Value {
    json!({"type": "document", "title": "Sun", "source": {"type": "content", "content": [
        {"type": "text", "text": "It is sunny."},
    ]}})
}

#[test]
fn the_blocks_that_only_a_user_of_anthropic_gives_come_back() {
    let text = json!({"type": "text", "text": "Look."});
    let upload = json!({"type": "container_upload", "file_id": "file_011"});
    let blocks = json!([upload, found_page(), document_of_blocks(), text]);
    assert_kept(&Anthropic, &[user(&blocks)]);
    let elsewhere = stored_in(&OpenAi, &Anthropic, &[user(&blocks)]);
    assert_eq!(repaired(&elsewhere), [(0, "part_serialised"); 3]);

    let mut marked = found_page();
    marked["cache_control"] = json!({"type": "ephemeral"});
    let rendered = stored_in(&Anthropic, &Anthropic, &[user(&json!([marked, text]))]);
    assert_eq!(rendered.messages[0]["content"][0], found_page());
    assert_eq!(repaired(&rendered), [(0, "part_fields_removed")]);
    // What the API refuses is no such block.
    let mut wrong = found_page();
    wrong["content"] = json!([]);
    let rendered = stored_in(&Anthropic, &Anthropic, &[user(&json!([wrong, text]))]);
    assert_eq!(repaired(&rendered), [(0, "part_serialised")]);
}

#[test]
fn the_contents_of_results_come_back_in_their_form() {
    let reference = json!({"type": "tool_reference", "tool_name": "g"});
    let text = json!({"type": "text", "text": "err"});
    for (content, is_error) in [
        (json!([found_page(), document_of_blocks(), reference]), false),
        (json!([]), false),
        (json!([text]), true),
        (json!([text]), false),
        (json!("err"), true),
    ] {
        let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
        let mut result = json!({"type": "tool_result", "tool_use_id": "a", "content": content});
        if is_error {
            result["is_error"] = json!(true);
        }
        let messages = [
            user(&json!([{"type": "text", "text": "hi"}])),
            model(&json!([call])),
            user(&json!([result])),
        ];
        assert_kept(&Anthropic, &messages);
    }
}

/// A program that the server runs calls a tool of the client: what the program returns comes after the result of the tool.
fn called_by_a_program() -> Vec<Value> {
    let program = json!({"type": "server_tool_use", "id": "srvtoolu_4", "name": "code_execution", "input": {"code": "f()"}});
    let caller = json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_4"});
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": caller});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "done"});
    let returned = json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_4", "content": {
        "type": "code_execution_result", "stdout": "done", "stderr": "", "return_code": 0, "content": [],
    }});
    let text = |text: &str| json!({"type": "text", "text": text});
    vec![
        user(&json!([text("Run it.")])),
        model(&json!([text("I run it."), program, call])),
        user(&json!([result])),
        model(&json!([returned, text("It ran.")])),
        user(&json!([text("Thanks.")])),
    ]
}

#[test]
fn a_call_of_a_program_keeps_the_program_whose_result_comes_later() {
    let messages = called_by_a_program();
    assert_kept(&Anthropic, &messages);
    assert_kept(&Anthropic, &messages[..3]);
    // A call whose program is not there any more has no caller.
    let mut without = messages.clone();
    without[1]["content"].as_array_mut().unwrap().remove(1);
    let rendered = stored_in(&Anthropic, &Anthropic, &without);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    assert!(rendered.messages[1]["content"][1].get("caller").is_none());
    assert_eq!(repaired(&rendered), [(1, "call_fields_removed"), (3, "part_serialised")]);
    // A program whose call has no result does not stay either.
    let unanswered = [&messages[..2], &messages[4..]].concat();
    let rendered = stored_in(&Anthropic, &Anthropic, &unanswered);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    let blocks = &rendered.messages[1]["content"];
    assert_eq!(blocks.as_array().map(Vec::len), Some(2));
    assert_eq!(blocks[1]["type"], "text");
    assert_eq!(repaired(&rendered), [(1, "unanswered_calls_removed"), (1, "part_serialised")]);
}

#[test]
fn a_turn_that_the_provider_paused_stays_as_it_is_until_a_message_follows() {
    let text = json!({"type": "text", "text": "I search."});
    let paused = model(&json!([text, searched()[0]]));
    let chat = [user(&json!([{"type": "text", "text": "Where?"}])), paused];
    assert_kept(&Anthropic, &chat);
    let spoken = [&chat[..], &[said()]].concat();
    let rendered = stored_in(&Anthropic, &Anthropic, &spoken);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    assert_eq!(repaired(&rendered), [(1, "part_serialised")]);
    // The provider goes on in a message of its own, which is part of the same turn.
    let rest = model(&json!([searched()[1], {"type": "text", "text": "It is sunny."}]));
    let rendered = stored_in(&Anthropic, &Anthropic, &[&chat[..], &[rest, said()]].concat());
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    assert_eq!(repaired(&rendered), [(2, "merged_into_turn")]);
    assert_eq!(rendered.messages[1]["content"][1], searched()[0]);
    assert_eq!(rendered.messages[1]["content"][2], searched()[1]);
}

#[test]
fn what_an_api_of_tomorrow_writes_is_stored_and_noted() {
    let call = json!({"type": "tool_use", "id": "a.b", "name": "f", "input": "{\"city\": "});
    let reference = json!({"type": "tool_reference", "tool_name": "g"});
    let result = json!({"type": "tool_result", "tool_use_id": "a.b", "content": [reference]});
    let messages = [
        json!({"role": "user", "content": [{"type": "riddle", "text": "?"}]}),
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "user", "content": [result]}),
        json!({"role": "assistant", "content": []}),
        said(),
        // The last answer may have only begun.
        json!({"role": "assistant", "content": ""}),
    ];
    let checked = ingest::check(&Anthropic, &messages, Check::Lenient);
    assert_eq!(checked.refused, []);
    let noted: Vec<_> = checked.noted.iter().map(|it| (it.index, it.rule)).collect();
    assert_eq!(noted, [(0, "unknown_block"), (1, "call_not_accepted"), (3, "missing_content")]);
    let rendered = stored_in(&Anthropic, &Anthropic, &messages);
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    for refused in
        [json!(1), json!({"type": 1}), json!({"type": "tool_use", "id": "a", "input": {}})]
    {
        let message = json!({"role": "assistant", "content": [refused]});
        let checked = ingest::check(&Anthropic, &[message], Check::Lenient);
        assert_eq!(checked.refused.len(), 1, "{refused}");
    }
}

/// The conversation with one call, and what is asked after it.
fn with_call(call: &Value, result: &Value) -> Vec<Value> {
    vec![
        user(&json!([{"type": "text", "text": "hi"}])),
        model(&json!([call])),
        user(&json!([result])),
    ]
}

#[test]
fn the_toolset_of_a_call_and_the_state_of_its_browser_come_back() {
    let call = json!({
        "type": "tool_use", "id": "a", "name": "navigate", "input": {"url": "https://example.org"},
        "toolset_name": "browser",
    });
    let tab = json!({"tab_id": "1", "title": "", "url": "", "active": true});
    let opened = json!({"type": "tab_opened", "tab_id": "1"});
    let state = json!({"type": "browser_state", "tabs": [tab], "state_changes": [opened]});
    let seen = json!([{"type": "text", "text": "Done."}, state]);
    let result = json!({
        "type": "tool_result", "tool_use_id": "a", "content": seen, "toolset_name": "browser",
    });
    let messages = with_call(&call, &result);
    assert_kept(&Anthropic, &messages);
    let elsewhere = stored_in(&OpenAi, &Anthropic, &messages);
    let expected = [(1, "call_fields_removed"), (2, "part_serialised"), (2, "call_fields_removed")];
    let mut noted = repaired(&elsewhere);
    noted.sort_unstable();
    assert_eq!(noted, [expected[0], expected[2], expected[1]]);
    // A failed call has only text.
    let mut failed = result.clone();
    failed["is_error"] = json!(true);
    let rendered = stored_in(&Anthropic, &Anthropic, &with_call(&call, &failed));
    assert_eq!(repaired(&rendered), [(2, "part_serialised")]);
}

#[test]
fn what_the_library_says_of_a_document_in_a_result_comes_back() {
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    let document = json!({
        "type": "document", "source": source, "title": "Sun", "context": "A report.",
        "citations": {"enabled": true},
    });
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": [document]});
    assert_kept(&Anthropic, &with_call(&call, &result));
}

#[test]
fn fields_without_a_value_and_marks_for_the_cache_make_no_block_unknown() {
    let mut found = found_page();
    found["content"][0]["citations"] = json!(null);
    found["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    let mut document = document_of_blocks();
    document["citations"] = json!(null);
    document["context"] = json!(null);
    document["source"]["content"][0]["citations"] = json!(null);
    document["source"]["content"][0]["cache_control"] = json!(null);
    let text = json!({"type": "text", "text": "Look."});
    let blocks = json!([found, document, text]);
    let expected = json!([found_page(), document_of_blocks(), text]);
    let rendered = stored_in(&Anthropic, &Anthropic, &[user(&blocks)]);
    assert_eq!(rendered.messages[0]["content"], expected);
    assert_eq!(repaired(&rendered), [(0, "part_fields_removed")]);
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": blocks});
    let rendered = stored_in(&Anthropic, &Anthropic, &with_call(&call, &result));
    assert_eq!(rendered.messages[2]["content"][0]["content"], expected);
    assert_eq!(repaired(&rendered), [(2, "part_fields_removed")]);
    // The default of the library for an object without fields.
    let mut plain = found_page();
    plain["citations"] = json!({});
    assert_kept(&Anthropic, &[user(&json!([plain, text]))]);
}

#[test]
fn a_change_of_the_tools_stays_where_it_is() {
    let addition =
        json!({"type": "tool_addition", "tool": {"type": "tool_reference", "name": "f"}});
    let removal = json!({"type": "tool_removal", "tool": {
        "type": "mcp_toolset_reference", "server_name": "files",
    }});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let messages = [
        user(&text("hi")),
        model(&text("Hi.")),
        json!({"role": "system", "content": [addition, removal]}),
        user(&text("Go on.")),
    ];
    assert_eq!(Anthropic.validate(&messages), []);
    let checked = ingest::check(&Anthropic, &messages, Check::Lenient);
    assert_eq!((checked.refused.len(), checked.noted.len()), (0, 0));
    assert_kept(&Anthropic, &messages);
    let elsewhere = stored_in(&OpenAi, &Anthropic, &messages);
    assert_eq!(repaired(&elsewhere), [(2, "part_serialised"), (2, "part_serialised")]);
    let compaction =
        json!({"type": "compaction", "encrypted_content": "e", "tool_changes": [addition]});
    assert_kept(&Anthropic, &[user(&text("hi")), model(&json!([compaction])), user(&text("hi"))]);
}

#[test]
fn what_is_done_to_an_image_comes_back() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"},
        "transformations": {"oversized": "resize"}});
    let file = json!({"type": "image", "source": {"type": "file", "file_id": "file_1"},
        "transformations": {"oversized": "resize"}});
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let shown = json!({"type": "tool_result", "tool_use_id": "a", "content": [image]});
    let messages = [user(&json!([image, file])), model(&json!([call])), user(&json!([shown]))];
    assert_kept(&Anthropic, &messages);
    let elsewhere = stored_in(&OpenAi, &Anthropic, &messages[..1]);
    assert!(repaired(&elsewhere).contains(&(0, "part_fields_removed")), "{elsewhere:?}");
}

#[test]
fn the_result_of_a_tool_of_mcp_may_lack_a_content() {
    let call =
        json!({"type": "mcp_tool_use", "id": "m", "name": "f", "input": {}, "server_name": "s"});
    let result = json!({"type": "mcp_tool_result", "tool_use_id": "m", "is_error": false});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_kept(
        &Anthropic,
        &[
            user(&json!([text("hi")])),
            model(&json!([call, result, text("done")])),
            user(&json!([text("go on")])),
        ],
    );
}

#[test]
fn an_instruction_for_a_turn_stays_where_it_is() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let once =
        json!({"role": "system", "content": text("Be brief."), "clear_at": "next_user_message"});
    let low =
        json!({"role": "system", "content": text("Think."), "output_config": {"effort": "low"}});
    let messages =
        [user(&text("hi")), once.clone(), low, model(&text("Hi.")), user(&text("Go on.")), once];
    assert_kept(&Anthropic, &messages);
    let checked = ingest::check(&Anthropic, &messages, Check::Strict);
    assert_eq!((checked.refused.len(), checked.noted.len()), (0, 0));
    let elsewhere = stored_in(&OpenAi, &Anthropic, &messages);
    let slugs = repaired(&elsewhere);
    assert!(slugs.contains(&(1, "provider_fields_removed")), "{slugs:?}");

    let alone = json!({"role": "system", "output_config": {"effort": "low"}});
    let silent = [user(&text("hi")), alone.clone(), model(&text("Hi.")), user(&text("Go on."))];
    assert_kept(&Anthropic, &silent);
    assert_eq!(dropped(&stored_in(&OpenAi, &Anthropic, &silent)), [(1, "null_content")]);
    let empty = json!({"role": "system", "output_config": {}});
    assert_eq!(Anthropic.validate(&[user(&text("hi")), empty])[0].rule, "missing_content");

    let mut wrong = messages.clone();
    wrong[1]["clear_at"] = json!("tomorrow");
    let rendered = stored_in(&Anthropic, &Anthropic, &wrong);
    assert_eq!(rendered.system, text("Be brief.").as_array().unwrap()[..]);
    assert_eq!(repaired(&rendered), [(1, "provider_fields_removed"), (1, "instruction_hoisted")]);
}

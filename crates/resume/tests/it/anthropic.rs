use resume::Options;
use resume::dialect::{Anthropic, Dialect, OpenAi, Rendered};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::openai::{caller, dropped, repaired, result, said};
use crate::round_trip::stored_in;
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

//! Reasoning in a content, in each form that the library and its integrations write.

use resume::dialect::{
    self, Anthropic, Dialect, LangChain, OpenAi, OpenAiCompatible, OpenAiResponses,
};
use serde_json::{Value, json};

use crate::round_trip::stored_in;

fn named(name: &str) -> &'static dyn Dialect {
    dialect::named(name).unwrap_or_else(|| panic!("no dialect {name}"))
}

/// Returns a chat in which a model thinks, and says "ans".
fn chat(block: &Value, metadata: &Value) -> [Value; 3] {
    let content = json!([block, {"type": "text", "text": "ans"}]);
    let human = |text: &str, id: &str| json!({"type": "human", "data": {"content": text, "type": "human", "id": id}});
    let data = json!({"content": content, "type": "ai", "id": "m2", "response_metadata": metadata});
    [human("q", "m1"), json!({"type": "ai", "data": data}), human("n", "m3")]
}

/// Returns the second message of a chat in another format.
fn answer_in(to: &dyn Dialect, chat: &[Value]) -> Value {
    stored_in(to, &LangChain, chat).messages[1].clone()
}

fn assert_comes_back(chat: &[Value]) {
    let own = stored_in(&LangChain, &LangChain, chat);
    assert_eq!(own.messages[1]["data"]["content"], chat[1]["data"]["content"]);
    assert_eq!(own.messages[1]["data"]["additional_kwargs"], json!({}));
    assert_eq!(own.repaired, []);
}

fn assert_is_text_nowhere(chat: &[Value]) {
    for to in [&OpenAi as &dyn Dialect, &Anthropic, named("gemini")] {
        let rendered = stored_in(to, &LangChain, chat).messages;
        assert!(!Value::from(rendered).to_string().contains("\\\"type"), "{to:?}");
    }
}

#[test]
fn signed_reasoning_in_every_form_is_given_to_its_provider() {
    let forms = [
        json!({"type": "reasoning", "reasoning": "th", "extras": {"signature": "U0lH"}, "index": 0}),
        json!({"type": "reasoning_content", "reasoning_content": {"text": "th", "signature": "U0lH"}}),
        json!({"type": "thinking", "thinking": "th", "signature": "U0lH", "index": 0}),
    ];
    for form in forms {
        let chat = chat(&form, &json!({"model_provider": "anthropic"}));
        assert_comes_back(&chat);
        assert_is_text_nowhere(&chat);
        let thinking = json!({"type": "thinking", "thinking": "th", "signature": "U0lH"});
        assert_eq!(answer_in(&Anthropic, &chat)["content"][0], thinking);
        let reasoning = json!({"reasoningText": {"text": "th", "signature": "U0lH"}});
        let answer = answer_in(named("bedrock-converse"), &chat);
        assert_eq!(answer["content"][0], json!({"reasoningContent": reasoning}));
        assert_eq!(answer_in(&OpenAiCompatible, &chat)["reasoning_content"], "th");
    }
}

#[test]
fn encrypted_reasoning_in_every_form_is_given_to_its_provider() {
    let forms = [
        json!({"type": "redacted_thinking", "data": "UkVE"}),
        json!({"type": "non_standard", "value": {"type": "redacted_thinking", "data": "UkVE"}}),
        json!({"type": "reasoning", "extras": {"redacted_content": "UkVE"}}),
        json!({"type": "reasoning_content", "reasoning_content": {"redacted_content": "UkVE"}}),
    ];
    for form in forms {
        let chat = chat(&form, &json!({"model_provider": "anthropic"}));
        assert_comes_back(&chat);
        assert_is_text_nowhere(&chat);
        let redacted = json!({"type": "redacted_thinking", "data": "UkVE"});
        assert_eq!(answer_in(&Anthropic, &chat)["content"][0], redacted);
    }
}

#[test]
fn reasoning_of_the_responses_api_in_every_form_is_an_item_again() {
    let summary = json!([{"type": "summary_text", "text": "SUM"}]);
    let empty = json!([]);
    let forms = [
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ENC"}),
            &summary,
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC", "index": 0}),
            &empty,
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "reasoning": "SUM", "extras": {"encrypted_content": "ENC"}}),
            &summary,
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "extras": {"encrypted_content": "ENC"}}),
            &empty,
        ),
    ];
    for (form, summary) in forms {
        let chat = chat(&form, &json!({"model_provider": "openai"}));
        assert_comes_back(&chat);
        assert_is_text_nowhere(&chat);
        let item = json!({
            "type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ENC",
        });
        assert_eq!(answer_in(&OpenAiResponses, &chat), item);
    }
}

#[test]
fn reasoning_stands_between_the_calls_of_the_responses_api() {
    let reasoning = |id: &str| json!({"type": "reasoning", "id": id, "summary": []});
    let block =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let call = |id: &str| json!({"name": "f", "args": {}, "id": id, "type": "tool_call"});
    let result = |id: &str| json!({"type": "tool", "data": {"content": "r", "tool_call_id": id}});
    let content = [reasoning("rs_1"), block("a"), reasoning("rs_2"), block("b")];
    let data = json!({"content": content, "tool_calls": [call("a"), call("b")]});
    let chat = [json!({"type": "ai", "data": data}), result("a"), result("b")];
    let items = stored_in(&OpenAiResponses, &LangChain, &chat).messages;
    let items: Vec<_> = items.iter().map(|item| &item["type"]).collect();
    let calls = ["reasoning", "function_call", "reasoning", "function_call"];
    assert_eq!(items[..4], calls);
}

#[test]
fn reasoning_without_a_signature_is_reasoning() {
    let forms = [
        json!({"type": "reasoning", "reasoning": "th"}),
        json!({"type": "reasoning", "reasoning": "th", "id": "lc_rc_1", "index": 0}),
        json!({"type": "reasoning_content", "reasoning_content": {"text": "th"}}),
    ];
    for form in forms {
        let chat = chat(&form, &json!({}));
        assert_comes_back(&chat);
        assert_is_text_nowhere(&chat);
        assert_eq!(answer_in(&OpenAiCompatible, &chat)["reasoning_content"], "th");
        let rendered = stored_in(&Anthropic, &LangChain, &chat);
        assert!(rendered.repaired.iter().any(|it| it.repair.slug() == "reasoning_removed"));
    }
}

/// Claude answers a thought that another provider signed with an error.
#[test]
fn a_thought_that_gemini_signed_is_not_given_to_claude() {
    let forms = [
        json!({"type": "thinking", "thinking": "th", "signature": "U0lHMQ=="}),
        json!({"type": "reasoning", "reasoning": "th", "extras": {"signature": "U0lHMQ=="}}),
    ];
    for form in forms {
        let of_gemini = chat(&form, &json!({"model_provider": "google_genai"}));
        assert_comes_back(&of_gemini);
        assert_is_text_nowhere(&of_gemini);
        for to in [&Anthropic as &dyn Dialect, named("bedrock-converse")] {
            let rendered = stored_in(to, &LangChain, &of_gemini);
            assert_eq!(rendered.messages[1]["content"].as_array().map(Vec::len), Some(1));
            assert!(rendered.repaired.iter().any(|it| it.repair.slug() == "reasoning_removed"));
        }
        let claude = json!({"model_provider": "google_vertexai", "model_name": "claude-x"});
        let answer = answer_in(&Anthropic, &chat(&form, &claude));
        assert_eq!(answer["content"][0]["signature"], "U0lHMQ==");
    }
}

#[test]
fn reasoning_that_stands_beside_the_content_as_well_is_there_once() {
    let mut chat = chat(&json!({"type": "reasoning", "reasoning": "th"}), &json!({}));
    chat[1]["data"]["additional_kwargs"] = json!({"reasoning_content": "th"});
    assert_is_text_nowhere(&chat);
    let own = stored_in(&LangChain, &LangChain, &chat);
    assert_eq!(own.messages[1]["data"]["content"], chat[1]["data"]["content"]);
    assert_eq!(own.messages[1]["data"]["additional_kwargs"], json!({"reasoning_content": "th"}));
    assert_eq!(answer_in(&OpenAiCompatible, &chat)["reasoning_content"], "th");
}

#[test]
fn what_the_library_wraps_is_what_it_was() {
    let compaction = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "E"});
    let wrapped = json!({"type": "non_standard", "value": compaction, "index": "lc_1"});
    let chat = chat(&wrapped, &json!({"model_provider": "openai"}));
    assert_comes_back(&chat);
    assert_eq!(answer_in(&OpenAiResponses, &chat), compaction);
}

#[test]
fn tools_of_a_server_are_those_of_their_provider() {
    let call = json!({"type": "server_tool_call", "name": "web_search", "args": {"query": "x"}, "id": "srvtoolu_1"});
    let found = json!([{"type": "web_search_result", "url": "http://x", "title": "t", "encrypted_content": "E"}]);
    let result = json!({"type": "server_tool_result", "tool_call_id": "srvtoolu_1", "status": "success",
        "output": found, "extras": {"block_type": "web_search_tool_result"}});
    let mut claude = chat(&call, &json!({"model_provider": "anthropic"}));
    claude[1]["data"]["content"] = json!([call, result, {"type": "text", "text": "ans"}]);
    assert_comes_back(&claude);
    let content = answer_in(&Anthropic, &claude)["content"].clone();
    let called = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}});
    let answered =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found});
    assert_eq!(content, json!([called, answered, {"type": "text", "text": "ans"}]));

    let action = json!({"type": "search", "query": "x"});
    let call =
        json!({"type": "server_tool_call", "name": "web_search", "args": action, "id": "ws_1"});
    let result = json!({"type": "server_tool_result", "tool_call_id": "ws_1", "status": "success",
        "output": {"sources": []}});
    let mut openai = claude;
    openai[1]["data"]["content"] = json!([call, result, {"type": "text", "text": "ans"}]);
    assert_comes_back(&openai);
    let item =
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action});
    assert_eq!(answer_in(&OpenAiResponses, &openai), item);
}

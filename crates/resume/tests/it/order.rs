//! The order of what a model thought, said and called: the provider that signed the thoughts refuses another one.

use resume::Repair;
use resume::dialect::{
    self, Anthropic, Dialect, LangChain, OpenAiResponses, PydanticAi, Rendered, UiMessage,
};
use serde_json::{Value, json};

use crate::round_trip::stored_in;

fn anthropic() -> Value {
    json!([
        {"role": "user", "content": "Compare them."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "A first.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "read", "input": {}},
            {"type": "thinking", "thinking": "And B.", "signature": "bmF0"},
            {"type": "tool_use", "id": "b", "name": "read", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "2"},
        ]},
    ])
}

fn bedrock() -> Value {
    let thought = |text: &str, signature: &str| json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}});
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "read", "input": {}}});
    let result = |id: &str, text: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": text}]}});
    json!([
        {"role": "user", "content": [{"text": "Compare them."}]},
        {"role": "assistant", "content": [
            thought("A first.", "c2ln"), {"text": "I look."}, call("a"), thought("And B.", "bmF0"), call("b"),
        ]},
        {"role": "user", "content": [result("a", "1"), result("b", "2")]},
    ])
}

fn pydantic(parts: &[Value]) -> Value {
    let result = |id: &str, text: &str| json!({"part_kind": "tool-return", "tool_name": "read", "content": text, "tool_call_id": id});
    json!([
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Compare them."}]},
        {"kind": "response", "parts": parts},
        {"kind": "request", "parts": [result("a", "1"), result("b", "2")]},
    ])
}

fn pydantic_call(id: &str) -> Value {
    json!({"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": id})
}

fn pydantic_of_anthropic() -> Value {
    let thought = |text: &str, signature: &str| json!({"part_kind": "thinking", "content": text, "signature": signature, "provider_name": "anthropic"});
    pydantic(&[
        thought("A first.", "c2ln"),
        json!({"part_kind": "text", "content": "I look."}),
        pydantic_call("a"),
        thought("And B.", "bmF0"),
        pydantic_call("b"),
    ])
}

fn langchain() -> Value {
    let call = |id: &str| json!({"name": "read", "args": {}, "id": id, "type": "tool_call"});
    let data = json!({
        "content": anthropic()[1]["content"], "tool_calls": [call("a"), call("b")],
    });
    let result = |id: &str, text: &str| json!({"type": "tool", "data": {"content": text, "tool_call_id": id, "name": "read"}});
    json!([
        {"type": "human", "data": {"content": "Compare them."}},
        {"type": "ai", "data": data},
        result("a", "1"),
        result("b", "2"),
    ])
}

/// Returns what the answers in a transcript have, in order: what was thought and said, and the ids of the calls.
fn order(messages: &[Value]) -> Vec<String> {
    let paths = [
        "/thinking",
        "/text",
        "/reasoningContent/reasoningText/text",
        "/toolUse/toolUseId",
        "/tool_call_id",
        "/call_id",
        "/content",
        "/content/0/text",
        "/id",
    ];
    let is_answer = |message: &&Value| {
        let role = message.get("role").or(message.get("kind"));
        role.is_none_or(|role| role == "assistant" || role == "response")
    };
    // Those of LangChain are in their data, with their type.
    let data = |message: &Value| match message["type"].as_str() {
        Some("ai") => Some(json!({"content": message["data"]["content"]})),
        Some("human" | "tool") => None,
        _ => Some(message.clone()),
    };
    let messages: Vec<_> = messages.iter().filter_map(data).collect();
    let blocks = messages.iter().filter(is_answer).flat_map(|message| {
        let blocks = message.get("parts").or(message.get("content"));
        let is_item = message.get("type").is_some();
        let blocks = blocks.and_then(Value::as_array).filter(|_| !is_item);
        blocks.cloned().unwrap_or_else(|| vec![message.clone()])
    });
    let is_output = |block: &Value| block["type"] == "function_call_output";
    let texts = blocks.filter(|block| !is_output(block)).map(|block| {
        let found = paths.iter().filter_map(|path| block.pointer(path)?.as_str());
        let mut found = found.filter(|text| !text.is_empty());
        found.next().unwrap_or_default().to_owned()
    });
    texts.collect()
}

/// Returns what was changed, but for fields that only the source has.
fn losses(rendered: &Rendered) -> Vec<Repair> {
    let repairs = rendered.repaired.iter().map(|it| it.repair.clone());
    repairs.filter(|it| *it != Repair::ProviderFieldsRemoved).collect()
}

#[test]
fn signed_thoughts_between_calls_stay_there() {
    let bedrock_converse = dialect::named("bedrock-converse").unwrap();
    let sources: [(&dyn Dialect, Value); 4] = [
        (&Anthropic, anthropic()),
        (bedrock_converse, bedrock()),
        (&PydanticAi, pydantic_of_anthropic()),
        (&LangChain, langchain()),
    ];
    let targets: [&dyn Dialect; 4] = [&Anthropic, bedrock_converse, &PydanticAi, &LangChain];
    for (from, messages) in sources {
        for to in targets {
            let rendered = stored_in(to, from, messages.as_array().unwrap());
            let expected = ["A first.", "I look.", "a", "And B.", "b"];
            assert_eq!(order(&rendered.messages), expected, "{from:?} {to:?}");
            assert_eq!(losses(&rendered), [], "{from:?} {to:?}");
        }
    }
}

#[test]
fn encrypted_reasoning_between_texts_and_calls_stays_there() {
    let reasoning =
        |id: &str| json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "e"});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let text = json!([{"type": "output_text", "text": "I look.", "annotations": []}]);
    let said = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": text,
    });
    let items = json!([
        {"role": "user", "content": "Compare them."},
        reasoning("rs_1"), said, reasoning("rs_2"), call("a"), reasoning("rs_3"), call("b"),
        output("a", "1"), output("b", "2"),
    ]);
    let thought = |id: &str| {
        json!({
            "part_kind": "thinking", "content": "", "id": id, "signature": "e", "provider_name": "openai",
        })
    };
    let parts = pydantic(&[
        thought("rs_1"),
        json!({"part_kind": "text", "content": "I look."}),
        thought("rs_2"),
        pydantic_call("a"),
        thought("rs_3"),
        pydantic_call("b"),
    ]);
    let sources: [(&dyn Dialect, Value); 2] = [(&OpenAiResponses, items), (&PydanticAi, parts)];
    for (from, messages) in sources {
        for to in [&OpenAiResponses as &dyn Dialect, &PydanticAi] {
            let rendered = stored_in(to, from, messages.as_array().unwrap());
            let expected = ["rs_1", "I look.", "rs_2", "a", "rs_3", "b"];
            assert_eq!(order(&rendered.messages), expected, "{from:?} {to:?}");
            assert_eq!(losses(&rendered), [], "{from:?} {to:?}");
        }
        let shown = stored_in(&UiMessage, from, messages.as_array().unwrap());
        let parts = shown.messages[1..].iter().filter_map(|message| message["parts"].as_array());
        let kinds: Vec<_> = parts.flatten().map(|part| &part["type"]).collect();
        // What is behind a call is of another step there.
        let expected =
            ["reasoning", "text", "reasoning", "reasoning", "dynamic-tool", "dynamic-tool"];
        assert_eq!(kinds, expected, "{from:?}");
    }
}

//! What Gemini signed, as each library keeps it.

use resume::dialect::{self, Dialect, LangChain, PydanticAi, UiMessage};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, stored_in};

fn named(name: &str) -> &'static dyn Dialect {
    dialect::named(name).unwrap_or_else(|| panic!("no dialect {name}"))
}

/// Checks that Gemini gets the signature of the first call back, and that nothing is put in its place.
fn assert_given_to_gemini(from: &dyn Dialect, messages: &[Value]) {
    let rendered = stored_in(named("gemini"), from, messages);
    let parts = rendered.messages.iter().filter_map(|content| content["parts"].as_array());
    let mut calls = parts.flatten().filter(|part| part.get("functionCall").is_some());
    assert_eq!(calls.next().map(|part| &part["thoughtSignature"]), Some(&json!("U0lH")));
    assert!(rendered.repaired.iter().all(|it| it.repair.slug() != "signature_added"));
}

#[test]
fn signatures_of_calls_in_langchain_come_back() {
    let call = |id: &str| json!({"name": "f", "args": {}, "id": id, "type": "tool_call"});
    let signatures = json!({"__gemini_function_call_thought_signatures__": {"c1": "U0lH"}});
    let typed = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let result = |id: &str| typed("tool", json!({"content": "r", "tool_call_id": id}));
    let messages = [
        typed("human", json!({"content": "q"})),
        typed(
            "ai",
            json!({"content": "", "additional_kwargs": signatures, "tool_calls": [call("c1"), call("c2")]}),
        ),
        result("c1"),
        result("c2"),
    ];
    let own = stored_in(&LangChain, &LangChain, &messages);
    assert_eq!(own.messages[1]["data"]["additional_kwargs"], signatures);
    assert_eq!(own.repaired, []);
    assert_given_to_gemini(&LangChain, &messages);
}

#[test]
fn signatures_of_calls_in_pydantic_ai_come_back() {
    let details = json!({"thought_signature": "U0lH", "other": 1});
    for details in [details, json!({"thought_signature": "U0lH"})] {
        let call = json!({"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "c1",
            "provider_name": "google-gla", "provider_details": details});
        let prompt = json!({"part_kind": "user-prompt", "content": "q"});
        let result = json!({"part_kind": "tool-return", "tool_name": "f", "content": "r", "tool_call_id": "c1", "outcome": "success"});
        let messages = [
            json!({"kind": "request", "parts": [prompt]}),
            json!({"kind": "response", "parts": [call]}),
            json!({"kind": "request", "parts": [result]}),
        ];
        assert_kept(&PydanticAi, &messages);
        assert_given_to_gemini(&PydanticAi, &messages);
        let other = stored_in(&LangChain, &PydanticAi, &messages);
        let back = stored_in(&PydanticAi, &LangChain, &other.messages);
        let part = back.messages[1]["parts"].as_array().and_then(|parts| parts.last()).unwrap();
        assert_eq!(part["provider_details"], json!({"thought_signature": "U0lH"}));
        assert_eq!(part["provider_name"], "google");
    }
}

#[test]
fn signatures_of_calls_in_messages_of_the_ai_sdk_come_back() {
    for provider in ["google", "vertex"] {
        let mut call = json!({"type": "dynamic-tool", "toolName": "f", "toolCallId": "c1", "state": "output-available",
            "input": {}, "output": 1});
        call["callProviderMetadata"] = json!({provider: {"thoughtSignature": "U0lH"}});
        let messages = [
            json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "q"}]}),
            json!({"id": "2", "role": "assistant", "parts": [call]}),
        ];
        assert_kept(&UiMessage, &messages);
        assert_given_to_gemini(&UiMessage, &messages);
    }
}

/// Strands Agents keeps its messages in the form of Bedrock.
#[test]
fn signatures_of_calls_in_strands_come_back() {
    let bedrock = named("bedrock-converse");
    let call = json!({"toolUseId": "c1", "name": "f", "input": {}, "reasoningSignature": "U0lH"});
    let result = json!({"toolUseId": "c1", "content": [{"text": "r"}]});
    let messages = [
        json!({"role": "user", "content": [{"text": "q"}]}),
        json!({"role": "assistant", "content": [{"toolUse": call}]}),
        json!({"role": "user", "content": [{"toolResult": result}]}),
    ];
    assert_kept(bedrock, &messages);
    assert_given_to_gemini(bedrock, &messages);
    let other = stored_in(named("gemini"), bedrock, &messages).messages;
    let rendered = stored_in(bedrock, named("gemini"), &other);
    assert_eq!(rendered.messages[1]["content"][0]["toolUse"].get("reasoningSignature"), None);
    let noted: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
    assert_eq!(noted, ["call_fields_removed"]);
}

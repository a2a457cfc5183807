use records::MessageBody;
use resume::dialect::{Anthropic, Dialect, LangChain, OpenAi, OpenAiResponses};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::round_trip::stored_in;
use crate::transcript::{rendered_in, violations};

mod reasoning;

fn prepared(messages: Value) -> Vec<Value> {
    let Value::Array(mut messages) = messages else { panic!("messages are a list") };
    LangChain.prepare(&mut messages);
    messages
}

fn with_calls() -> Vec<Value> {
    let call = json!({"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"});
    let blocks = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
    ]);
    let data = json!({"content": blocks, "tool_calls": [call], "id": "m1"});
    let result = json!({"content": "done", "tool_call_id": "c", "id": "m2", "artifact": [1]});
    vec![json!({"type": "ai", "data": data}), json!({"type": "tool", "data": result})]
}

#[test]
fn blocks_that_repeat_a_call_are_no_text_in_other_formats() {
    let rendered = stored_in(&OpenAi, &LangChain, &with_calls()).messages;
    assert_eq!(rendered[0]["content"], json!([{"type": "text", "text": "Let me see."}]));
    assert_eq!(rendered[0]["tool_calls"][0]["function"]["name"], "f");
    let rendered = stored_in(&Anthropic, &LangChain, &with_calls()).messages;
    let kinds = rendered[1]["content"].as_array().into_iter().flatten().map(|it| &it["type"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["thinking", "text", "tool_use"]);
}

#[test]
fn the_blocks_of_a_call_without_a_result_go_with_it() {
    let rendered = stored_in(&LangChain, &LangChain, &with_calls()[..1]).messages;
    let kinds = rendered[0]["data"]["content"].as_array().into_iter().flatten();
    assert_eq!(kinds.map(|it| &it["type"]).collect::<Vec<_>>(), ["thinking", "text"]);
    assert_eq!(violations(&LangChain, &rendered), []);
}

#[test]
fn constructors_chunks_and_plain_messages_are_the_same_messages() {
    let data = json!({"content": "hi", "id": "m1", "usage_metadata": {"input_tokens": 1}});
    let constructor = json!({"lc": 1, "type": "constructor",
        "id": ["langchain", "schema", "messages", "AIMessage"],
        "kwargs": {"content": "hi", "id": "m1", "type": "ai", "usage_metadata": {"input_tokens": 1}}});
    let mut chunk = json!({"type": "AIMessageChunk", "data": data});
    chunk["data"]["tool_call_chunks"] = json!([]);
    chunk["data"]["chunk_position"] = "last".into();
    let mut plain = data.clone();
    plain["role"] = "ai".into();
    let typed = stored_in(&LangChain, &LangChain, &prepared(json!([{"type": "ai", "data": data}])));
    assert_eq!(typed.messages[0]["data"]["usage_metadata"], json!({"input_tokens": 1}));
    for other in [constructor, chunk, plain] {
        let messages = prepared(json!([other]));
        assert_eq!(violations(&LangChain, &messages), []);
        assert_eq!(stored_in(&LangChain, &LangChain, &messages), typed);
    }
}

/// A person with the permission `say` chooses the own fields of a message.
#[test]
fn own_fields_of_a_user_change_no_role_and_stop_no_rendering() {
    for own in [
        json!({"role": "system"}),
        json!({"role": "assistant"}),
        json!({"role": "tool"}),
        json!({"invalid_tool_calls": [{"name": "f", "args": "{", "id": "c"}]}),
    ] {
        let mut said = MessageBody::new("user", None, "Hello.");
        said.extra.insert(MessageBody::PROVIDER.to_owned(), json!({"langchain": own}));
        let rendered = rendered_in(&LangChain, vec![said.into()]).messages;
        assert_eq!(rendered[0]["type"], "human", "{own}");
        assert_eq!(violations(&LangChain, &rendered), [], "{own}");
    }
}

/// What comes with a message is the caller's: it never replaces what the log says.
#[test]
fn own_fields_change_nothing_that_is_stored() {
    let mut parsed = LangChain.parse(Vec::new(), with_calls()).messages;
    for message in &mut parsed {
        let own = json!({"content": 5, "type": "remove", "tool_calls": 1, "tool_call_id": "x",
            "id": "m9", "name": {}, "role": "critic", "additional_kwargs": {"tool_calls": [{"id": "z"}]}});
        message.body.extra.insert("provider".to_owned(), json!({"langchain": own}));
    }
    let rendered = rendered_in(&LangChain, parsed);
    assert_eq!(violations(&LangChain, &rendered.messages), []);
    assert_eq!(rendered.messages[0]["data"]["additional_kwargs"].get("tool_calls"), None);
    assert_eq!(rendered.messages[1]["data"]["tool_call_id"], "c");
}

/// `ChatMessage.model_dump()` has the type and the role beside each other.
#[test]
fn a_dumped_message_may_have_any_role() {
    let said = json!({"content": "hm", "type": "chat", "role": "critic", "id": "c1"});
    let checked = ingest::check(&LangChain, std::slice::from_ref(&said), Check::Lenient);
    assert_eq!(checked.refused, []);
    let parsed = LangChain.parse(Vec::new(), vec![said]);
    assert_eq!(parsed.messages[0].body.name.as_deref(), Some("critic"));
    let unknown = json!({"content": "hm", "role": "critic"});
    assert_eq!(ingest::check(&LangChain, &[unknown], Check::Lenient).refused.len(), 1);
}

#[test]
fn the_result_of_an_invalid_call_stays_with_it() {
    let invalid =
        json!({"type": "invalid_tool_call", "id": "c1", "name": "f", "args": "{bad", "error": "e"});
    let chat = [
        json!({"type": "human", "data": {"type": "human", "content": "x", "id": "h1"}}),
        json!({"type": "ai", "data": {"type": "ai", "id": "a1", "content": "", "tool_calls": [],
            "invalid_tool_calls": [invalid]}}),
        json!({"type": "tool", "data": {"type": "tool", "id": "t1", "tool_call_id": "c1", "content": "bad JSON"}}),
        json!({"type": "ai", "data": {"type": "ai", "id": "a2", "content": "sorry"}}),
    ];
    let own = stored_in(&LangChain, &LangChain, &chat);
    assert_eq!(own.messages.len(), 4, "{own:?}");
    assert_eq!(own.messages[1]["data"]["invalid_tool_calls"], json!([invalid]));
    assert_eq!(own.messages[1]["data"]["tool_calls"], json!([]));
    assert_eq!(own.messages[2]["data"]["tool_call_id"], "c1");
    let rendered = stored_in(&OpenAi, &LangChain, &chat);
    assert_eq!(rendered.messages[1]["tool_calls"][0]["id"], "c1");
    assert_eq!(rendered.messages[2]["content"], "bad JSON");
}

/// `langchain-aws` takes blocks of Bedrock as they are, which have no type.
#[test]
fn the_blocks_of_bedrock_without_a_type_come_back_and_are_no_text_elsewhere() {
    let cached = json!({"cachePoint": {"type": "default"}});
    let guarded = json!({"guardContent": {"text": {"text": "Mind.", "qualifiers": ["query"]}}});
    let text = json!({"type": "text", "text": "Hi."});
    let call = json!({"name": "f", "args": {}, "id": "c", "type": "tool_call"});
    let called = json!({"type": "tool_use", "id": "c", "name": "f", "input": {}});
    let typed = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let chat = [
        typed("system", json!({"content": [text, cached], "id": "m1"})),
        typed("human", json!({"content": [guarded, text, cached], "id": "m2"})),
        typed("ai", json!({"content": [text, called, cached], "tool_calls": [call], "id": "m3"})),
        typed("tool", json!({"content": [text, cached], "tool_call_id": "c", "id": "m4"})),
    ];
    let own = stored_in(&LangChain, &LangChain, &chat);
    for (written, given) in own.messages.iter().zip(&chat) {
        assert_eq!(written["data"]["content"], given["data"]["content"]);
    }
    assert_eq!(own.repaired, []);
    let rendered = stored_in(&OpenAi, &LangChain, &chat);
    let mind = json!({"type": "text", "text": "Mind."});
    assert_eq!(rendered.messages[0]["content"], json!([text]));
    assert_eq!(rendered.messages[1]["content"], json!([mind, text]));
    assert_eq!(rendered.messages[3]["content"], json!([text]));
    let noted: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
    assert_eq!(noted, ["provider_fields_removed"; 4]);
}

#[test]
fn a_message_whose_content_is_an_empty_list_comes_back() {
    let kwargs = json!({"tool_outputs": [{"type": "image_generation_call"}]});
    let call = json!({"name": "f", "args": {}, "id": "c", "type": "tool_call"});
    let chat = [
        json!({"type": "human", "data": {"content": [], "id": "m1"}}),
        json!({"type": "ai", "data": {"content": [], "id": "m2", "additional_kwargs": kwargs,
            "usage_metadata": {"input_tokens": 1}}}),
        json!({"type": "ai", "data": {"content": [], "id": "m3", "tool_calls": [call]}}),
        json!({"type": "tool", "data": {"content": "r", "id": "m4", "tool_call_id": "c"}}),
    ];
    let own = stored_in(&LangChain, &LangChain, &chat);
    assert_eq!(own.messages.len(), 4);
    for written in &own.messages[..3] {
        assert_eq!(written["data"]["content"], json!([]));
    }
    assert_eq!(own.messages[1]["data"]["additional_kwargs"], kwargs);
    assert_eq!(own.messages[1]["data"]["usage_metadata"], json!({"input_tokens": 1}));
    assert_eq!((own.repaired, own.dropped), (Vec::new(), Vec::new()));
}

#[test]
fn the_context_of_a_document_is_beside_the_file() {
    let source = json!({"type": "text", "media_type": "text/plain", "data": "Nine."});
    let document = json!({"type": "document", "source": source, "title": "a", "context": "A list.",
        "citations": {"enabled": true}});
    let chat = [json!({"role": "user", "content": [document]})];
    let rendered = stored_in(&LangChain, &Anthropic, &chat);
    let file = json!({"type": "file", "base64": "TmluZS4=", "mime_type": "text/plain",
        "extras": {"filename": "a", "context": "A list.", "citations": {"enabled": true}}});
    assert_eq!(rendered.messages[0]["data"]["content"], json!([file]));
    assert_eq!(rendered.repaired, []);
    let own = stored_in(&LangChain, &LangChain, &rendered.messages);
    assert_eq!(own.messages, rendered.messages);
}

#[test]
fn a_call_of_a_custom_tool_of_openai_is_one_in_the_responses_api() {
    let block = json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "f", "input": "raw"});
    let wrapped = json!({"type": "non_standard", "value": block});
    for content in [block, wrapped] {
        let call =
            json!({"name": "f", "args": {"__arg1": "raw"}, "id": "call_1", "type": "tool_call"});
        let data = json!({"content": [content], "tool_calls": [call], "id": "m1"});
        let result = json!({"content": "done", "tool_call_id": "call_1", "id": "m2"});
        let chat = [json!({"type": "ai", "data": data}), json!({"type": "tool", "data": result})];
        let own = stored_in(&LangChain, &LangChain, &chat);
        assert_eq!(own.messages[0]["data"]["content"], data["content"]);
        assert_eq!(own.messages[0]["data"]["tool_calls"], data["tool_calls"]);
        assert_eq!(own.repaired, []);
        let items = stored_in(&OpenAiResponses, &LangChain, &chat).messages;
        let called =
            json!({"type": "custom_tool_call", "call_id": "call_1", "name": "f", "input": "raw"});
        let answered =
            json!({"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"});
        assert_eq!(items, [called, answered]);
    }
}

use resume::dialect::{Anthropic, Dialect, Gemini, GeminiApi, OpenAi, OpenAiCompatible};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, stored_in};

use super::{call, caller, dropped, render, repaired, result};

#[test]
fn arguments_become_text_and_the_type_is_added() {
    let calls = json!([
        {"id": "a", "function": {"name": "f", "arguments": {"b": 1, "a": [null]}}},
        {"id": "b", "type": "function", "function": {"name": "f"}},
        {"id": "c", "type": "custom", "custom": {"name": "g", "input": "plain"}},
    ]);
    let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
    let rendered = render(&[message, result("c"), result("b"), result("a")]);
    let calls = &rendered.messages[0]["tool_calls"];
    assert_eq!(rendered.messages[0]["content"], json!(null));
    assert_eq!(calls[0]["type"], "function");
    assert_eq!(calls[0]["function"]["arguments"], r#"{"b":1,"a":[null]}"#);
    assert_eq!(calls[1]["function"]["arguments"], "{}");
    assert_eq!(calls[2]["custom"], json!({"name": "g", "input": "plain"}));
    let slugs: Vec<_> = repaired(&rendered).into_iter().map(|(_, slug)| slug).collect();
    let expected = [
        "empty_content_removed",
        "call_type_added",
        "arguments_serialised",
        "arguments_serialised",
    ];
    assert_eq!(slugs, expected);
}

#[test]
fn empty_calls_are_omitted_without_report() {
    for none in [json!(null), json!([])] {
        let message = json!({
            "role": "assistant", "content": "x", "tool_calls": none, "function_call": null,
        });
        let rendered = render(&[message]);
        assert_eq!(rendered.messages, [json!({"role": "assistant", "content": "x"})]);
        assert_eq!(rendered.repaired, []);
    }
}

#[test]
fn names_are_sanitised_and_mapped_to_their_originals() {
    let named = |name: &str| json!({"role": "assistant", "name": name, "content": "x"});
    let long = "n".repeat(70);
    let speakers = ["chat manager", "Zoë", "chat_manager", "chat manager", &long];
    let rendered = render(&speakers.map(named));
    let name = |index: usize| rendered.messages[index]["name"].as_str().unwrap();
    assert_eq!((name(1), name(2), name(4)), ("Zo_", "chat_manager", &long[..64]));
    assert!(name(0).starts_with("chat_manager_"));
    assert_eq!(name(0), name(3));
    assert_eq!(rendered.names.len(), 3);
    assert_eq!(rendered.names[name(0)], "chat manager");
    assert_eq!(rendered.names[name(4)], long);
    let repaired: Vec<_> = repaired(&rendered).into_iter().map(|(index, _)| index).collect();
    assert_eq!(repaired, [0, 1, 3, 4]);
}

#[test]
fn refusals_are_kept() {
    let refusal =
        |content: Value| json!({"role": "assistant", "content": content, "refusal": "no"});
    let rendered = render(&[refusal(json!("x")), refusal(json!(null))]);
    assert_eq!(rendered.messages[0], refusal(json!("x")));
    assert_eq!(rendered.messages[1]["content"], json!([{"type": "refusal", "refusal": "no"}]));
    assert_eq!(repaired(&rendered), [(1, "refusal_moved")]);
}

#[test]
fn legacy_function_calls_are_kept_without_tool_calls() {
    let target = json!({"name": "f", "arguments": {"a": 1}});
    let alone = json!({"role": "assistant", "content": null, "function_call": target});
    let mut beside = caller(None::<&str>, &["a"]);
    beside["function_call"] = target;
    let answer = json!({"role": "function", "name": "f", "content": "done"});
    let rendered = render(&[alone, answer, beside, result("a")]);
    assert_eq!(rendered.messages[0]["function_call"]["arguments"], r#"{"a":1}"#);
    assert_eq!(rendered.messages[1]["name"], "f");
    assert_eq!(rendered.messages[2].get("function_call"), None);
    assert_eq!(repaired(&rendered), [(0, "arguments_serialised"), (2, "field_removed")]);
    let nameless = json!({"role": "function", "content": "done"});
    assert_eq!(dropped(&render(&[nameless])), [(0, "missing_name")]);
}

#[test]
fn fields_of_other_roles_are_removed_and_reported() {
    let message = json!({"role": "user", "content": "x", "tool_calls": [call("a")], "refusal": ""});
    let rendered = render(&[message]);
    assert_eq!(rendered.messages, [json!({"role": "user", "content": "x"})]);
    assert_eq!(repaired(&rendered), [(0, "field_removed")]);
}

/// As `ChatCompletionMessage.model_dump()` of the library writes them, and as a stream that was cut off leaves them.
#[test]
fn messages_without_content_are_stored() {
    let refusal = json!({"role": "assistant", "content": null, "refusal": "No."});
    let spoken = json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}});
    for said in [&refusal, &spoken] {
        let checked = ingest::check(&OpenAi, std::slice::from_ref(said), Check::Lenient);
        assert_eq!((checked.refused, checked.noted), (vec![], vec![]), "{said}");
    }
    let rendered = stored_in(&OpenAi, &OpenAi, &[refusal]);
    let part = json!([{"type": "refusal", "refusal": "No."}]);
    assert_eq!(rendered.messages, [json!({"role": "assistant", "content": part})]);
    assert_eq!(repaired(&rendered), [(0, "refusal_moved")]);
    for content in [json!(null), json!([])] {
        for role in ["user", "assistant", "system"] {
            let said = json!({"role": role, "content": content});
            let checked = ingest::check(&OpenAi, &[said], Check::Lenient);
            assert_eq!(checked.refused, []);
            assert_eq!(checked.noted[0].rule, "missing_content");
        }
        let silent = json!({"role": "assistant", "content": content});
        assert_eq!(dropped(&render(&[silent])), [(0, "null_content")]);
    }
    let wrong = json!({"role": "user", "content": {"a": 1}});
    assert_eq!(ingest::check(&OpenAi, &[wrong], Check::Lenient).refused.len(), 1);
}

/// An answer that was spoken has an id by which the provider knows it, and the library dumps its transcript.
#[test]
fn what_a_model_spoke_comes_back_by_its_id_and_is_a_text_elsewhere() {
    let user = json!({"role": "user", "content": "hi"});
    let by_id = json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}});
    for dialect in [&OpenAi as &dyn Dialect, &OpenAiCompatible] {
        assert_kept(dialect, &[user.clone(), by_id.clone(), user.clone()]);
    }
    let alone = stored_in(&Anthropic, &OpenAi, &[user.clone(), by_id.clone(), user.clone()]);
    assert_eq!(dropped(&alone), [(1, "null_content")]);

    let audio = json!({"id": "audio_1", "data": "UklG", "expires_at": 1, "transcript": "Hello."});
    let dumped = json!({"role": "assistant", "content": null, "audio": audio});
    let chat = [user.clone(), dumped, user.clone()];
    let rendered = stored_in(&OpenAi, &OpenAi, &chat);
    assert_eq!((&rendered.messages[1], &rendered.repaired[..]), (&by_id, &[][..]));
    let rendered = stored_in(&OpenAiCompatible, &OpenAi, &chat);
    let mut spoken = by_id.clone();
    spoken["content"] = json!("Hello.");
    assert_eq!((&rendered.messages[1], &rendered.repaired[..]), (&spoken, &[][..]));
    let rendered = stored_in(&Anthropic, &OpenAi, &chat);
    assert_eq!(rendered.messages[1]["content"][0]["text"], "Hello.");
    assert_eq!(repaired(&rendered), [(1, "provider_fields_removed")]);

    // Without an id there is nothing to refer to.
    let nameless = json!({"role": "assistant", "content": null, "audio": {"id": ""}});
    assert_eq!(dropped(&stored_in(&OpenAi, &OpenAi, &[nameless])), [(0, "null_content")]);
}

#[test]
fn what_other_providers_say_of_reasoning_comes_back_to_them() {
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let details =
        json!([{"type": "reasoning.text", "text": "hm", "format": "anthropic-claude-v1"}]);
    let answer = json!({
        "role": "assistant", "content": "hello", "reasoning_content": "hm",
        "thinking_blocks": thinking, "reasoning_details": details,
    });
    let chat = [json!({"role": "user", "content": "hi"}), answer];
    assert_kept(&OpenAiCompatible, &chat);
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
    assert_eq!(repaired(&rendered), [(1, "provider_fields_removed"), (1, "reasoning_removed")]);
    for wrong in [json!("hm"), json!(["hm"])] {
        let mut chat = chat.clone();
        chat[1]["thinking_blocks"] = wrong;
        let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat);
        assert!(rendered.messages[1].get("thinking_blocks").is_none());
        assert_eq!(repaired(&rendered), [(1, "provider_fields_removed")]);
    }
    let mut silent = chat[1].clone();
    silent["content"] = json!(null);
    let chat = [chat[0].clone(), silent];
    let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat);
    assert_eq!(rendered.messages[1]["content"], "");
    assert_eq!(rendered.messages[1]["thinking_blocks"], thinking);
    assert_eq!(repaired(&rendered), [(1, "null_content_filled")]);
    assert_eq!(dropped(&stored_in(&OpenAi, &OpenAiCompatible, &chat)), [(1, "only_reasoning")]);
}

/// litellm reads them again: what Anthropic compacted a conversation to, and what it found.
#[test]
fn what_litellm_keeps_of_a_provider_comes_back_to_it() {
    let kept = json!({"compaction_blocks": [{"type": "compaction", "content": "so far"}]});
    let items = json!([{"id": "rs_1", "type": "reasoning", "encrypted_content": "abc"}]);
    let answer = json!({"role": "assistant", "content": "hello",
        "provider_specific_fields": kept, "reasoning_items": items});
    let chat = [json!({"role": "user", "content": "hi"}), answer];
    assert_kept(&OpenAiCompatible, &chat);
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
    assert_eq!(repaired(&rendered), [(1, "provider_fields_removed")]);
    for (field, wrong) in
        [("provider_specific_fields", json!([kept])), ("reasoning_items", kept.clone())]
    {
        let mut chat = chat.clone();
        chat[1][field] = wrong;
        let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat);
        assert!(rendered.messages[1].get(field).is_none());
        assert_eq!(repaired(&rendered), [(1, "provider_fields_removed")]);
    }
}

#[test]
fn only_openai_limits_the_length_of_ids() {
    let id = format!("call_{}", "a".repeat(60));
    let chat = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call(&id)]}),
        json!({"role": "tool", "tool_call_id": id, "content": "done"}),
    ];
    assert_kept(&OpenAiCompatible, &chat);
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
    assert_eq!(repaired(&rendered), [(1, "call_id_sanitised"), (2, "call_id_sanitised")]);
}

/// `langchain-openai` gives a result the parts of any message.
#[test]
fn an_image_in_a_result_is_stored() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    let chat = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("a")]}),
        json!({"role": "tool", "tool_call_id": "a", "content": [image]}),
    ];
    for dialect in [&OpenAi as &dyn Dialect, &OpenAiCompatible] {
        let checked = ingest::check(dialect, &chat, Check::Lenient);
        assert_eq!(checked.refused, []);
        assert_eq!(checked.noted[0].rule, "part_not_accepted");
        assert_eq!(ingest::check(dialect, &chat, Check::Strict).refused.len(), 1);
        let rendered = stored_in(dialect, dialect, &chat);
        let text = json!({"type": "text", "text": image.to_string()});
        assert_eq!(rendered.messages[2]["content"], json!([text]));
        assert_eq!(repaired(&rendered), [(2, "part_serialised")]);
        let rendered = stored_in(&Anthropic, dialect, &chat);
        assert_eq!(rendered.messages[2]["content"][0]["content"][0]["type"], "image");
    }
}

/// Mistral has its reasoning among the parts of an answer.
#[test]
fn the_thinking_of_mistral_is_reasoning() {
    let thinking = json!({"type": "thinking", "thinking": [
        {"type": "text", "text": "Hm. "}, {"type": "text", "text": "So."},
    ], "closed": true});
    let text = json!({"type": "text", "text": "Four."});
    let user = json!({"role": "user", "content": "2+2?"});
    let chat = |content: Value| {
        let mut chat = [user.clone(), json!({"role": "assistant", "content": content})];
        OpenAiCompatible.prepare(&mut chat);
        chat
    };
    let answered = chat(json!([thinking, text]));
    assert_eq!(ingest::check(&OpenAiCompatible, &answered, Check::Strict).refused, []);
    let expected = json!({"role": "assistant", "content": [text], "reasoning_content": "Hm. So."});
    let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &answered);
    assert_eq!((&rendered.messages[1], &rendered.repaired[..]), (&expected, &[][..]));
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &answered);
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed")]);
    // What is more than a text is stored, and its loss is reported.
    let mut signed = thinking.clone();
    signed["signature"] = json!("c2ln");
    let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat(json!([signed, text])));
    assert_eq!(rendered.messages[1], expected);
    assert_eq!(repaired(&rendered), [(1, "provider_fields_removed")]);
    let alone = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat(json!([thinking])));
    assert_eq!(alone.messages[1]["reasoning_content"], "Hm. So.");
}

/// `LiteLLM` and `OpenRouter` have the images that a model made in a field of their own.
#[test]
fn the_images_that_a_model_made_come_back_and_are_images_elsewhere() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}});
    let mut listed = image.clone();
    listed["index"] = json!(0);
    let user = json!({"role": "user", "content": "Draw."});
    for content in [json!("Here."), json!("")] {
        let answer = json!({"role": "assistant", "content": content, "images": [listed]});
        let chat = [user.clone(), answer, user.clone()];
        assert_kept(&OpenAiCompatible, &chat);
        let rendered = stored_in(&Gemini { api: GeminiApi::Developer }, &OpenAiCompatible, &chat);
        let parts = rendered.messages[1]["parts"].as_array().unwrap();
        let inline = json!({"inlineData": {"mimeType": "image/png", "data": "iVBO"}});
        assert_eq!(parts.last(), Some(&inline));
        assert_eq!(rendered.repaired, []);
        let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
        assert_eq!(repaired(&rendered), [(1, "part_serialised")]);
    }
}

#[test]
fn a_video_is_one_for_other_providers_and_a_file_elsewhere() {
    let url = "data:video/mp4;base64,AAAA";
    let video = json!({"type": "video_url", "video_url": {"url": url}});
    let chat = [json!({"role": "user", "content": [{"type": "text", "text": "See."}, video]})];
    assert_kept(&OpenAiCompatible, &chat);
    let rendered = stored_in(&Gemini { api: GeminiApi::Developer }, &OpenAiCompatible, &chat);
    let inline = json!({"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}});
    assert_eq!(rendered.messages[0]["parts"][1], inline);
    assert_eq!(rendered.repaired, []);
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
    assert_eq!(repaired(&rendered), [(0, "part_serialised")]);
}

/// Kimi runs its own tools when their arguments come back to it as the result.
#[test]
fn the_built_in_functions_of_kimi_come_back_and_are_functions_elsewhere() {
    let function = json!({"name": "$web_search", "arguments": "{\"q\":\"sun\"}"});
    let call = json!({"id": "a", "type": "builtin_function", "function": function});
    let chat = [
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "a", "name": "$web_search", "content": "{}"}),
    ];
    let checked = ingest::check(&OpenAiCompatible, &chat, Check::Lenient);
    assert_eq!(checked.refused, []);
    let rendered = stored_in(&OpenAiCompatible, &OpenAiCompatible, &chat);
    assert_eq!(rendered.messages[1]["tool_calls"], json!([call]));
    assert_eq!(rendered.messages[2]["name"], "$web_search");
    let rendered = stored_in(&OpenAi, &OpenAiCompatible, &chat);
    let function = json!({"name": "_web_search", "arguments": "{\"q\":\"sun\"}"});
    let call = json!({"id": "a", "type": "function", "function": function});
    assert_eq!(rendered.messages[1]["tool_calls"], json!([call]));
}

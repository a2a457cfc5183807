//! What libraries and servers with the interface of another provider write besides what the format describes.

use resume::dialect::{
    Ag2Classic, AgUi, Anthropic, Dialect, Gemini, GeminiApi, LangChain, OpenAi, OpenAiCompatible,
    OpenAiResponses, Profile, Rendered,
};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::openai::{call, repaired, result, said};
use crate::round_trip::stored_in;
use crate::transcript::{rendered_in, violations};

const PNG: &str = "data:image/png;base64,iVBORw0K";

/// Returns the rules that are noted of messages, which must be accepted.
fn noted(dialect: &dyn Dialect, messages: &[Value]) -> Vec<&'static str> {
    let mut messages = messages.to_vec();
    dialect.prepare(&mut messages);
    let checked = ingest::check(dialect, &messages, Check::Lenient);
    assert_eq!(checked.refused, [], "{messages:?}");
    checked.noted.into_iter().map(|violation| violation.rule).collect()
}

/// Prepares, stores and renders messages.
fn passed(from: &dyn Dialect, to: &dyn Dialect, messages: &[Value]) -> Rendered {
    let mut messages = messages.to_vec();
    from.prepare(&mut messages);
    let rendered = stored_in(to, from, &messages);
    assert_eq!(violations(to, &rendered.messages), [], "{messages:?}");
    rendered
}

#[test]
fn parts_that_a_format_does_not_have_are_noted() {
    let chat: [&dyn Dialect; 2] = [&OpenAi, &OpenAiCompatible];
    for part in [
        json!({"type": "hologram", "hologram": {"url": "https://example.org/a.glb"}}),
        json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "flac"}}),
        json!({"type": "document_url", "document_url": "https://example.org/a.pdf"}),
    ] {
        for dialect in chat {
            let messages = [json!({"role": "user", "content": [part]})];
            assert_eq!(noted(dialect, &messages), ["unknown_block"], "{part}");
            let rendered = passed(dialect, dialect, &messages);
            assert_eq!(repaired(&rendered), [(0, "part_serialised")]);
        }
    }
    let video = json!({"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}});
    let message = json!({"role": "user", "content": [video]});
    assert_eq!(noted(&OpenAi, std::slice::from_ref(&message)), ["unknown_block"]);
    assert_eq!(noted(&OpenAiCompatible, &[message]), [""; 0]);
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "t"}]});
    let answer = json!({"role": "assistant", "content": [thinking, {"type": "text", "text": "a"}]});
    assert_eq!(noted(&OpenAi, &[said(), answer.clone()]), ["unknown_field"]);
    assert_eq!(noted(&OpenAiCompatible, &[said(), answer]), [""; 0]);
    let sound = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
    let message = json!({"role": "user", "content": [sound]});
    assert_eq!(noted(&OpenAiResponses, &[message]), ["unknown_block"]);
}

#[test]
fn other_spellings_of_parts_and_calls_are_read() {
    let image = json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}});
    for (given, read) in [
        (json!("plain"), json!({"type": "text", "text": "plain"})),
        (json!({"type": "input_text", "text": "x"}), json!({"type": "text", "text": "x"})),
        (json!({"type": "output_text", "text": "x"}), json!({"type": "text", "text": "x"})),
        (json!({"type": "image_url", "image_url": "https://example.org/a.png"}), image),
    ] {
        let messages = [json!({"role": "user", "content": [given]})];
        assert_eq!(noted(&OpenAi, &messages), [] as [&str; 0]);
        let rendered = passed(&OpenAi, &OpenAi, &messages);
        assert_eq!(rendered.messages[0]["content"], json!([read]));
    }
    let whole = call("a");
    for function in [
        json!({"name": "f", "arguments": {}}),
        json!({"name": "f", "arguments": null}),
        json!({"name": "f"}),
    ] {
        let bare = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": function}]});
        let mut answer = result("a");
        answer["content"] = json!({"ok": true});
        let messages = [said(), bare, answer];
        assert_eq!(noted(&OpenAiCompatible, &messages), [] as [&str; 0]);
        let rendered = passed(&OpenAiCompatible, &OpenAiCompatible, &messages);
        assert_eq!(rendered.messages[1]["tool_calls"], json!([whole]));
        assert_eq!(rendered.messages[2]["content"], r#"{"ok":true}"#);
    }
}

#[test]
fn unusual_names_of_functions_are_noted_and_mended() {
    let long = "f".repeat(100);
    for name in ["ns.tool:x", "get weather", "é", &long] {
        let mut calls = call("a");
        calls["function"]["name"] = name.into();
        let caller = json!({"role": "assistant", "content": null, "tool_calls": [calls]});
        let chat = [said(), caller, result("a")];
        let dialects: [&dyn Dialect; 3] =
            [&OpenAi, &OpenAiCompatible, &Ag2Classic { profile: Profile::Pattern }];
        for dialect in dialects {
            let noted = noted(dialect, &chat);
            assert!(noted.contains(&"invalid_name"), "{dialect:?}, {name}: {noted:?}");
            assert_eq!(passed(dialect, &OpenAi, &chat).messages.len(), 3);
        }
        let items = [
            json!({"role": "user", "content": "hi"}),
            json!({"type": "function_call", "call_id": "a", "name": name, "arguments": "{}"}),
            json!({"type": "function_call_output", "call_id": "a", "output": "x"}),
        ];
        assert_eq!(noted(&OpenAiResponses, &items), ["invalid_name"]);
        assert_eq!(passed(&OpenAiResponses, &OpenAiResponses, &items).messages.len(), 3);
    }
    let gemini = Gemini { api: GeminiApi::Developer };
    let contents = [
        json!({"role": "user", "parts": [{"text": "hi"}]}),
        json!({"role": "model", "parts": [{"functionCall": {"name": "get weather", "args": {}}}]}),
        json!({"role": "user", "parts": [{"functionResponse": {"name": "get weather", "response": {}}}]}),
    ];
    assert_eq!(noted(&gemini, &contents), ["invalid_name", "invalid_name"]);
    assert_eq!(passed(&gemini, &gemini, &contents).messages.len(), 3);
}

#[test]
fn media_of_libraries_are_media_in_other_formats() {
    let png =
        json!({"type": "image", "id": "lc_1", "base64": "iVBORw0K", "mime_type": "image/png"});
    let older = json!({"type": "image", "source_type": "base64", "data": "iVBORw0K", "mime_type": "image/png"});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0K"});
    let anthropic = json!({"type": "image", "source": source});
    for part in [png, older, anthropic.clone(), json!({"type": "image_url", "image_url": PNG})] {
        let messages = [json!({"type": "human", "data": {"content": [part]}})];
        let rendered = passed(&LangChain, &Anthropic, &messages);
        assert_eq!(rendered.messages[0]["content"], json!([anthropic]), "{part}");
        assert_eq!(repaired(&rendered), []);
        let rendered = passed(&LangChain, &OpenAi, &messages);
        assert_eq!(rendered.messages[0]["content"][0]["image_url"]["url"], PNG);
        // It comes back to its library as it was.
        let rendered = passed(&LangChain, &LangChain, &messages);
        assert_eq!(rendered.messages[0]["data"]["content"], json!([part]));
    }
}

#[test]
fn the_responses_api_gets_only_media_that_it_can_fetch() {
    for url in [
        "blob:https://example.org/1",
        "file:///a.png",
        "gs://b/a.png",
        "data:image/tiff;base64,AAAA",
    ] {
        let image = json!({"type": "image_url", "image_url": {"url": url}});
        let rendered =
            passed(&OpenAi, &OpenAiResponses, &[json!({"role": "user", "content": [image]})]);
        assert_eq!(repaired(&rendered), [(0, "part_serialised")], "{url}");
    }
    let file = json!({"type": "image", "source": {"type": "file", "file_id": "file_011abc"}});
    let message = json!({"role": "user", "content": [file]});
    let rendered = passed(&Anthropic, &OpenAiResponses, std::slice::from_ref(&message));
    assert_eq!(repaired(&rendered), [(0, "part_serialised")]);
    let rendered = passed(&Anthropic, &AgUi, &[message]);
    let part = &rendered.messages[0]["content"][0];
    assert_eq!(part["source"]["provider"], "anthropic");
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    let message = json!({"role": "user", "content": [{"type": "document", "source": pdf}]});
    let rendered = passed(&Anthropic, &OpenAiResponses, &[message]);
    assert_eq!(rendered.messages[0]["content"][0]["filename"], "file.pdf");
    assert_eq!(repaired(&rendered), [(0, "file_name_added")]);
}

#[test]
fn citations_of_other_libraries_are_not_given_to_the_responses_api() {
    let cited =
        json!({"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "u"}]});
    let messages = [
        json!({"type": "human", "data": {"content": "q"}}),
        json!({"type": "ai", "data": {"content": [cited]}}),
    ];
    let rendered = passed(&LangChain, &OpenAiResponses, &messages);
    assert_eq!(rendered.messages[1]["content"], "x");
    assert_eq!(repaired(&rendered), [(1, "part_fields_removed")]);
}

#[test]
fn calls_stay_where_a_model_made_them() {
    let thinking = |text| json!({"type": "thinking", "thinking": text, "signature": "c2ln"});
    let text = |text| json!({"type": "text", "text": text});
    let calls = |id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id| json!({"type": "tool_result", "tool_use_id": id, "content": "1"});
    for blocks in [
        json!([calls("a"), text("T1"), calls("b")]),
        json!([text("T1"), calls("a"), calls("b"), text("T2")]),
        json!([thinking("1"), calls("a"), thinking("2"), calls("b")]),
        json!([thinking("1"), text("T1"), calls("a"), calls("b")]),
    ] {
        let messages = [
            json!({"role": "user", "content": [text("hi")]}),
            json!({"role": "assistant", "content": blocks}),
            json!({"role": "user", "content": [result("a"), result("b")]}),
        ];
        let rendered = passed(&Anthropic, &Anthropic, &messages);
        assert_eq!(rendered, Rendered { messages: messages.to_vec(), ..Rendered::default() });
        assert_eq!(passed(&Anthropic, &OpenAi, &messages).messages.len(), 4);
    }
    let text = |text| json!({"text": text});
    let call = |id| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let signed = |mut part: Value| {
        part["thoughtSignature"] = "c2ln".into();
        part
    };
    let result =
        |id| json!({"functionResponse": {"id": id, "name": "f", "response": {"output": 1}}});
    for parts in [
        json!([signed(call("a")), text("T1"), call("b")]),
        json!([text("T1"), signed(call("a")), call("b"), signed(text("T2"))]),
        json!([signed(call("a")), call("b"), {"text": "", "thoughtSignature": "c2ln"}]),
        json!([text("T1"), signed(call("a")), call("b")]),
    ] {
        let messages = [
            json!({"role": "user", "parts": [text("hi")]}),
            json!({"role": "model", "parts": parts}),
            json!({"role": "user", "parts": [result("a"), result("b")]}),
        ];
        let gemini = Gemini { api: GeminiApi::Developer };
        let rendered = passed(&gemini, &gemini, &messages);
        assert_eq!(rendered, Rendered { messages: messages.to_vec(), ..Rendered::default() });
    }
}

#[test]
fn an_answer_that_only_thinks_comes_back_to_providers_that_read_it() {
    let details = json!([{"type": "reasoning.encrypted", "data": "e"}]);
    for answer in [
        json!({"role": "assistant", "content": null, "reasoning_content": "only thinking"}),
        json!({"role": "assistant", "content": null, "reasoning_details": details}),
    ] {
        let messages = [said(), answer.clone(), said()];
        let rendered = passed(&OpenAiCompatible, &OpenAiCompatible, &messages);
        let mut expected = answer;
        expected["content"] = "".into();
        assert_eq!(rendered.messages[1], expected);
        assert_eq!(passed(&OpenAiCompatible, &OpenAi, &messages).messages.len(), 2);
    }
}

#[test]
fn what_a_block_of_instructions_has_beside_its_text_is_reported() {
    let block =
        json!({"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}});
    for from in [&Anthropic as &dyn Dialect, &Gemini { api: GeminiApi::Developer }] {
        for to in [from, &OpenAi] {
            let system = vec![block.clone(), json!({"type": "text", "text": "Be kind."})];
            let rendered = rendered_in(to, from.parse(system, vec![said()]).messages);
            assert_eq!(repaired(&rendered)[0], (0, "provider_fields_removed"), "{from:?}");
            let texts: Vec<_> = match to.name() {
                "openai" => rendered.messages[..2].iter().map(|it| &it["content"]).collect(),
                _ => rendered.system.iter().map(|it| &it["text"]).collect(),
            };
            assert_eq!(texts, ["Be brief.", "Be kind."], "{from:?}");
        }
    }
}

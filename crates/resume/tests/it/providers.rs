//! What providers refuse although the format allows it: one test for each row of the table in
//! `docs/REPLAY.md`.

use resume::Options;
use resume::dialect::{
    self, Acp, Ag2Classic, Ag2V1, Anthropic, Dialect, Gemini, GeminiApi, LangChain, OpenAi,
    OpenAiCompatible, Profile, Rendered, UiMessage,
};
use serde_json::{Value, json};

use crate::fixtures::fixture;
use crate::openai::{call, caller, dropped, repaired, result, said};
use crate::round_trip::stored_in;
use crate::transcript::{log, rendered_in, stored_all, violations};

const GEMINI: Gemini = Gemini { api: GeminiApi::Developer };
const VERTEX: Gemini = Gemini { api: GeminiApi::Vertex };

/// Renders messages, and checks that the provider accepts them and that rendering is repeatable.
fn render(dialect: &dyn Dialect, messages: &[Value]) -> Rendered {
    let rendered = dialect.render(log(messages), &Options::default());
    assert_eq!(violations(dialect, &rendered.messages), []);
    if dialect.is_export_only() {
        return rendered;
    }
    let parsed = dialect.parse(rendered.system.clone(), rendered.messages.clone());
    let again = rendered_in(dialect, parsed.messages);
    assert_eq!((&again.messages, &again.repaired[..]), (&rendered.messages, &[][..]));
    rendered
}

/// Renders a message of the user, and returns its only part and the repairs.
fn part(dialect: &dyn Dialect, part: &Value) -> (Value, Vec<&'static str>) {
    let rendered = render(dialect, &[json!({"role": "user", "content": [part]})]);
    let parts = ["content", "parts"].iter().find_map(|field| rendered.messages[0].get(field));
    let slugs = repaired(&rendered).into_iter().map(|(_, slug)| slug).collect();
    (parts.map_or(Value::Null, |parts| parts[0].clone()), slugs)
}

fn text_of(part: &Value) -> &str {
    part["text"].as_str().unwrap_or_default()
}

fn png() -> Value {
    json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}})
}

fn file(data: &str) -> Value {
    json!({"type": "file", "file": {"file_data": data}})
}

fn failed(id: &str, content: &Value) -> Value {
    json!({"role": "tool", "tool_responses": [
        {"tool_call_id": id, "content": content, "is_error": true},
    ]})
}

#[test]
fn a_failed_call_has_only_text_in_anthropic() {
    let text = json!({"type": "text", "text": "no page"});
    let chat = [said(), caller("x", &["a"]), failed("a", &json!([text, png()])), said()];
    let rendered = render(&Anthropic, &chat);
    let block = &rendered.messages[2]["content"][0];
    assert_eq!(block["is_error"], true);
    assert_eq!(block["content"][0], text);
    assert_eq!(block["content"][1], json!({"type": "text", "text": png().to_string()}));
    assert_eq!(repaired(&rendered), [(2, "part_serialised")]);
    let done = json!({"role": "tool", "tool_call_id": "a", "content": [text, png()]});
    let rendered = render(&Anthropic, &[said(), caller("x", &["a"]), done, said()]);
    assert_eq!(rendered.messages[2]["content"][0]["content"][1]["type"], "image");
}

#[test]
fn inline_data_have_names_only_in_vertex() {
    let mut image = png();
    image["filename"] = json!("a.png");
    let mut pdf = file("data:application/pdf;base64,JVBE");
    pdf["file"]["filename"] = json!("a.pdf");
    for (stored, name) in [(image, "a.png"), (pdf, "a.pdf")] {
        let (written, slugs) = part(&GEMINI, &stored);
        assert_eq!(written["inlineData"].get("displayName"), None);
        assert_eq!(slugs, ["part_fields_removed"]);
        let (written, slugs) = part(&VERTEX, &stored);
        assert_eq!((&written["inlineData"]["displayName"], slugs), (&json!(name), vec![]));
    }
}

#[test]
fn a_file_for_openai_has_a_name() {
    let (written, slugs) = part(&OpenAi, &file("data:application/pdf;base64,JVBE"));
    assert_eq!(written["file"]["filename"], "file.pdf");
    assert_eq!(slugs, ["file_name_added"]);
}

#[test]
fn a_file_for_openai_is_a_pdf_file() {
    for (data, text) in [
        ("data:text/csv;charset=utf-8;base64,YSxi", "a,b"),
        ("data:application/json;base64,eyJhIjoxfQ==", r#"{"a":1}"#),
    ] {
        let given = json!({"type": "text", "text": text});
        assert_eq!(part(&OpenAi, &file(data)), (given, vec!["file_given_as_text"]));
    }
    for data in [
        "data:application/zip;base64,UEs=",
        "data:text/plain;base64,/w==",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "JVBERi0=",
    ] {
        let given = json!({"type": "text", "text": file(data).to_string()});
        assert_eq!(part(&OpenAi, &file(data)), (given, vec!["part_serialised"]), "{data}");
    }
}

#[test]
fn more_calls_than_openai_accepts_become_several_messages() {
    let ids: Vec<_> = (0..300).map(|id| id.to_string()).collect();
    let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
    let first = json!({"role": "assistant", "name": "a", "content": "x", "tool_calls": calls});
    let results = ids.iter().rev().map(|id| result(id));
    let chat: Vec<_> = [said(), first].into_iter().chain(results).chain([said()]).collect();
    let rendered = render(&OpenAi, &chat);
    assert_eq!(dropped(&rendered), []);
    assert_eq!(repaired(&rendered), [(1, "calls_split")]);
    let callers = rendered.messages.iter().filter(|message| message.get("tool_calls").is_some());
    let shapes: Vec<_> = callers
        .map(|it| (&it["name"], &it["content"], it["tool_calls"].as_array().map_or(0, Vec::len)))
        .collect();
    let (name, content, none) = (json!("a"), json!("x"), json!(null));
    assert_eq!(shapes, [(&name, &content, 128), (&name, &none, 128), (&name, &none, 44)]);
    let profile = Profile::Pattern;
    let found = render(&Ag2Classic { profile }, &chat).messages;
    assert_eq!(found.iter().filter(|message| message.get("tool_calls").is_some()).count(), 3);
    assert_eq!(render(&Anthropic, &chat).messages.len(), 3);
}

#[test]
fn the_id_of_a_file_is_given_to_its_provider_alone() {
    let of_openai = json!({"type": "file", "file": {"file_id": "file-abc"}});
    assert_eq!(part(&OpenAi, &of_openai), (of_openai.clone(), vec![]));
    for other in [&OpenAiCompatible as &dyn Dialect, &Anthropic, &GEMINI, &VERTEX] {
        let (written, slugs) = part(other, &of_openai);
        assert_eq!((text_of(&written), slugs), (&*of_openai.to_string(), vec!["part_serialised"]));
    }
    let block = json!({"type": "image", "source": {"type": "file", "file_id": "abc"}});
    let message = json!({"role": "user", "content": [block]});
    let of_anthropic = Anthropic.parse(Vec::new(), vec![message]).messages.remove(0).body.content;
    assert_eq!(of_anthropic[0]["provider"], "anthropic");
    assert_eq!(part(&Anthropic, &of_anthropic[0]), (block, vec![]));
    for other in [&OpenAi as &dyn Dialect, &GEMINI] {
        assert_eq!(part(other, &of_anthropic[0]).1, ["part_serialised"]);
    }
    let uri = "https://generativelanguage.googleapis.com/v1beta/files/abc";
    let of_gemini = json!({"type": "image_url", "image_url": {"url": uri}});
    let written = json!({"fileData": {"fileUri": uri}});
    assert_eq!(part(&GEMINI, &of_gemini), (written, vec![]));
    for other in [&OpenAi as &dyn Dialect, &Anthropic, &VERTEX] {
        assert_eq!(part(other, &of_gemini).1, ["part_serialised"], "{other:?}");
    }
}

#[test]
fn other_providers_are_given_functions_with_ids_alone() {
    let custom =
        json!({"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
    let legacy = json!({"name": "f", "arguments": "{}"});
    let chat = [
        json!({"role": "assistant", "content": "x", "tool_calls": [custom]}),
        result("a"),
        json!({"role": "assistant", "content": "x", "function_call": legacy}),
        json!({"role": "function", "name": "f", "content": "done"}),
    ];
    let rules = dialect::validate(&OpenAiCompatible, &chat).unwrap_err();
    let rules: Vec<_> = rules.iter().map(|it| (it.index, it.rule)).collect();
    assert_eq!(rules, [0, 2, 3].map(|index| (index, "call_of_openai")));
    let rendered = render(&OpenAiCompatible, &chat);
    let repairs = ["arguments_wrapped", "function_call_converted", "function_call_converted"];
    assert_eq!(repaired(&rendered), [(0, repairs[0]), (2, repairs[1]), (3, repairs[2])]);
    let called = |at: usize| &rendered.messages[at]["tool_calls"][0];
    let function = json!({"name": "sql", "arguments": r#"{"input":"select 1"}"#});
    assert_eq!(*called(0), json!({"id": "a", "type": "function", "function": function}));
    assert_eq!(
        (&called(2)["function"], &rendered.messages[3]["tool_call_id"]),
        (&legacy, &called(2)["id"])
    );
    assert_eq!(render(&OpenAi, &chat).messages, chat);
}

#[test]
fn only_urls_that_a_provider_fetches_are_given_to_it() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let classic = Ag2Classic { profile: Profile::Manager };
    let providers: [&dyn Dialect; 5] = [&OpenAi, &Anthropic, &GEMINI, &VERTEX, &classic];
    for provider in providers {
        assert_eq!(part(provider, &image("https://example.org/a.png")).1, [] as [&str; 0]);
        for url in [
            "blob:https://example.org/1",
            "/uploads/a.png",
            "file:///a.png",
            "https://example.org/a.svg?size=1",
            "data:image/svg+xml;base64,PHN2Zz4=",
            "data:text/plain,hi",
        ] {
            let (written, slugs) = part(provider, &image(url));
            let given = (text_of(&written), slugs);
            assert_eq!(given, (&*image(url).to_string(), vec!["part_serialised"]), "{provider:?}");
        }
    }
    // The browser of a user may know an address that no provider knows, but the AI SDK takes no relative one.
    let (written, slugs) = part(&UiMessage, &image("blob:https://example.org/1"));
    assert_eq!((&written["url"], slugs), (&json!("blob:https://example.org/1"), vec![]));
    assert_eq!(part(&UiMessage, &image("/uploads/a.png")).1, ["part_serialised"]);
    let stored = image("gs://bucket/a.png");
    assert_eq!(part(&VERTEX, &stored).1, [] as [&str; 0]);
    assert_eq!(part(&GEMINI, &stored).1, ["part_serialised"]);
}

#[test]
fn vertex_is_given_the_media_type_of_what_is_at_a_url() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file =
        |uri: &str, media_type: &str| json!({"fileData": {"fileUri": uri, "mimeType": media_type}});
    let known = image("https://example.org/a.png?size=1");
    let unknown = image("https://example.org/a");
    for api in [&GEMINI, &VERTEX] {
        let written = file("https://example.org/a.png?size=1", "image/png");
        assert_eq!(part(api, &known), (written, vec![]));
    }
    let bare = json!({"fileData": {"fileUri": "https://example.org/a"}});
    assert_eq!(part(&GEMINI, &unknown), (bare.clone(), vec![]));
    for refused in [unknown, image("https://example.org/a.gif")] {
        assert_eq!(part(&VERTEX, &refused).1, ["part_serialised"]);
    }
    let rules = |file: &Value| {
        let found = VERTEX.provider_violations(&[json!({"role": "user", "parts": [file]})]);
        found.into_iter().map(|it| it.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(&bare), ["missing_media_type"]);
    assert_eq!(rules(&file("https://example.org/a", "")), ["missing_media_type"]);
    // A type that the ending does not say comes back.
    let said = json!({"role": "user", "parts": [file("gs://bucket/tour", "video/mp4")]});
    let parsed = VERTEX.parse(Vec::new(), vec![said.clone()]).messages;
    let rendered = rendered_in(&VERTEX, parsed);
    assert_eq!((rendered.messages, rendered.repaired), (vec![said], vec![]));
}

#[test]
fn instructions_alone_are_followed_by_the_user() {
    let chat = [json!({"role": "system", "content": "Be brief."})];
    for (dialect, field) in [(&Anthropic as &dyn Dialect, "content"), (&GEMINI, "parts")] {
        let rendered = render(dialect, &chat);
        assert_eq!(rendered.messages.len(), 1);
        assert_eq!(rendered.messages[0]["role"], "user");
        assert_eq!(rendered.messages[0][field][0]["text"], "Continue.");
        assert_eq!(repaired(&rendered), [(0, "turn_added")]);
        assert_eq!(render(dialect, &[]).messages, [] as [Value; 0]);
    }
}

fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": "c2ln"})
}

#[test]
fn thinking_keeps_its_place_between_texts() {
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let blocks = json!([thinking("1"), text("x"), thinking("2"), text("y"), thinking("3"), call]);
    let answer = json!({"type": "tool_result", "tool_use_id": "a", "content": "done"});
    let transcript = vec![
        json!({"role": "user", "content": [text("hi")]}),
        json!({"role": "assistant", "content": blocks}),
        json!({"role": "user", "content": [answer]}),
    ];
    let parsed = Anthropic.parse(Vec::new(), transcript.clone());
    let log = stored_all(parsed.messages);
    let rendered = Anthropic.render(log.clone(), &Options::default());
    assert_eq!((&rendered.messages, &rendered.repaired[..]), (&transcript, &[][..]));
    let found = UiMessage.render(log.clone(), &Options::default());
    let kinds = found.messages[1]["parts"].as_array().unwrap().iter().map(|part| &part["type"]);
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["reasoning", "text", "reasoning", "text", "reasoning", "dynamic-tool"]);
    let moved = Acp.render(log, &Options::default());
    assert!(repaired(&moved).contains(&(1, "reasoning_moved")), "{:?}", moved.repaired);
}

#[test]
fn thinking_begins_a_turn_of_its_own() {
    let agent = |name: &str, reasoning: &Value| json!({"role": "assistant", "name": name, "content": "x", "reasoning_content": reasoning});
    let signed = json!([thinking("1")]);
    let chat = [said(), agent("a", &Value::Null), agent("b", &signed), agent("c", &signed), said()];
    let rendered = render(&Anthropic, &chat);
    let roles: Vec<_> = rendered.messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    let added = repaired(&rendered);
    let added: Vec<_> = added.iter().filter(|(_, slug)| *slug == "turn_added").collect();
    assert_eq!(added, [&(2, "turn_added"), &(3, "turn_added")]);
}

#[test]
fn thinking_at_the_end_of_a_message_is_removed() {
    let mut last = thinking("2");
    last["position"] = json!(1);
    let message =
        json!({"role": "assistant", "content": "x", "reasoning_content": [thinking("1"), last]});
    let rendered = render(&Anthropic, &[said(), message, said()]);
    assert_eq!(rendered.messages[1]["content"].as_array().map(Vec::len), Some(2));
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed")]);
}

#[test]
fn the_detail_of_an_image_is_kept_or_reported() {
    let mut image = png();
    image["image_url"]["detail"] = json!("low");
    let classic = Ag2Classic { profile: Profile::Pattern };
    for keeper in [&OpenAi as &dyn Dialect, &classic] {
        assert_eq!(part(keeper, &image), (image.clone(), vec![]));
    }
    let message = json!({"role": "user", "content": [image]});
    let kept = LangChain.render(log(std::slice::from_ref(&message)), &Options::default());
    assert_eq!((&kept.messages[0]["data"]["content"][0], &kept.repaired[..]), (&image, &[][..]));
    let others: [&dyn Dialect; 5] = [&Anthropic, &GEMINI, &UiMessage, &Acp, &Ag2V1];
    for other in others {
        let rendered = other.render(log(std::slice::from_ref(&message)), &Options::default());
        assert_eq!(repaired(&rendered), [(0, "part_fields_removed")], "{other:?}");
    }
}

#[test]
fn other_fields_of_calls_and_results_are_kept_or_reported() {
    let transcript = |call_field: &str, value: &Value| {
        let mut call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
        call[call_field] = value.clone();
        let mut answer = json!({"type": "tool_result", "tool_use_id": "a", "content": "done"});
        answer["cache_control"] = json!({"type": "ephemeral"});
        vec![
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [answer]}),
        ]
    };
    let stored = |field: &str, value: &Value| {
        stored_all(Anthropic.parse(Vec::new(), transcript(field, value)).messages)
    };
    let caller = json!({"type": "direct"});
    let rendered = Anthropic.render(stored("caller", &caller), &Options::default());
    assert_eq!(rendered.messages[1]["content"][0]["caller"], caller);
    assert_eq!(rendered.messages[2]["content"][0].get("cache_control"), None);
    assert_eq!(repaired(&rendered), [(2, "call_fields_removed")]);
    let log = stored("cache_control", &json!({"type": "ephemeral"}));
    for dialect in dialect::all().filter(|dialect| dialect.name() != "ag2") {
        let rendered = dialect.render(log.clone(), &Options::default());
        let mut found = repaired(&rendered);
        found.retain(|(_, slug)| *slug == "call_fields_removed");
        let of_call = Some(1).filter(|_| dialect.name() != "openai-compatible");
        let expected = of_call.into_iter().chain([2]).map(|at| (at, "call_fields_removed"));
        assert_eq!(found, expected.collect::<Vec<_>>(), "{dialect:?}");
    }
}

#[test]
fn the_media_of_a_gemini_response_are_stored() {
    let call =
        json!({"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2ln"});
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBO"}});
    let response = json!({"functionResponse": {
        "id": "a", "name": "f", "response": {"output": "seen"}, "parts": [image],
    }});
    let contents = vec![
        json!({"role": "user", "parts": [{"text": "hi"}]}),
        json!({"role": "model", "parts": [call]}),
        json!({"role": "user", "parts": [response]}),
    ];
    let parsed = GEMINI.parse(Vec::new(), contents.clone());
    let seen = json!([{"type": "text", "text": "seen"}, png()]);
    assert_eq!(parsed.messages[2].body.content, seen);
    let log = stored_all(parsed.messages);
    let rendered = GEMINI.render(log.clone(), &Options::default());
    assert_eq!((&rendered.messages, &rendered.repaired[..]), (&contents, &[][..]));
    let rendered = OpenAi.render(log.clone(), &Options::default());
    assert!(repaired(&rendered).contains(&(2, "part_serialised")));
    let rendered = Anthropic.render(log, &Options::default());
    assert_eq!(rendered.messages[2]["content"][0]["content"][1]["type"], "image");
}

#[test]
fn arguments_are_an_object() {
    let calling = |arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        let call = json!({"id": "a", "type": "function", "function": function});
        let message = json!({"role": "assistant", "content": "x", "tool_calls": [call]});
        [said(), message, result("a"), said()]
    };
    let classic = Ag2Classic { profile: Profile::Manager };
    for dialect in [&OpenAi as &dyn Dialect, &classic] {
        for (arguments, given) in [
            (r#"{"city": "#, r#"{"input":"{\"city\": "}"#),
            ("[1]", r#"{"input":"[1]"}"#),
            ("", "{}"),
            (" \n", "{}"),
        ] {
            let rendered = render(dialect, &calling(arguments));
            let function = &rendered.messages[1]["tool_calls"][0]["function"];
            assert_eq!(function["arguments"], given, "{dialect:?}");
            assert_eq!(repaired(&rendered), [(1, "arguments_wrapped")], "{dialect:?}");
        }
        let rendered = render(dialect, &calling("{ \"a\" : 1 }"));
        let function = &rendered.messages[1]["tool_calls"][0]["function"];
        assert_eq!(
            (&function["arguments"], &rendered.repaired[..]),
            (&json!("{ \"a\" : 1 }"), &[][..])
        );
    }
    let rendered = render(&Anthropic, &calling(""));
    assert_eq!(rendered.messages[1]["content"][1]["input"], json!({}));
    assert_eq!(repaired(&rendered), [(1, "arguments_wrapped")]);
    let legacy = json!({"role": "assistant", "content": "x", "function_call": {"name": "f", "arguments": "[1]"}});
    let rendered = render(&OpenAi, &[said(), legacy]);
    assert_eq!(rendered.messages[1]["function_call"]["arguments"], r#"{"input":"[1]"}"#);
}

#[test]
fn openai_reports_the_reasoning_and_the_signatures_that_it_drops() {
    let mut signed = call("a");
    signed["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    let message = json!({
        "role": "assistant", "content": "x", "reasoning_content": "hm", "tool_calls": [signed],
    });
    let chat = [said(), message, result("a"), said()];
    let rendered = render(&OpenAi, &chat);
    assert_eq!(rendered.messages[1]["tool_calls"], json!([call("a")]));
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed"), (1, "call_fields_removed")]);
    assert_eq!(repaired(&render(&GEMINI, &chat)), [(1, "reasoning_removed")]);
    let rendered = render(&UiMessage, &chat);
    let metadata = &rendered.messages[1]["parts"][2]["callProviderMetadata"];
    assert_eq!(metadata["google"]["thoughtSignature"], "c2ln");
}

/// `LiteLLM` has the signatures of Gemini in a field of its own, and reads them there.
#[test]
fn a_signature_in_the_field_of_litellm_is_one_of_gemini() {
    let mut signed = call("a");
    signed["provider_specific_fields"] = json!({"thought_signature": "c2ln"});
    let message = json!({"role": "assistant", "content": "x", "tool_calls": [signed]});
    let chat = [said(), message, result("a"), said()];
    let rendered = render(&OpenAiCompatible, &chat);
    assert_eq!(rendered.messages[1]["tool_calls"], json!([signed]));
    let rendered = render(&GEMINI, &chat);
    assert_eq!(rendered.messages[1]["parts"][1]["thoughtSignature"], "c2ln");
    assert_eq!(repaired(&rendered), []);
    assert_eq!(repaired(&render(&OpenAi, &chat)), [(1, "call_fields_removed")]);
}

#[test]
fn what_providers_refuse_renders_validly_in_every_dialect() {
    let chat = fixture("refused.jsonl");
    assert!(!chat.is_empty());
    for dialect in dialect::all() {
        assert!(!render(dialect, &chat).messages.is_empty());
    }
}

/// The library of Gemini gives a function any object as its response.
#[test]
fn the_response_of_a_gemini_function_stays_an_object() {
    let gemini = Gemini { api: GeminiApi::Developer };
    for response in [
        json!({"result": {"temperature": [1, 2.5]}}),
        json!({"output": [1], "unit": "C"}),
        json!({"output": [1]}),
        json!({"output": "sunny"}),
        json!({"error": {"code": 5}}),
        json!({}),
    ] {
        let call = json!({"functionCall": {"id": "a", "name": "f", "args": {}}});
        let result = json!({"functionResponse": {"id": "a", "name": "f", "response": response}});
        let messages = [
            json!({"role": "user", "parts": [{"text": "hi"}]}),
            json!({"role": "model", "parts": [call]}),
            json!({"role": "user", "parts": [result]}),
        ];
        let rendered = stored_in(&gemini, &gemini, &messages);
        assert_eq!(rendered.messages[2], messages[2]);
    }
}

/// Five documents in a request, and none of more than 4.5 MB unless it is a PDF file: user guide of Bedrock.
#[test]
fn bedrock_gets_five_documents_that_are_not_too_large() {
    let Some(bedrock) = dialect::named("bedrock-converse") else { panic!("no such dialect") };
    let file = |kind: &str, name: &str, data: &str| json!({"type": "file", "file": {"file_data": format!("data:{kind};base64,{data}"), "filename": name}});
    let large = "AAAA".repeat(1_500_001);
    let mut files =
        vec![file("text/csv", "large", &large), file("application/pdf", "scan", &large)];
    files.extend((0..5).map(|number| file("application/pdf", &format!("p{number}"), "JVBE")));
    let result = json!({"role": "tool", "tool_call_id": "a", "content": files[6..]});
    let user = json!({"role": "user", "content": files[..6]});
    let rendered =
        bedrock.render(log(&[user, caller("x", &["a"]), result, said()]), &Options::default());
    assert_eq!(violations(bedrock, &rendered.messages), []);
    let documents = rendered.messages[0]["content"].as_array().into_iter().flatten();
    let names: Vec<_> = documents.filter_map(|it| it["document"]["name"].as_str()).collect();
    assert_eq!(names, ["scan", "p0", "p1", "p2", "p3"]);
    let out: Vec<_> =
        repaired(&rendered).into_iter().filter(|it| it.1 == "document_left_out").collect();
    assert_eq!(out, [(0, "document_left_out"), (2, "document_left_out")]);
    assert!(!Value::from(rendered.messages).to_string().contains("text/csv"));

    let document = |name: usize| {
        json!({"document": {
            "format": "csv", "name": format!("d{name}"), "source": {"bytes": "YQ=="},
        }})
    };
    let mut blocks: Vec<_> = (0..6).map(document).collect();
    blocks.push(json!({"text": "look"}));
    blocks[0]["document"]["source"]["bytes"] = large.into();
    let found = bedrock.provider_violations(&[json!({"role": "user", "content": blocks})]);
    let rules: Vec<_> = found.iter().map(|it| it.rule).collect();
    assert_eq!(rules, ["large_document", "too_many_documents"]);
}

//! Transcripts of other systems.

use proptest::prelude::*;
use records::{EventId, MessageEdit, NewMessage};
use resume::Options;
use resume::dialect::{
    self, Anthropic, Dialect, Gemini, GeminiApi, OpenAi, Parsed, TranscriptPosition, UiMessage,
};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::strategies::{content, conversation};
use crate::transcript::{log, rendered_in, stored_all, violations};

const GEMINI: Gemini = Gemini { api: GeminiApi::Developer };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_rendering_of_one_dialect_can_be_stored_and_rendered_in_all(chat in conversation()) {
        for from in dialect::all() {
            let rendered = from.render(log(&chat), &Options::default());
            let parsed = from.parse(rendered.system, rendered.messages);
            let messages = stored_all(parsed.messages);
            for to in dialect::all() {
                let rendered = to.render(messages.clone(), &Options::default());
                prop_assert_eq!(violations(to, &rendered.messages), [], "{:?} to {:?}", from, to);
            }
        }
    }

    #[test]
    fn any_json_can_be_parsed(
        messages in prop::collection::vec(prop_oneof![content(), strange()], 0..6),
        system in prop::collection::vec(content(), 0..2),
    ) {
        for from in dialect::all() {
            let parsed = from.parse(system.clone(), messages.clone());
            prop_assert!(parsed.dropped.iter().all(|drop| drop.index < messages.len()));
            for to in dialect::all() {
                let rendered = rendered_in(to, parsed.messages.clone());
                prop_assert_eq!(violations(to, &rendered.messages), [], "{:?} to {:?}", from, to);
            }
        }
    }
}

/// Objects with the fields of the dialects, and anything in them.
fn strange() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(vec![
        "role",
        "type",
        "content",
        "parts",
        "data",
        "tool_calls",
        "id",
        "name",
        "metadata",
        "sessionUpdate",
        "toolCallId",
        "status",
        "rawOutput",
        "__event__",
        "message",
        "results",
        "parent_id",
    ]);
    let text = prop::sample::select(vec![
        "user",
        "assistant",
        "model",
        "tool",
        "ai",
        "human",
        "text",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
        "completed",
        "ag2.events.input_events.ModelRequest",
        "ag2.events.types.ModelResponse",
        "ag2.events.tool_events.ToolResultsEvent",
        "ag2.events.tool_events.ToolErrorEvent",
    ]);
    let block = (content(), text.clone(), content()).prop_map(|(inner, kind, other)| {
        json!([
            {"type": kind, "text": inner, "functionCall": other},
            {"type": "tool_result", "content": inner, "tool_use_id": other},
            {"type": "tool-f", "state": "output-available", "output": inner},
            {"__event__": "ag2.events.input_events.TextInput", "content": inner, "parent_id": other},
            {"functionResponse": other, "type": "content", "content": inner},
        ])
    });
    let bare = content().prop_map(|inner| json!([{"a": inner, "b": inner}]));
    let value = prop_oneof![2 => text.prop_map(Value::from), 1 => content(), 2 => block, 1 => bare];
    prop::collection::vec((field, value), 1..6).prop_map(Value::from_iter)
}

fn parse(dialect: &str, messages: &Value) -> Parsed {
    let messages = messages.as_array().cloned().unwrap_or_default();
    let Some(dialect) = dialect::named(dialect) else {
        panic!("there is no dialect {dialect}");
    };
    dialect.parse(Vec::new(), messages)
}

/// Renders a parsed transcript in the dialect `openai`.
fn in_openai(parsed: Parsed) -> Vec<Value> {
    rendered_in(&OpenAi, parsed.messages).messages
}

/// One exchange, in the dialect `openai`.
fn exchange(id: &str) -> Vec<Value> {
    let target = json!({"name": "f", "arguments": r#"{"a":1}"#});
    vec![
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": "let me see", "tool_calls": [
            {"id": id, "type": "function", "function": target},
        ]}),
        json!({"role": "tool", "tool_call_id": id, "content": "done"}),
        json!({"role": "assistant", "content": "done"}),
    ]
}

/// Checks a transcript as a library writes it, and parses it; returns the rules that are noted, too.
fn lenient(dialect: &dyn Dialect, messages: &Value) -> (Vec<&'static str>, Parsed) {
    let mut messages = messages.as_array().cloned().unwrap_or_default();
    dialect.prepare(&mut messages);
    let checked = ingest::check(dialect, &messages, Check::Lenient);
    assert_eq!(checked.refused, []);
    let noted = checked.noted.into_iter().map(|violation| violation.rule).collect();
    (noted, dialect.parse(Vec::new(), messages))
}

#[test]
fn what_the_openai_library_dumps_is_read() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let dumped = json!([
        {"content": "hi", "refusal": null, "role": "assistant", "annotations": [], "audio": null,
         "function_call": null, "tool_calls": null},
        {"content": null, "role": "assistant", "reasoning": "hm", "tool_calls": [call],
         "provider_specific_fields": {"x": 1}},
        {"role": "tool", "tool_call_id": "a", "name": "f", "content": "1"},
    ]);
    let (noted, parsed) = lenient(&OpenAi, &dumped);
    assert_eq!(noted, ["unknown_field", "unknown_field"]);
    let rendered = rendered_in(&OpenAi, parsed.messages.clone());
    assert_eq!(
        rendered.messages,
        [
            json!({"role": "assistant", "content": "hi"}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            dumped[2].clone(),
        ]
    );
    let repairs: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
    assert!(repairs.contains(&"provider_fields_removed"), "{repairs:?}");
    let kept = &parsed.messages[1].body.extra["provider"]["openai"];
    assert_eq!(*kept, json!({"provider_specific_fields": {"x": 1}}));
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    assert!(edit.apply(&parsed.messages[1].body).extra["provider"]["openai"].is_null());
}

#[test]
fn what_the_gemini_library_for_python_dumps_is_read() {
    let nothing = json!({"function_call": null, "function_response": null, "inline_data": null});
    let part = |field: &str, value: Value| {
        let mut part = nothing.clone();
        part[field] = value;
        part
    };
    let call = json!({"id": null, "name": "f", "args": {"x": 1}});
    let image = json!({"mime_type": "image/png", "data": "iVBO", "display_name": null});
    let dumped = json!([
        {"role": "user", "parts": [part("text", json!("hi")), part("inline_data", image)]},
        {"role": "model", "parts": [part("function_call", call)]},
        {"role": "user", "parts": [part("function_response",
            json!({"id": null, "name": "f", "response": {"output": "1"}}))]},
    ]);
    let (noted, parsed) = lenient(&GEMINI, &dumped);
    assert_eq!((noted, parsed.dropped), (vec![], vec![]));
    let bodies: Vec<_> = parsed.messages.iter().map(|message| &message.body).collect();
    assert_eq!(bodies[0].content[1]["type"], "image_url", "{:?}", bodies[0]);
    assert_eq!(bodies[1].extra["tool_calls"][0]["function"]["name"], "f");
    assert_eq!(bodies[2].content, "1");
}

#[test]
fn bytes_of_gemini_in_the_base64_for_urls_are_read() {
    let picture = json!({"inline_data": {"mime_type": "image/png", "data": "-_8="}});
    let answer =
        json!({"function_response": {"id": "a", "name": "f", "response": {}, "parts": [picture]}});
    let mut messages = [
        json!({"role": "user", "parts": [picture]}),
        json!({"role": "model", "parts": [{"function_call": {"id": "a", "name": "f", "args": {}}}]}),
        json!({"role": "user", "parts": [answer]}),
    ];
    let gemini = dialect::named("gemini").unwrap();
    gemini.prepare(&mut messages);
    let stored = gemini.parse(Vec::new(), messages.to_vec()).messages;
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,+/8="}});
    for stored in [&stored[0], &stored[2]] {
        assert_eq!(stored.body.content, json!([url]));
    }
}

#[test]
fn unknown_fields_of_a_message_are_kept_for_their_dialect() {
    for (dialect, message) in [
        (&Anthropic as &dyn Dialect, json!({"role": "user", "content": "hi", "id": "m1"})),
        (&GEMINI, json!({"role": "user", "parts": [{"text": "hi"}], "id": "m1"})),
    ] {
        let (noted, parsed) = lenient(dialect, &json!([message]));
        assert_eq!(noted, ["unknown_field"], "{dialect:?}");
        let provider = &parsed.messages[0].body.extra["provider"];
        assert_eq!(*provider, json!({dialect.name(): {"id": "m1"}}));
    }
}

#[test]
fn anthropic_texts_and_strings_are_parsed() {
    let parsed = parse(
        "anthropic",
        &json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "done"},
            ]},
            {"role": "assistant", "content": "done"},
        ]),
    );
    assert_eq!(in_openai(parsed), exchange("a"));
}

#[test]
fn gemini_responses_answer_calls_of_their_functions() {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let response = |name: &str| json!({"functionResponse": {"name": name, "response": {"output": format!("of {name}")}}});
    let parsed = parse(
        "gemini",
        &json!([
            {"parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call("f"), call("g")]},
            {"role": "user", "parts": [response("g"), response("f")]},
        ]),
    );
    let stored = in_openai(parsed);
    let name = |at: usize| &stored[1]["tool_calls"][at]["function"]["name"];
    for result in &stored[2..] {
        let at = usize::from(result["tool_call_id"] == stored[1]["tool_calls"][1]["id"]);
        assert_eq!(result["content"], format!("of {}", name(at).as_str().unwrap_or_default()));
    }
    assert_eq!(stored.len(), 4);
}

#[test]
fn calls_without_ids_are_matched_in_order() {
    let parsed = parse(
        "gemini",
        &json!([
            {"parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"text": "let me see"}, {"functionCall": {"name": "f", "args": {"a": 1}}},
            ]},
            {"role": "function", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "done"}}},
            ]},
            {"role": "model", "parts": [{"text": "done"}]},
        ]),
    );
    assert_eq!(in_openai(parsed), exchange("call_1"));
}

#[test]
fn each_kind_of_gemini_part_is_parsed() {
    let code = json!({"language": "PYTHON", "code": "1 + 1"});
    let inline = json!({"mimeType": "image/png", "data": "iVBO"});
    let parsed = parse(
        "gemini",
        &json!([
            {"parts": [{"text": "draw"}]},
            {"role": "model", "parts": [
                {"text": "hm", "thought": true, "thoughtSignature": "abc"},
                {"text": "Hello", "thoughtSignature": "abc"},
                {"executableCode": code, "thoughtSignature": "abc"},
                {"inlineData": inline, "thoughtSignature": "abc"},
            ]},
        ]),
    );
    let stored = json!([
        {"type": "text", "text": "Hello", "thoughtSignature": "abc"},
        {"type": "executableCode", "executableCode": code, "thoughtSignature": "abc"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"},
         "thoughtSignature": "abc"},
    ]);
    assert_eq!(parsed.messages[1].body.content, stored);
    assert_eq!(parsed.messages[1].body.extra["reasoning_content"], "hm");
    let rendered = rendered_in(&GEMINI, parsed.messages);
    let parts = &rendered.messages[1]["parts"];
    assert_eq!(parts[0], json!({"text": "Hello", "thoughtSignature": "abc"}));
    // Code without a result is one that the model has not finished.
    assert_eq!(parts[1], json!({"text": stored[1].to_string()}));
    assert_eq!(parts[2], json!({"inlineData": inline, "thoughtSignature": "abc"}));
}

#[test]
fn other_fields_of_a_part_are_stored_and_reported_when_removed() {
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    let document = json!({
        "type": "document", "source": source, "title": "a.pdf", "context": "an invoice",
        "citations": {"enabled": true},
    });
    let cited = json!({"type": "text", "text": "12 €", "citations": [{"start_block_index": 0}]});
    let anthropic = json!([{"role": "user", "content": [document, cited]}]);
    let stored = json!([
        {"type": "file",
         "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
         "context": "an invoice", "citations": {"enabled": true}},
        cited,
    ]);
    other_fields_are_stored("anthropic", &anthropic, &stored);

    let plain = json!([{"role": "user", "content": [
        {"type": "text", "text": "hi", "citations": null},
    ]}]);
    assert_eq!(parse("anthropic", &plain).messages[0].body.content, "hi");
}

/// Checks how a document and a text are stored, and that a rendering reports removed fields.
fn other_fields_are_stored(from: &str, messages: &Value, stored: &Value) {
    let parsed = parse(from, messages);
    assert_eq!(parsed.messages[0].body.content, *stored);
    let log = stored_all(parsed.messages);
    let vertex = Gemini { api: GeminiApi::Vertex };
    let forms: [&dyn Dialect; 3] = [&OpenAi, &vertex, &UiMessage];
    for to in forms {
        let rendered = to.render(log.clone(), &Options::default());
        let repaired: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
        assert_eq!(repaired, ["part_fields_removed"; 2], "{to:?}");
        let text = rendered.messages[0].to_string();
        assert!(!text.contains("citations") && !text.contains("providerMetadata"), "{text}");
    }
    // What a document has comes back in its own format, but a user cites nothing.
    let rendered = Anthropic.render(log, &Options::default());
    let repaired: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
    assert_eq!(repaired, ["part_fields_removed"]);
    assert_eq!(rendered.messages[0]["content"][0], messages[0]["content"][0]);
    assert_eq!(rendered.messages[0]["content"][1], json!({"type": "text", "text": "12 €"}));
}

#[test]
fn the_signature_of_a_call_in_a_ui_message_is_kept() {
    let call = json!({
        "type": "tool-f", "toolCallId": "a", "state": "output-available", "input": {},
        "output": "done", "callProviderMetadata": {"google": {"thoughtSignature": "abc"}},
    });
    let hi = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]});
    let parsed =
        parse("ui-message", &json!([hi, {"id": "m2", "role": "assistant", "parts": [call]}]));
    let rendered = rendered_in(&GEMINI, parsed.messages);
    assert_eq!(rendered.messages[1]["parts"][0]["thoughtSignature"], "abc");
}

#[test]
fn both_formats_of_langchain_are_parsed() {
    let call = json!({"name": "f", "args": {"a": 1}, "id": "a", "type": "tool_call"});
    let typed = json!([
        {"type": "human", "data": {"content": "hi", "id": "m1", "example": false}},
        {"type": "ai", "data": {"content": "let me see", "tool_calls": [call]}},
        {"type": "tool", "data": {"content": "done", "tool_call_id": "a"}},
        {"type": "ai", "data": {"content": "done"}},
    ]);
    let parsed = parse("langchain", &typed);
    assert_eq!(parsed.messages[0].event_id.as_ref().map(EventId::as_str), Some("m1"));
    assert_eq!(in_openai(parsed), exchange("a"));
    let plain = json!([
        {"role": "human", "content": "hi"},
        {"role": "ai", "content": "let me see", "tool_calls": [call]},
        {"role": "tool", "content": "done", "tool_call_id": "a"},
        {"type": "ai", "content": "done"},
    ]);
    for transcript in [&typed, &plain] {
        let messages = transcript.as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(dialect::LangChain.validate(messages), []);
    }
    assert_eq!(in_openai(parse("langchain", &plain)), exchange("a"));
}

#[test]
fn ui_message_parts_after_a_call_become_a_separate_message() {
    let parsed = parse(
        "ui-message",
        &json!([
            {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"id": "m2", "role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "text", "text": "let me see"},
                {"type": "tool-f", "toolCallId": "a", "state": "output-available",
                 "input": {"a": 1}, "output": "done"},
                {"type": "step-start"},
                {"type": "text", "text": "done"},
            ]},
        ]),
    );
    let ids: Vec<_> =
        parsed.messages.iter().map(|it| it.event_id.as_ref().map(EventId::as_str)).collect();
    assert_eq!(ids, [Some("m1"), Some("m2"), None, None]);
    assert_eq!(in_openai(parsed), exchange("a"));
}

#[test]
fn acp_chunks_without_ids_are_parsed() {
    let chunk = |kind: &str, text: &str| {
        json!({
            "sessionUpdate": kind, "content": {"type": "text", "text": text},
        })
    };
    let parsed = parse(
        "acp",
        &json!([
            chunk("user_message_chunk", "hi"),
            chunk("agent_message_chunk", "let me see"),
            {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "f", "rawInput": {"a": 1}},
            {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "in_progress"},
            {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed",
             "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]},
            chunk("agent_message_chunk", "done"),
            {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        ]),
    );
    let dropped: Vec<_> =
        parsed.dropped.iter().map(|drop| (drop.index, drop.reason.slug())).collect();
    assert_eq!(dropped, [(3, "intermediate_state"), (6, "unsupported_role")]);
    assert_eq!(in_openai(parsed), exchange("a"));
}

#[test]
fn an_acp_message_may_continue_after_its_call_ended() {
    let chunk = |text: &str| {
        json!({
            "sessionUpdate": "agent_message_chunk", "messageId": "m1",
            "content": {"type": "text", "text": text},
        })
    };
    let updates = json!([
        chunk("let me see"),
        {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "f", "rawInput": {"a": 1},
         "status": "completed", "rawOutput": "done"},
        chunk("done"),
    ]);
    assert_eq!(violations(&dialect::Acp, updates.as_array().unwrap()), []);
    let parsed = parse("acp", &updates);
    let said: Vec<_> = parsed
        .messages
        .iter()
        .map(|it| (it.event_id.as_ref().map(EventId::as_str), it.body.role.as_str()))
        .collect();
    assert_eq!(said, [(Some("m1"), "assistant"), (None, "tool"), (None, "assistant")]);
    assert_eq!(parsed.messages[1].body.content, "done");
}

#[test]
fn the_text_none_beside_calls_becomes_null() {
    let mut chat = exchange("a");
    chat[1]["content"] = json!("None");
    let parsed = parse("ag2-classic", &json!(chat));
    chat[1]["content"] = json!(null);
    assert_eq!(in_openai(parsed), chat);
}

#[test]
fn unreadable_messages_are_reported() {
    for dialect in dialect::all() {
        let parsed = dialect.parse(Vec::new(), vec![json!("x"), json!({"role": 5})]);
        let indices: Vec<_> = parsed.dropped.iter().map(|drop| drop.index).collect();
        assert_eq!((parsed.messages.len(), indices), (0, vec![0, 1]), "{dialect:?}");
    }
}

/// Calls and responses of Gemini have no ids on the developer API: those of a piece are told apart from those of the log.
#[test]
fn gemini_pieces_answer_the_calls_of_the_log() {
    let call = |names: &[&str]| {
        let parts: Vec<_> =
            names.iter().map(|name| json!({"functionCall": {"name": name, "args": {}}})).collect();
        json!({"role": "model", "parts": parts})
    };
    let answer = |name: &str| {
        json!({"role": "user", "parts": [
            {"functionResponse": {"name": name, "response": {"output": name}}},
        ]})
    };
    let mut log = Vec::new();
    let pieces = [call(&["f", "g"]), answer("g"), answer("f"), call(&["g"]), answer("g")];
    for piece in pieces {
        assert!(GEMINI.needs_context(std::slice::from_ref(&piece)));
        let parsed =
            ingest::parse_piece(&GEMINI, Vec::new(), vec![piece], &stored_all(log.clone()));
        assert_eq!((parsed.messages.len(), parsed.dropped.len()), (1, 0));
        assert_eq!(parsed.positions, [TranscriptPosition::Message(0)]);
        log.extend(parsed.messages);
    }
    let ids = |it: &NewMessage| it.body.extra.get("tool_call_id").cloned();
    let ids: Vec<_> = log.iter().filter_map(ids).collect();
    assert_eq!(ids, ["call_2", "call_1", "call_3"]);
    let rendered = rendered_in(&OpenAi, log);
    assert_eq!(rendered.repaired, []);
    assert_eq!(rendered.messages.len(), 5);
}

#[test]
fn fields_that_only_stored_messages_have_are_kept_for_the_dialect() {
    let own =
        json!({"type": "message", "mode": 1, "props": {}, "message_id": 7, "tool_error": true});
    let mut message = json!({"role": "user", "content": "hi"});
    message.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    for dialect in [&OpenAi as &dyn Dialect, dialect::named("ag2-classic").unwrap()] {
        let (_, parsed) = lenient(dialect, &json!([message]));
        let extra = &parsed.messages[0].body.extra;
        assert_eq!(json!(extra), json!({"provider": {dialect.name(): own}}));
    }
}

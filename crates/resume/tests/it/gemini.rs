//! What only Gemini has, as its library writes it.

use resume::dialect::{Dialect, Gemini, GeminiApi, GoogleAdk, OpenAi, Rendered, UiMessage};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::openai::{dropped, repaired};
use crate::round_trip::{assert_kept, stored_in};
use crate::transcript::rendered_in;

const GEMINI: Gemini = Gemini { api: GeminiApi::Developer };
const VERTEX: Gemini = Gemini { api: GeminiApi::Vertex };

fn user(parts: &Value) -> Value {
    json!({"role": "user", "parts": parts})
}

fn model(parts: &Value) -> Value {
    json!({"role": "model", "parts": parts})
}

/// Stores contents, checks the rules that are noted, and renders them in the same dialect.
fn again(dialect: &dyn Dialect, contents: &[Value], noted: &[&str]) -> Rendered {
    let mut prepared = contents.to_vec();
    dialect.prepare(&mut prepared);
    let checked = ingest::check(dialect, &prepared, Check::Lenient);
    assert_eq!(checked.refused, []);
    let rules: Vec<_> = checked.noted.iter().map(|it| it.rule).collect();
    assert_eq!(rules, noted);
    rendered_in(dialect, dialect.parse(Vec::new(), prepared).messages)
}

#[test]
fn tools_of_the_server_and_unknown_parts_come_back() {
    let search = json!({"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}, "thoughtSignature": "c2ln"});
    let found = json!({"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": [1]}}});
    let known = [
        user(&json!([{"text": "hi"}])),
        model(&json!([search, found, {"text": "found"}])),
        user(&json!([{"text": "thanks"}])),
    ];
    for dialect in [&GEMINI as &dyn Dialect, &VERTEX] {
        assert_kept(dialect, &known);
    }
    let event = stored_in(&GoogleAdk, &GEMINI, &known);
    assert_eq!(event.messages[1]["content"]["parts"][1], found);
    let other = stored_in(&OpenAi, &GEMINI, &known);
    assert_eq!(repaired(&other), [(1, "part_serialised"), (1, "part_serialised")]);

    let mut newer = known.clone();
    newer[1]["parts"][0] = json!({"newPart": {"x": 1}, "thoughtSignature": "c2ln"});
    newer[1]["parts"][2] = json!({"text": "found", "newField": [1]});
    let rendered = again(&GEMINI, &newer, &["unknown_field", "unknown_field"]);
    assert_eq!((&rendered.messages[..], &rendered.repaired[..]), (&newer[..], &[][..]));
    let other = stored_in(&OpenAi, &GEMINI, &newer);
    let slugs: Vec<_> = repaired(&other).into_iter().map(|it| it.1).collect();
    assert_eq!(slugs, ["part_serialised", "part_serialised", "part_fields_removed"]);
}

#[test]
fn what_the_library_for_python_dumps_of_server_tools_is_read() {
    let dumped = [
        user(&json!([{"text": "hi", "video_metadata": {"start_offset": "1s", "fps": null}}])),
        model(&json!([{"tool_call": {"id": "t", "tool_type": "URL_CONTEXT", "args": null}}])),
        user(&json!([{"text": "go on", "part_metadata": {"some_key": 1}}])),
    ];
    let rendered = again(&GEMINI, &dumped, &[]);
    let part = |at: usize| &rendered.messages[at]["parts"][0];
    assert_eq!(part(0)["videoMetadata"], json!({"startOffset": "1s"}));
    assert_eq!(*part(1), json!({"toolCall": {"id": "t", "toolType": "URL_CONTEXT"}}));
    assert_eq!(part(2)["partMetadata"], json!({"some_key": 1}));
}

#[test]
fn the_fields_of_parts_come_back() {
    let video = json!({"mimeType": "video/mp4", "fileUri": "https://example.org/a.mp4"});
    let contents = [
        user(&json!([
            {"fileData": video, "videoMetadata": {"startOffset": "1s", "fps": 2.5}},
            {"inlineData": {"mimeType": "image/png", "data": "iVBO"},
             "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}, "partMetadata": {"page": 1}},
            {"text": "look"},
        ])),
        model(&json!([{"text": "seen"}, {"text": "", "thoughtSignature": "c2ln"}])),
        user(&json!([{"text": "thanks"}])),
    ];
    assert_kept(&GEMINI, &contents);
    assert_kept(&VERTEX, &contents);
    let alone = [
        user(&json!([{"text": "hi"}])),
        model(&json!([{"text": "", "thoughtSignature": "c2ln"}])),
        user(&json!([{"text": "hi?"}])),
    ];
    assert_kept(&GEMINI, &alone);

    let mut named = contents.clone();
    named[0]["parts"][0]["fileData"]["displayName"] = json!("a.mp4");
    assert_kept(&VERTEX, &named);
    let rendered = again(&GEMINI, &named, &[]);
    assert_eq!(rendered.messages, contents);
    assert_eq!(repaired(&rendered), [(0, "part_fields_removed")]);

    // Values that the API refuses are not rendered.
    let mut wrong = contents.clone();
    wrong[0]["parts"][0]["videoMetadata"]["fps"] = json!("fast");
    let rendered = again(&GEMINI, &wrong, &[]);
    assert!(rendered.messages[0]["parts"][0].get("videoMetadata").is_none());
    assert_eq!(repaired(&rendered), [(0, "part_fields_removed")]);
}

fn exchange(response: &Value) -> [Value; 3] {
    let call =
        json!({"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "c2ln"});
    [
        user(&json!([{"text": "hi"}])),
        model(&json!([call])),
        user(&json!([{"functionResponse": response}])),
    ]
}

#[test]
fn the_response_of_a_function_with_media_comes_back() {
    let image =
        json!({"inlineData": {"mimeType": "image/png", "data": "iVBO", "displayName": "a.png"}});
    for output in [
        json!({"a": 1, "n": {"z": 2}}),
        json!({"image": {"$ref": "a.png"}}),
        json!({"output": [1, 2]}),
        json!({"output": "{\"a\":1}"}),
        json!({"error": {"code": 5}}),
        json!({}),
    ] {
        let response = json!({"id": "a", "name": "f", "response": output, "parts": [image]});
        assert_kept(&GEMINI, &exchange(&response));
        assert_kept(&VERTEX, &exchange(&response));
    }
    let response =
        json!({"id": "a", "name": "f", "response": {"image": {"$ref": "a.png"}}, "parts": [image]});
    let other = stored_in(&OpenAi, &GEMINI, &exchange(&response));
    assert_eq!(repaired(&other), [(1, "call_fields_removed"), (2, "part_serialised")]);
}

#[test]
fn the_other_fields_of_calls_and_responses_come_back() {
    let response = json!({
        "id": "a", "name": "f", "response": {"output": "sunny"}, "scheduling": "WHEN_IDLE",
        "willContinue": false,
    });
    let mut contents = exchange(&response);
    assert_kept(&GEMINI, &contents);
    let other = stored_in(&OpenAi, &GEMINI, &contents);
    assert!(repaired(&other).contains(&(2, "call_fields_removed")));

    contents[1]["parts"][0]["partMetadata"] = json!({"step": 1});
    contents[1]["parts"][0]["functionCall"]["willContinue"] = json!(true);
    contents[2]["parts"][0]["partMetadata"] = json!({"step": 2});
    assert_kept(&GEMINI, &contents);
    contents[2]["parts"][0]["functionResponse"]["newField"] = json!(1);
    let rendered = again(&GEMINI, &contents, &["unknown_field"]);
    assert_eq!(rendered.messages, contents);
    contents[2]["parts"][0]["functionResponse"]["scheduling"] = json!(5);
    let rendered = again(&GEMINI, &contents, &["unknown_field"]);
    assert_eq!(repaired(&rendered), [(2, "call_fields_removed")]);
}

#[test]
fn a_call_without_a_signature_gets_a_text_in_its_place_and_reports_it() {
    let mut contents = exchange(&json!({"id": "a", "name": "f", "response": {"output": "sunny"}}));
    contents[1]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
    let rendered = stored_in(&GEMINI, &GEMINI, &contents);
    assert_eq!(repaired(&rendered), [(1, "signature_added")]);
    let signature = &rendered.messages[1]["parts"][0]["thoughtSignature"];
    assert_eq!(*signature, "skip_thought_signature_validator");
    assert_kept(&GEMINI, &rendered.messages);
    // The text is no signature that another format would lose.
    let other = stored_in(&OpenAi, &GEMINI, &rendered.messages);
    assert_eq!(repaired(&other), []);
}

#[test]
fn contents_without_parts_are_dropped_and_functions_answer_as_the_user() {
    let contents = [json!({"role": "model"}), json!({"role": "model", "parts": []})];
    let rules: Vec<_> =
        ingest::check(&GEMINI, &contents, Check::Lenient).noted.iter().map(|it| it.rule).collect();
    assert_eq!(rules, ["missing_content", "missing_content"]);
    let parsed = GEMINI.parse(Vec::new(), contents.to_vec());
    let reasons: Vec<_> = parsed.dropped.iter().map(|it| it.reason.slug()).collect();
    assert_eq!(reasons, ["null_content", "null_content"]);

    let mut contents = exchange(&json!({"id": "a", "name": "f", "response": {"output": "sunny"}}));
    let expected = contents.clone();
    contents[2]["role"] = json!("function");
    assert_eq!(again(&GEMINI, &contents, &[]).messages, expected);
}

/// A model that makes images makes some while it thinks.
#[test]
fn an_image_of_a_thought_is_reasoning() {
    let image = json!({"mimeType": "image/png", "data": "iVBO"});
    let thought = json!({"inlineData": image, "thought": true});
    let made = json!({"inlineData": image, "thoughtSignature": "c2ln"});
    let user = json!({"role": "user", "parts": [{"text": "Draw."}]});
    let chat = [user.clone(), model(&json!([thought, made])), user.clone()];
    let rendered = stored_in(&GEMINI, &GEMINI, &chat);
    assert_eq!(rendered.messages[1]["parts"], json!([made]));
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed")]);
    let shown = stored_in(&UiMessage, &GEMINI, &chat);
    assert_eq!(shown.messages[1]["parts"].as_array().map(Vec::len), Some(1));
    let alone = stored_in(&UiMessage, &GEMINI, &[user.clone(), model(&json!([thought])), user]);
    assert_eq!(dropped(&alone), [(1, "only_reasoning")]);
    // The Agent Development Kit keeps what it stored, and others do not show it.
    let said = json!({"role": "model", "parts": [thought, made]});
    let event = json!({
        "id": "e1", "author": "painter", "invocationId": "i", "timestamp": 1.5, "content": said,
        "actions": {},
    });
    let own = stored_in(&GoogleAdk, &GoogleAdk, std::slice::from_ref(&event));
    assert_eq!(own.messages[0]["content"], event["content"]);
    assert_eq!(own.repaired, []);
    let elsewhere = stored_in(&GEMINI, &GoogleAdk, &[event]);
    assert_eq!(elsewhere.messages[1]["parts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn files_and_their_processing_come_back_in_a_response() {
    let file = json!({"mimeType": "image/png", "fileUri": "https://example.org/a.png", "displayName": "a.png"});
    let image = json!({"mimeType": "image/png", "data": "iVBO"});
    let media = json!([{"fileData": file}, {"inlineData": image, "mediaProcessing": "STATIC"}]);
    for output in [json!({"a": 1}), json!({"output": "x"}), json!({})] {
        let response = json!({"id": "a", "name": "f", "response": output, "parts": media});
        assert_kept(&GEMINI, &exchange(&response));
        assert_kept(&VERTEX, &exchange(&response));
    }
    let media =
        json!([{"inlineData": image, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}}]);
    let response = json!({"id": "a", "name": "f", "response": {}, "parts": media});
    let rendered = stored_in(&GEMINI, &GEMINI, &exchange(&response));
    assert_eq!(repaired(&rendered), [(2, "part_fields_removed")]);
}

#[test]
fn a_transcription_may_be_a_part_of_its_own() {
    let heard = json!({"audioTranscription": {"text": "hello", "finished": true}});
    let contents = [
        user(&json!([{"text": "hi"}])),
        model(&json!([{"text": "a"}, heard])),
        user(&json!([heard])),
    ];
    let rendered = again(&GEMINI, &contents, &[]);
    assert_eq!((&rendered.messages[..], &rendered.repaired[..]), (&contents[..], &[][..]));
}

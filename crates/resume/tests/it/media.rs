//! Images, sounds and files in all dialects.

use resume::Options;
use resume::dialect::{
    self, Acp, Ag2Classic, Anthropic, Dialect, Gemini, GeminiApi, LangChain, OpenAi, Profile,
    Rendered, UiMessage,
};
use serde_json::{Value, json};

use crate::openai::repaired;
use crate::round_trip::stored_in;
use crate::transcript::{log, stored_all, violations};

/// It keeps the names of inline data.
const GEMINI: Gemini = Gemini { api: GeminiApi::Vertex };

/// Renders a user message with these stored content parts.
fn rendered(dialect: &dyn Dialect, parts: &Value) -> Rendered {
    let message = json!({"role": "user", "content": parts});
    let rendered = dialect.render(log(&[message]), &Options::default());
    assert_eq!(violations(dialect, &rendered.messages), []);
    rendered
}

/// Returns the content parsed from a message.
fn read(dialect: &dyn Dialect, message: Value) -> Value {
    let parsed = dialect.parse(Vec::new(), vec![message]);
    stored_all(parsed.messages).remove(0).body.content
}

#[test]
fn an_image_with_a_name_stays_an_image() {
    let url = "data:image/png;base64,iVBO";
    let file = json!({"type": "file", "mediaType": "image/png", "filename": "a.png", "url": url});
    let uploaded = read(&UiMessage, json!({"role": "user", "parts": [file]}));
    let inline = json!({"mimeType": "image/png", "data": "iVBO", "displayName": "a.png"});
    let sent = read(&GEMINI, json!({"role": "user", "parts": [{"inlineData": inline}]}));
    assert_eq!(sent, uploaded);
    let as_file = json!([{"type": "file", "file": {"file_data": url, "filename": "a.png"}}]);
    let image = json!([{"type": "image_url", "image_url": {"url": url}}]);
    let block = json!([{
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"},
    }]);
    let cases: [(&dyn Dialect, _, _); 5] = [
        (&OpenAi, "/content", image.clone()),
        (&Ag2Classic { profile: Profile::Pattern }, "/content", image),
        (&Anthropic, "/content", block),
        (&GEMINI, "/parts", json!([{"inlineData": inline}])),
        (&UiMessage, "/parts", json!([file])),
    ];
    for (dialect, field, expected) in cases {
        for parts in [&uploaded, &as_file] {
            let rendered = rendered(dialect, parts);
            assert_eq!(rendered.messages[0].pointer(field), Some(&expected), "{dialect:?}");
            assert_eq!(rendered.repaired, [], "{dialect:?}");
        }
    }
}

#[test]
fn an_image_with_a_url_keeps_its_name_and_its_kind() {
    let url = "https://example.org/a";
    let file = json!({"type": "file", "mediaType": "image/png", "filename": "a.png", "url": url});
    let uploaded = read(&UiMessage, json!({"role": "user", "parts": [file]}));
    let block = json!([{"type": "image", "source": {"type": "url", "url": url}}]);
    assert_eq!(rendered(&Anthropic, &uploaded).messages[0]["content"], block);
    assert_eq!(rendered(&UiMessage, &uploaded).messages[0]["parts"][0]["filename"], "a.png");
}

#[test]
fn anthropic_gets_only_supported_media_types() {
    let file = |url: &str| json!([{"type": "file", "file": {"file_data": url, "filename": "a"}}]);
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    let text = json!({"type": "text", "media_type": "text/plain", "data": "a,b"});
    for (url, source) in [
        ("data:application/pdf;name=a.pdf;base64,JVBE", pdf),
        ("data:text/csv;charset=utf-8;base64,YSxi", text),
    ] {
        let rendered = rendered(&Anthropic, &file(url));
        let block = json!({"type": "document", "source": source, "title": "a"});
        assert_eq!(
            (&rendered.messages[0]["content"][0], &rendered.repaired[..]),
            (&block, &[][..])
        );
    }
    for url in [
        "data:application/zip;base64,UEs=",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "data:text/plain;base64,/w==",
        "data:text/plain;base64,IA==",
    ] {
        let rendered = rendered(&Anthropic, &file(url));
        assert_eq!(rendered.messages[0]["content"][0]["type"], "text", "{url}");
        assert_eq!(repaired(&rendered), [(0, "part_serialised")], "{url}");
    }
}

#[test]
fn the_text_of_a_document_is_parsed() {
    let source = json!({"type": "text", "media_type": "text/plain", "data": "a,b"});
    let block = json!({"type": "document", "source": source, "title": "a"});
    let said = read(&Anthropic, json!({"role": "user", "content": [block]}));
    let file = json!({"file_data": "data:text/plain;base64,YSxi", "filename": "a"});
    assert_eq!(said, json!([{"type": "file", "file": file}]));
    assert_eq!(rendered(&Anthropic, &said).messages[0]["content"][0], block);
}

#[test]
fn unsupported_anthropic_sources_are_violations() {
    let image = |media_type: &str| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": ""}});
    let document = |source: &Value| json!({"type": "document", "source": source});
    for (block, valid) in [
        (image("image/webp"), true),
        (image("image/svg+xml"), false),
        (image("application/pdf"), false),
        (document(&json!({"type": "base64", "media_type": "application/pdf", "data": ""})), true),
        (document(&json!({"type": "base64", "media_type": "image/png", "data": ""})), false),
        (document(&json!({"type": "text", "media_type": "text/plain", "data": "x"})), true),
        (document(&json!({"type": "text", "media_type": "text/csv", "data": "x"})), false),
        (document(&json!({"type": "url"})), false),
        (document(&json!({"type": "path"})), false),
    ] {
        let found = Anthropic.validate(&[json!({"role": "user", "content": [block]})]);
        let rules: Vec<_> = found.iter().map(|violation| violation.rule).collect();
        assert_eq!(rules, if valid { vec![] } else { vec!["invalid_source"] }, "{block}");
    }
}

#[test]
fn openai_gets_media_types_without_parameters() {
    let image = |url: &str| json!([{"type": "image_url", "image_url": {"url": url}}]);
    let file = |url: &str| json!([{"type": "file", "file": {"file_data": url, "filename": "a"}}]);
    for (stored, sent) in [
        (image("data:image/png;a=b;base64,iVBO"), image("data:image/png;base64,iVBO")),
        (file("data:application/pdf;a=b;base64,JVBE"), file("data:application/pdf;base64,JVBE")),
    ] {
        let rendered = rendered(&OpenAi, &stored);
        assert_eq!(rendered.messages[0]["content"], sent);
        assert_eq!(rendered.repaired, []);
    }
}

#[test]
fn openai_gets_only_supported_sounds_and_files() {
    let sound = |format: &str| json!([{"type": "input_audio", "input_audio": {"data": "SUQz", "format": format}}]);
    let inline = json!({"mimeType": "audio/mpeg", "data": "SUQz", "displayName": "a.mp3"});
    let sent = read(&GEMINI, json!({"role": "user", "parts": [{"inlineData": inline}]}));
    let file = json!([{"type": "file", "file": {"file_data": "data:audio/mpeg;base64,SUQz"}}]);
    for parts in [sent, file, sound("mp3"), sound("mpeg")] {
        let rendered = rendered(&OpenAi, &parts);
        assert_eq!(rendered.messages[0]["content"], sound("mp3"));
        assert_eq!(rendered.repaired, []);
    }
    let url = json!({"file_url": "https://example.org/a.pdf", "filename": "a.pdf"});
    for part in [
        sound("ogg")[0].clone(),
        json!({"type": "input_audio", "input_audio": {"data": "SUQz"}}),
        json!({"type": "file", "file": url}),
        json!({"type": "file", "file": {}}),
    ] {
        let rendered = rendered(&OpenAi, &json!([{"type": "text", "text": "x"}, part]));
        let text = json!({"type": "text", "text": part.to_string()});
        assert_eq!(rendered.messages[0]["content"][1], text);
        assert_eq!(repaired(&rendered), [(0, "part_serialised")]);
        let found = OpenAi.validate(&[json!({"role": "user", "content": [part]})]);
        assert_eq!(found[0].rule, "unknown_block", "{part}");
    }
}

#[test]
fn the_raw_output_of_a_result_is_complete() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let caller = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let parts = json!([
        {"type": "text", "text": "x", "citations": [1]},
        {"type": "refusal", "refusal": "no"},
        {"type": "file", "file": {"file_id": "file_1"}},
    ]);
    let result = json!({"role": "tool", "tool_call_id": "a", "content": parts});
    let rendered = Acp.render(log(&[caller, result]), &Options::default());
    assert_eq!(rendered.messages[1]["rawOutput"], parts);
    assert_eq!(rendered.repaired, []);
}

/// The media type that a message of a format says of an address whose ending does not say one.
fn said_of_address(dialect: &dyn Dialect, said: &str) -> Option<(Value, &'static str)> {
    let at = "https://example.org/files/7";
    Some(match dialect.name() {
        "ag-ui" => {
            let source = json!({"type": "url", "value": at, "mimeType": said});
            let content = json!([{"type": "audio", "source": source}]);
            (json!({"id": "u1", "role": "user", "content": content}), "/content/0/source/mimeType")
        }
        "gemini-vertex" | "gemini" => {
            let parts = json!([{"fileData": {"fileUri": at, "mimeType": said}}]);
            (json!({"role": "user", "parts": parts}), "/parts/0/fileData/mimeType")
        }
        "google-adk" => {
            let parts = json!([{"fileData": {"fileUri": at, "mimeType": said}}]);
            let content = json!({"role": "user", "parts": parts});
            let event =
                json!({"id": "1", "author": "user", "invocationId": "e", "content": content});
            (event, "/content/parts/0/fileData/mimeType")
        }
        "pydantic-ai" => {
            let item = json!({"kind": "audio-url", "url": at, "media_type": said});
            let part = json!({"part_kind": "user-prompt", "content": [item]});
            (json!({"kind": "request", "parts": [part]}), "/parts/0/content/0/media_type")
        }
        "ui-message" => {
            let parts = json!([{"type": "file", "mediaType": said, "url": at}]);
            (json!({"id": "u1", "role": "user", "parts": parts}), "/parts/0/mediaType")
        }
        _ => return None,
    })
}

#[test]
fn the_media_type_of_an_address_is_the_same_in_every_format_that_has_one() {
    let formats: Vec<_> =
        dialect::all().filter_map(|it| Some((it, said_of_address(it, "audio/mpeg")?))).collect();
    assert!(formats.len() >= 5, "{}", formats.len());
    for (from, (message, _)) in &formats {
        for (into, (_, place)) in &formats {
            let rendered = stored_in(*into, *from, std::slice::from_ref(message));
            let said = rendered.messages[0].pointer(place);
            let names = (from.name(), into.name());
            assert_eq!(said, Some(&json!("audio/mpeg")), "{names:?} {:?}", rendered.messages);
        }
        // Where no address has a type, that is reported.
        let rendered = stored_in(&Anthropic, *from, std::slice::from_ref(message));
        assert!(!rendered.repaired.is_empty(), "{}", from.name());
    }
}

#[test]
fn gemini_is_given_sounds_at_addresses() {
    for (name, media_type) in [("a.mp3", "audio/mpeg"), ("b.wav", "audio/wav"), ("c", "audio/ogg")]
    {
        let uri = format!("gs://bucket/{name}");
        let parts = json!([{"fileData": {"fileUri": uri, "mimeType": media_type}}]);
        let message = json!({"role": "user", "parts": parts});
        assert_eq!(stored_in(&GEMINI, &GEMINI, std::slice::from_ref(&message)).messages, [message]);
        let file = json!({"type": "file", "file": {"file_url": format!("https://example.org/{name}")}, "mimeType": media_type});
        let rendered = rendered(&GEMINI, &json!([file]));
        assert_eq!(rendered.messages[0]["parts"][0]["fileData"]["mimeType"], media_type);
    }
}

#[test]
fn langchain_is_given_files_in_its_own_form() {
    let file = |data: &str| json!({"type": "file", "file": {"file_data": data}});
    let pdf = file("data:application/pdf;base64,JVBE");
    let at =
        json!({"type": "file", "file": {"file_url": "https://example.org/a.csv", "filename": "a"}});
    let parts =
        json!([pdf, file("data:text/plain;base64,aGk="), file("data:video/mp4;base64,AAAA"), at,]);
    let written = json!([
        pdf,
        {"type": "file", "base64": "aGk=", "mime_type": "text/plain"},
        {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
        {"type": "file", "url": "https://example.org/a.csv", "mime_type": "text/csv", "extras": {"filename": "a"}},
    ]);
    assert_eq!(rendered(&LangChain, &parts).messages[0]["data"]["content"], written);
    // What came from there comes back as it was.
    for content in [parts, written] {
        let data = json!({"content": content, "type": "human"});
        let rendered = stored_in(&LangChain, &LangChain, &[json!({"type": "human", "data": data})]);
        assert_eq!(rendered.messages[0]["data"]["content"], content);
        assert_eq!(rendered.repaired, []);
    }
}

/// Returns every text in a value that holds the JSON text of an object.
fn json_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.contains("{\"") => vec![text],
        Value::Array(items) => items.iter().flat_map(json_texts).collect(),
        Value::Object(fields) => fields.values().flat_map(json_texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_json_text_has_no_long_inline_data() {
    let data = "QUJD".repeat(1000);
    let url = |media_type: &str| format!("data:{media_type};base64,{data}");
    let zip =
        json!({"type": "file", "file": {"file_data": url("application/zip"), "filename": "a.zip"}});
    let sound = json!({"type": "input_audio", "input_audio": {"data": data, "format": "flac"}});
    let drawing = json!({"type": "image_url", "image_url": {"url": url("image/svg+xml")}});
    let unknown = json!({"type": "hologram", "of": {"mimeType": "model/gltf", "bytes": data}});
    let parts = json!([{"type": "text", "text": "see"}, zip, sound, drawing, unknown]);
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let chat = [
        json!({"role": "system", "content": parts}),
        json!({"role": "user", "content": parts}),
        json!({"role": "assistant", "content": parts, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": "c", "content": parts}),
        json!({"role": "user", "content": {"of": url("image/png")}}),
    ];
    let failed = json!({"tool_call_id": "c", "content": parts, "is_error": true});
    let mut of_failed = chat.clone();
    of_failed[3] = json!({"role": "tool", "tool_responses": [failed]});
    for (dialect, chat) in dialect::all().flat_map(|it| [(it, &chat), (it, &of_failed)]) {
        let rendered = dialect.render(log(chat), &Options::default());
        let whole = json!([rendered.system, rendered.messages]);
        let texts = json_texts(&whole);
        assert!(texts.iter().all(|text| !text.contains(&data)), "{dialect:?}");
        let left_out: usize = texts.iter().map(|text| text.matches("[left out: ").count()).sum();
        let noted = repaired(&rendered).iter().filter(|it| it.1 == "inline_data_left_out").count();
        // AG2 repeats the result of a call beside the list of all results.
        assert!(noted <= left_out && (noted > 0) == (left_out > 0), "{dialect:?}");
    }
    let rendered = rendered(&Anthropic, &json!([{"type": "text", "text": "see"}, zip]));
    let file = json!({"file_data": "[left out: application/zip, 3000 bytes]", "filename": "a.zip"});
    let text = json!({"type": "file", "file": file}).to_string();
    assert_eq!(rendered.messages[0]["content"][1], json!({"type": "text", "text": text}));
    let details: Vec<_> = rendered.repaired.iter().map(|it| it.repair.to_string()).collect();
    let detail = "inline data were left out of a JSON text: application/zip, 3000 bytes";
    assert_eq!(details, ["a content part became its JSON text", detail]);
}

/// Node.js writes the bytes of a `Buffer` as a list of numbers; other lists of numbers are what a tool found.
#[test]
fn a_json_text_has_no_long_list_of_bytes() {
    let bytes: Vec<_> = (0..2048).map(|it| it % 256).collect();
    let kept = json!({"type": "series", "data": bytes, "values": bytes});
    let buffer = json!({"type": "Buffer", "data": bytes});
    let picture = json!({"mimeType": "image/png", "data": bytes, "sizes": bytes});
    let parts = [
        json!({"type": "text", "text": "see"}),
        kept.clone(),
        json!({"type": "x", "of": [buffer, picture]}),
    ];
    let rendered = rendered(&Anthropic, &parts.into());
    let content = &rendered.messages[0]["content"];
    assert_eq!(content[1]["text"], kept.to_string());
    let buffer = json!({"type": "Buffer", "data": "[left out: data, 2048 bytes]"});
    let picture = json!({"mimeType": "image/png", "data": "[left out: image/png, 2048 bytes]", "sizes": bytes});
    assert_eq!(content[2]["text"], json!({"type": "x", "of": [buffer, picture]}).to_string());
}

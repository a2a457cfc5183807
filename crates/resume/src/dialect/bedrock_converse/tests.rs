use records::{EventId, Message, NewMessage};
use serde_json::{Value, json};

use super::BedrockConverse;
use crate::dialect::{self, Dialect as _, Parsed, Rendered};
use crate::ingest::{self, Check, Checked};
use crate::{Options, Repair};

fn message(role: &str, blocks: &[Value]) -> Value {
    json!({"role": role, "content": blocks})
}

fn text(said: &str) -> Value {
    json!({"text": said})
}

fn call(id: &str) -> Value {
    json!({"toolUse": {"toolUseId": id, "name": "f", "input": {"a": 1}}})
}

fn result(id: &str, blocks: &[Value]) -> Value {
    json!({"toolResult": {"toolUseId": id, "content": blocks}})
}

fn cached() -> Value {
    json!({"cachePoint": {"type": "default"}})
}

fn picture() -> Value {
    json!({"image": {"format": "png", "source": {"bytes": "iVBO"}}})
}

#[expect(clippy::default_trait_access, reason = "the type of a time is named by `records` alone")]
fn stored(sequence: u64, message: NewMessage) -> Message {
    Message {
        sequence,
        event_id: EventId::parse(format!("evt_{sequence}")).unwrap(),
        body: message.body,
        created_at: Default::default(),
        author: None,
        edited_at: None,
        edited_by: None,
        deleted_at: None,
        deleted_by: None,
        is_text_kept: false,
    }
}

fn rendered(dialect: &str, parsed: Parsed) -> Rendered {
    assert_eq!(parsed.dropped, []);
    let messages = (0..).zip(parsed.messages).map(|(at, message)| stored(at, message)).collect();
    let dialect = dialect::named(dialect).unwrap();
    let rendered = dialect.render(messages, &Options::default());
    assert_eq!(dialect::validate(dialect, &rendered.messages), Ok(()));
    rendered
}

/// Renders messages of `OpenAI` in this dialect.
fn from_openai(messages: &Value) -> Rendered {
    let openai = dialect::named("openai").unwrap();
    rendered("bedrock-converse", openai.parse(Vec::new(), messages.as_array().unwrap().clone()))
}

fn slugs(rendered: &Rendered) -> Vec<&str> {
    rendered.repaired.iter().map(|repaired| repaired.repair.slug()).collect()
}

#[test]
fn marks_and_the_order_of_blocks_are_kept() {
    let thinking =
        json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}});
    let messages = vec![
        message("user", &[text("hi"), cached(), picture()]),
        message("assistant", &[thinking.clone(), call("a"), thinking, call("b"), cached()]),
        message("user", &[result("a", &[]), result("b", &[text("x")]), cached()]),
        message("assistant", &[text("One."), call("c")]),
        message(
            "user",
            &[result("c", &[picture(), json!({"json": {"a": 1}})]), text("And?"), cached()],
        ),
    ];
    let system = vec![text("Be brief."), cached(), text("Be kind.")];
    let back =
        rendered("bedrock-converse", BedrockConverse.parse(system.clone(), messages.clone()));
    assert_eq!(back, Rendered { messages, system, ..Rendered::default() });
}

#[test]
fn what_is_not_valid_is_noted_and_not_rendered() {
    let mut tagged = message("user", &[text("hi"), json!({"cachePoint": {"type": "later"}})]);
    tagged["metadata"] = json!({"usage": 1});
    let unknown = message("assistant", &[text("one"), json!({"riddle": {"a": 1}})]);
    let mut image = picture();
    image["image"]["colour"] = json!("red");
    let messages = vec![tagged, unknown, message("user", &[image])];
    let checked = ingest::check(&BedrockConverse, &messages, Check::Lenient);
    assert_eq!(checked.refused, []);
    assert_eq!(checked.noted.len(), 4, "{:?}", checked.noted);
    let back = rendered("bedrock-converse", BedrockConverse.parse(Vec::new(), messages));
    let riddle = r#"{"type":"riddle","riddle":{"a":1}}"#;
    let expected = [
        message("user", &[text("hi")]),
        message("assistant", &[text("one"), text(riddle)]),
        message("user", &[picture()]),
    ];
    assert_eq!(back.messages, expected);
    let removed = "provider_fields_removed";
    assert_eq!(slugs(&back), [removed, "part_serialised", removed]);
}

#[test]
fn what_strands_agents_stores_is_read() {
    let bytes = json!({"__bytes_encoded__": true, "data": "iVBO"});
    let image = json!({"image": {"format": "png", "source": {"bytes": bytes}, "error": null}});
    let mut messages =
        [json!({"role": "user", "content": [image]}), json!({"role": "user", "content": "hi"})];
    BedrockConverse.prepare(&mut messages);
    assert_eq!(messages, [message("user", &[picture()]), message("user", &[text("hi")])]);
}

#[test]
fn places_in_s3_are_read_as_strands_agents_writes_them() {
    let message_at = |place: &dyn Fn(&str) -> Value| {
        let image = json!({"image": {"format": "png", "source": place("s3://my-bucket/a.png")}});
        let file = place("s3://my-bucket/a.pdf");
        let file = json!({"document": {"format": "pdf", "name": "a", "source": file}});
        [message("user", &[image, file, text("see")])]
    };
    for besides in [json!({}), json!({"bucketOwner": "123456789012"})] {
        let with_uri = |uri: &str| {
            let mut place = besides.clone();
            place["uri"] = uri.into();
            place
        };
        let expected = message_at(&|uri| json!({"s3Location": with_uri(uri)}));
        let mut messages = message_at(&|uri| {
            let mut place = with_uri(uri);
            place["type"] = "s3".into();
            json!({"location": place})
        });
        BedrockConverse.prepare(&mut messages);
        assert_eq!(messages, expected);
        assert_eq!(ingest::check(&BedrockConverse, &messages, Check::Strict), Checked::default());
        let parsed = BedrockConverse.parse(Vec::new(), messages.to_vec());
        assert_eq!(rendered("bedrock-converse", parsed).messages, expected);
    }
}

#[test]
fn documents_have_a_text_beside_them_and_names_of_their_own() {
    let file = |name: Option<&str>| {
        json!({"role": "user", "content": [{
            "type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE", "filename": name},
        }]})
    };
    let agent = json!({"role": "assistant", "content": "One."});
    let chat = json!([
        file(Some("a.pdf")),
        agent,
        file(Some("A pdf")),
        agent,
        file(Some("ключ")),
        agent,
        file(None),
    ]);
    let rendered = from_openai(&chat);
    let names =
        rendered.messages.iter().filter_map(|it| it["content"][0]["document"]["name"].as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["a pdf", "A pdf 2", "document", "document 2"]);
    let turns = slugs(&rendered).into_iter().filter(|slug| *slug == "turn_added").count();
    assert_eq!(turns, 4);
    assert_eq!(rendered.messages[0]["content"][1], text("Continue."));
}

#[test]
fn media_are_inline_or_in_s3() {
    let at = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    for (url, kind) in [
        ("data:image/png;base64,iVBO", "image"),
        ("s3://bucket/a.jpg", "image"),
        ("s3://bucket/a", "text"),
        ("s3://b/a.png", "text"),
        ("https://example.org/a.png", "text"),
        ("data:image/png;base64,i", "text"),
        ("data:image/png;base64,", "text"),
        ("data:image/bmp;base64,iVBO", "text"),
    ] {
        let rendered = from_openai(&json!([{"role": "user", "content": [at(url)]}]));
        assert!(rendered.messages[0]["content"][0].get(kind).is_some(), "{url}: {rendered:?}");
        assert_eq!(slugs(&rendered).contains(&"part_serialised"), kind == "text", "{url}");
    }
}

#[test]
fn results_are_text_or_objects() {
    let caller = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let answer =
        |id: &str, content: Value| json!({"role": "tool", "tool_call_id": id, "content": content});
    let contents = [json!("done"), json!({"a": [1]}), json!([1]), json!(null), json!(" ")];
    let ids = ["a", "b", "c", "d", "e"];
    let results: Vec<_> = ids.into_iter().zip(contents).map(|(id, it)| answer(id, it)).collect();
    let calls = json!({"role": "assistant", "content": null, "tool_calls": ids.map(caller)});
    let user = json!({"role": "user", "content": "hi"});
    let rendered = from_openai(&json!([[user, calls].to_vec(), results].concat()));
    let written = ids.into_iter().zip([
        vec![text("done")],
        vec![json!({"json": {"a": [1]}})],
        vec![text("[1]")],
        vec![],
        vec![],
    ]);
    let written: Vec<_> = written.map(|(id, blocks)| result(id, &blocks)).collect();
    assert_eq!(rendered.messages[2], message("user", &written));
}

#[test]
fn reasoning_without_a_signature_or_base64_is_removed() {
    let with =
        |block: Value| message("assistant", &[json!({"reasoningContent": block}), text("One.")]);
    for block in [json!({"reasoningText": {"text": "hm"}}), json!({"redactedContent": "?"})] {
        let messages =
            vec![message("user", &[text("hi")]), with(block), message("user", &[text("x")])];
        let back = rendered("bedrock-converse", BedrockConverse.parse(Vec::new(), messages));
        assert_eq!(back.messages[1], message("assistant", &[text("One.")]));
        assert_eq!(back.repaired[0].repair, Repair::ReasoningRemoved);
    }
}

#[test]
fn rules_that_only_the_service_knows_are_checked() {
    let document = |name: &str| json!({"document": {"name": name, "format": "pdf", "source": {"bytes": "JVBE"}}});
    let mut failed = result("a", &[picture()]);
    failed["toolResult"]["status"] = json!("error");
    let user = message("user", &[text("hi")]);
    let cases = [
        (vec![], "no_messages"),
        (vec![user.clone(), user.clone()], "same_role"),
        (vec![message("user", &[document("a")])], "document_without_text"),
        (vec![message("user", &[text("x"), document("a.pdf")])], "invalid_document_name"),
        (vec![message("user", &[text("x"), document("a"), document("A")])], "duplicate_document"),
        (vec![message("user", &[result("a", &[json!({"json": [1]})])])], "invalid_json"),
        (vec![message("user", &[failed])], "media_in_error"),
    ];
    for (messages, rule) in cases {
        let found = BedrockConverse.provider_violations(&messages);
        assert_eq!(found.iter().map(|it| it.rule).collect::<Vec<_>>(), [rule], "{messages:?}");
    }
}

#[test]
fn shapes_are_checked() {
    let signed =
        json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}});
    let media = |source: Value| json!({"image": {"format": "png", "source": source}});
    let user = |block: Value| message("user", &[block]);
    let agent = |block: Value| message("assistant", &[block]);
    let cases = [
        (json!(1), "not_an_object"),
        (message("model", &[text("x")]), "unknown_role"),
        (message("system", &[text("x")]), "system_message"),
        (user(text(" ")), "blank_text"),
        (message("user", &[]), "missing_content"),
        (json!({"role": "user", "content": "x"}), "invalid_content"),
        (json!({"role": "user", "content": [1]}), "invalid_content"),
        (json!({"role": "user", "content": [text("x")], "name": "a"}), "unknown_field"),
        (user(json!({"text": "x", "cachePoint": {"type": "default"}})), "unknown_field"),
        (user(signed), "unknown_field"),
        (agent(picture()), "unknown_field"),
        (user(media(json!({"bytes": ""}))), "invalid_source"),
        (user(media(json!({"bytes": "i"}))), "invalid_source"),
        (user(media(json!({"s3Location": {"uri": "https://example.org"}}))), "invalid_source"),
        (user(json!({"image": {"format": "bmp", "source": {"bytes": "iVBO"}}})), "unknown_field"),
        (user(json!({"cachePoint": {}})), "unknown_field"),
        (agent(json!({"reasoningContent": {"reasoningText": {"text": "x"}}})), "unsigned_thinking"),
        (agent(json!({"toolUse": {"toolUseId": "a", "name": "f", "input": "x"}})), "invalid_call"),
        (agent(json!({"toolUse": {"toolUseId": "a b", "name": "f", "input": {}}})), "invalid_name"),
        (user(json!({"toolResult": {"toolUseId": "a", "content": "x"}})), "invalid_result"),
        (user(result("a", &[])), "orphan_result"),
        (agent(call("a")), "unanswered_call"),
    ];
    for (message, rule) in cases {
        let found = BedrockConverse.validate(std::slice::from_ref(&message));
        assert!(found.iter().any(|violation| violation.rule == rule), "{message}: {found:?}");
    }
}

#[test]
fn an_instruction_that_a_guardrail_checks_comes_back_and_is_a_text_elsewhere() {
    let guarded = json!({"guardContent": {"text": {"text": "Be safe.", "qualifiers": ["query"]}}});
    let system = vec![text("Be brief."), guarded, cached()];
    let messages = vec![message("user", &[text("hi")])];
    let parsed = || BedrockConverse.parse(system.clone(), messages.clone());
    let back = rendered("bedrock-converse", parsed());
    assert_eq!(
        back,
        Rendered { messages: messages.clone(), system: system.clone(), ..Rendered::default() }
    );
    let elsewhere = rendered("openai", parsed());
    assert_eq!(elsewhere.messages[1], json!({"role": "system", "content": "Be safe."}));
    assert_eq!(slugs(&elsewhere), ["provider_fields_removed"]);
}

/// Nova puts what it cites between the texts, in blocks without a text.
#[test]
fn citations_without_a_text_come_back_and_are_no_text_elsewhere() {
    let web = json!({"web": {"url": "https://example.org", "domain": "example.org"}});
    let cited = json!({"citationsContent": {"citations": [{"location": web}]}});
    let answer =
        message("assistant", &[text("It is sunny."), cited.clone(), text("And warm."), cited]);
    let messages = vec![message("user", &[text("hi")]), answer, message("user", &[text("ok")])];
    let parsed = || BedrockConverse.parse(Vec::new(), messages.clone());
    let back = rendered("bedrock-converse", parsed());
    assert_eq!(back, Rendered { messages: messages.clone(), ..Rendered::default() });
    let elsewhere = rendered("openai", parsed());
    let texts =
        json!([{"type": "text", "text": "It is sunny."}, {"type": "text", "text": "And warm."}]);
    assert_eq!(elsewhere.messages[1]["content"], texts);
    assert_eq!(slugs(&elsewhere), ["provider_fields_removed"]);
}

/// The provider searches by itself, and answers with what it has found in one message.
#[test]
fn what_the_provider_has_looked_up_itself_stays_in_the_answer() {
    let call = json!({"toolUse": {"toolUseId": "t1", "name": "nova_grounding", "input": {"query": "news"},
        "type": "server_tool_use"}});
    let found = json!({"toolResult": {"toolUseId": "t1", "content": [text("found")], "status": "success",
        "type": "nova_grounding_result"}});
    let sent = json!([
        message("user", &[text("What is new?")]),
        message("assistant", &[text("I look."), call, found, text("Nothing.")]),
        message("user", &[text("Thanks.")]),
    ]);
    let messages = sent.as_array().unwrap();
    let checked = ingest::check(&BedrockConverse, messages, Check::Lenient);
    assert_eq!(checked, Checked::default());
    let parsed = BedrockConverse.parse(Vec::new(), messages.clone());
    assert_eq!(parsed.messages.len(), 3);
    let again = rendered("bedrock-converse", parsed.clone());
    assert_eq!(Value::from(again.messages), sent);
    for dialect in ["openai", "anthropic", "gemini", "langchain", "ui-message"] {
        let shown = rendered(dialect, parsed.clone()).messages;
        let shown = Value::from(shown).to_string();
        assert!(shown.contains("I look.") && shown.contains("Nothing."), "{dialect}: {shown}");
        assert!(shown.contains("found"), "{dialect}: {shown}");
    }
}

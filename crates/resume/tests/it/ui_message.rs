//! Messages of the AI SDK.

use std::collections::HashSet;

use resume::dialect::{Anthropic, Dialect, OpenAi, OpenAiResponses, PydanticAi, UiMessage};
use resume::ingest;
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, stored_in};
use crate::transcript::violations;

#[test]
fn what_version_7_of_the_sdk_has_comes_back() {
    let source = json!({"type": "source", "sourceType": "url", "id": "s", "url": "http://x"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let cited = json!({"type": "text", "text": "a", "citations": [{"source": source}]});
    let steering = json!({"type": "steering-message", "id": "m", "parts": [text("also")]});
    let call = |output: u8| {
        json!({"type": "tool-f", "toolCallId": "call_0", "state": "output-available", "input": {},
            "output": output})
    };
    let message =
        |id: &str, role: &str, parts: Value| json!({"id": id, "role": role, "parts": parts});
    // A model may count its calls anew in each step and in each message.
    let mut messages = vec![
        message("1", "user", json!([cited])),
        message("2", "assistant", json!([call(1), text("x"), call(2), steering, text("y")])),
        message("3", "assistant", json!([call(3)])),
        message("4", "user", json!([text("z")])),
    ];
    for metadata in [json!("s"), json!(0), json!(false), json!([1]), json!({"a": 1})] {
        messages[3]["metadata"] = metadata;
        assert_kept(&UiMessage, &messages);
    }
}

#[test]
fn an_input_that_is_a_text_stays_one() {
    for text in ["12", r#"{"a": 1}"#, "[1]", "null", "x", "", r#""quoted""#] {
        for state in ["input-available", "output-available"] {
            let mut part =
                json!({"type": "tool-f", "toolCallId": "c", "state": state, "input": text});
            if state == "output-available" {
                part["output"] = text.into();
            }
            assert_kept(&UiMessage, &[json!({"id": "1", "role": "assistant", "parts": [part]})]);
        }
    }
}

#[test]
fn what_a_user_said_while_an_answer_was_made_is_read_by_others() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": 1});
    let steering = |parts: Value| json!({"type": "steering-message", "id": "s", "parts": parts});
    let picture =
        json!({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="});
    let orders = [
        json!([call, steering(json!([text("rather Paris"), picture])), text("done")]),
        json!([{"type": "step-start"}, steering(json!([text("rather Paris")])), text("done")]),
        json!([text("a"), steering(json!([text("rather Paris")]))]),
    ];
    for parts in orders {
        let messages = [
            json!({"id": "1", "role": "user", "parts": [text("hi")]}),
            json!({"id": "2", "role": "assistant", "parts": parts}),
        ];
        assert_kept(&UiMessage, &messages);
        for dialect in [&OpenAi as &dyn Dialect, &Anthropic] {
            let others = stored_in(dialect, &UiMessage, &messages).messages;
            let mut by_user = others.iter().filter(|it| it["role"] == "user").map(Value::to_string);
            assert!(by_user.any(|it| it.contains("rather Paris")), "{others:?}");
        }
    }
}

#[test]
fn steps_that_use_the_id_of_a_call_again_have_ids_of_their_own() {
    let call = |output: u8| {
        json!({"type": "tool-f", "toolCallId": "call_0", "state": "output-available", "input": {},
            "output": output})
    };
    let parts = json!([call(1), {"type": "text", "text": "x"}, call(2)]);
    let messages = vec![json!({"id": "1", "role": "assistant", "parts": parts})];
    let mut parsed = UiMessage.parse(Vec::new(), messages);
    ingest::assign_step_ids(&mut parsed);
    let ids: Vec<_> = parsed.messages.iter().map(|it| it.event_id.clone().unwrap()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 4, "{ids:?}");
}

#[test]
fn others_are_told_why_a_call_was_denied() {
    let part = json!({"type": "tool-pay", "toolCallId": "c", "state": "output-denied", "input": {"amount": 5},
        "approval": {"id": "a", "approved": false, "reason": "Too much."}});
    let messages = [json!({"id": "1", "role": "assistant", "parts": [part]})];
    assert_kept(&UiMessage, &messages);
    let others = stored_in(&OpenAi, &UiMessage, &messages).messages;
    assert_eq!(others[1]["content"], "The call was denied. The reason: Too much.");
}

#[test]
fn a_video_at_a_url_is_one_where_the_format_has_videos_and_text_where_it_is_refused() {
    let film =
        json!({"type": "file", "mediaType": "video/mp4", "url": "https://example.org/tour.mp4"});
    let messages = [json!({"id": "1", "role": "user", "parts": [film]})];
    let library = stored_in(&PydanticAi, &UiMessage, &messages).messages;
    assert_eq!(library[0]["parts"][0]["content"][0]["kind"], "video-url", "{library:?}");
    let provider = stored_in(&Anthropic, &UiMessage, &messages);
    assert_eq!(provider.messages[0]["content"][0]["type"], "text");
    assert!(provider.repaired.iter().any(|it| it.repair.slug() == "part_serialised"));
}

fn thinking(parts: &Value) -> [Value; 2] {
    let mut parts = parts.as_array().cloned().unwrap_or_default();
    parts.push(json!({"type": "text", "text": "done"}));
    [
        json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "q"}]}),
        json!({"id": "2", "role": "assistant", "parts": parts}),
    ]
}

#[test]
fn the_texts_of_one_reasoning_item_are_one_item_in_the_responses_api() {
    let part = |text: &str, metadata: Value| json!({"type": "reasoning", "text": text, "providerMetadata": {"openai": metadata}});
    let whole = json!({"itemId": "rs_1", "reasoningEncryptedContent": "ENC"});
    let parts = json!([part("s1", json!({"itemId": "rs_1"})), part("s2", whole)]);
    let messages = thinking(&parts);
    assert_kept(&UiMessage, &messages);
    let items = stored_in(&OpenAiResponses, &UiMessage, &messages).messages;
    let text = |text: &str| json!({"type": "summary_text", "text": text});
    let item = json!({"type": "reasoning", "id": "rs_1", "summary": [text("s1"), text("s2")],
        "encrypted_content": "ENC"});
    assert_eq!(items[1], item);
    assert_eq!(items.len(), 3);
}

#[test]
fn what_bedrock_and_azure_say_of_reasoning_is_given_to_the_provider_of_the_model() {
    let part = |text: &str, metadata: Value| json!({"type": "reasoning", "text": text, "providerMetadata": metadata});
    let signed = part("th", json!({"bedrock": {"signature": "U0lH"}}));
    let redacted = part("", json!({"bedrock": {"redactedData": "UkVE"}}));
    let messages = thinking(&json!([signed, redacted]));
    assert_kept(&UiMessage, &messages);
    let content = stored_in(&Anthropic, &UiMessage, &messages).messages[1]["content"].clone();
    assert_eq!(content[0], json!({"type": "thinking", "thinking": "th", "signature": "U0lH"}));
    assert_eq!(content[1], json!({"type": "redacted_thinking", "data": "UkVE"}));
    let fields = json!({"itemId": "rs_1", "reasoningEncryptedContent": "ENC", "x": 1});
    let messages = thinking(&json!([part("th", json!({"azure": fields}))]));
    assert_kept(&UiMessage, &messages);
    let item = &stored_in(&OpenAiResponses, &UiMessage, &messages).messages[1];
    assert_eq!(item["id"], "rs_1");
    assert_eq!(item["encrypted_content"], "ENC");
}

#[test]
fn an_answer_without_parts_keeps_its_metadata() {
    let messages = [
        json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "q"}]}),
        json!({"id": "2", "role": "assistant", "metadata": {"tokens": 1}, "parts": []}),
        json!({"id": "3", "role": "assistant", "parts": []}),
    ];
    assert_kept(&UiMessage, &messages);
    let rendered = stored_in(&OpenAi, &UiMessage, &messages);
    let dropped: Vec<_> = rendered.dropped.iter().map(|it| it.reason.slug()).collect();
    assert_eq!(dropped, ["null_content"; 2]);
}

/// The service refuses such a message. An import of an earlier release may have stored one.
#[test]
fn a_message_of_a_user_with_fields_of_its_own_alone_is_valid() {
    let message = json!({"id": "m1", "role": "user", "parts": [], "kind": [1]});
    let rendered = stored_in(&UiMessage, &UiMessage, &[message]).messages;
    assert_eq!(rendered[0]["parts"], json!([{"type": "text", "text": ""}]));
    assert_eq!(violations(&UiMessage, &rendered), []);
}

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use resume::Repair;
use resume::dialect::{Anthropic, Dialect, OpenAi, OpenAiResponses, PydanticAi};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};
use crate::transcript::rendered_in;

fn request(parts: &[Value]) -> Value {
    json!({"kind": "request", "parts": parts, "run_id": "r", "instructions": "Plan."})
}

fn response(parts: &[Value]) -> Value {
    let usage = json!({"input_tokens": 1, "details": {}});
    json!({"kind": "response", "parts": parts, "usage": usage, "model_name": "m"})
}

fn prompt(content: &Value) -> Value {
    json!({"part_kind": "user-prompt", "content": content, "timestamp": "2026-01-01T00:00:00Z"})
}

fn call(id: &str, arguments: &Value) -> Value {
    json!({
        "part_kind": "tool-call", "tool_name": "f", "args": arguments, "tool_call_id": id,
        "provider_details": {"thought_signature": "x"},
    })
}

fn result(id: &str, content: &Value) -> Value {
    json!({
        "part_kind": "tool-return", "tool_name": "f", "content": content, "tool_call_id": id,
        "outcome": "success", "timestamp": "2026-01-01T00:00:00Z",
    })
}

fn binary() -> Value {
    json!({"kind": "binary", "data": "iVBO", "media_type": "image/png", "identifier": "978ea7"})
}

#[test]
fn bytes_in_the_base64_for_urls_are_read() {
    let with = |data: &str| {
        let mut picture = binary();
        picture["data"] = json!(data);
        let arguments = json!({"kind": "binary", "data": "-_8"});
        vec![
            request(&[prompt(&json!([picture]))]),
            response(&[call("a", &arguments), json!({"part_kind": "file", "content": picture})]),
            request(&[result("a", &json!([picture]))]),
        ]
    };
    let mut dumped = with("-_8=");
    assert!(!PydanticAi.validate(&dumped).is_empty());
    PydanticAi.prepare(&mut dumped);
    assert_eq!(dumped, with("+/8="));
    assert_eq!(PydanticAi.validate(&dumped), []);
}

#[test]
fn requests_and_responses_are_kept() {
    let instruction =
        json!({"part_kind": "system-prompt", "content": "Be brief.", "scope": "request"});
    let thinking = json!({
        "part_kind": "thinking", "content": "hm", "signature": "c2ln", "provider_name": "anthropic",
    });
    let redacted = json!({
        "part_kind": "thinking", "content": "", "id": "redacted_thinking", "signature": "ZGF0",
        "provider_name": "anthropic",
    });
    let hidden = json!({
        "part_kind": "thinking", "content": "", "id": "rs_1", "signature": "gAAA",
        "provider_name": "openai",
    });
    let other = json!({
        "part_kind": "thinking", "content": "", "signature": "x", "provider_name": "google",
    });
    let text = json!({"part_kind": "text", "content": "Let me see.", "id": "msg_1"});
    let calls = [call("a", &json!({"b": 1})), call("b", &json!("{ }")), call("c", &json!("{"))];
    let caller =
        [thinking, text.clone(), redacted, calls[0].clone(), hidden, other, calls[1].clone()];
    let file = json!({"part_kind": "file", "content": binary()});
    let caller = [&caller[..], &[calls[2].clone(), file]].concat();
    let mut failed = result("b", &json!("no"));
    failed["outcome"] = json!("retried");
    failed["retry"] = json!({"cause": "model_retry"});
    let results = [result("a", &json!({"sky": "clear"})), failed, result("c", &json!([1]))];
    assert_kept(
        &PydanticAi,
        &[
            request(&[instruction, prompt(&json!("hi"))]),
            request(&[prompt(&json!("again"))]),
            response(&caller),
            request(&results),
            response(&[text.clone(), text]),
        ],
    );
}

#[test]
fn every_content_is_kept() {
    let url = json!({
        "kind": "video-url", "url": "https://example.org/a.mp4", "media_type": "video/mp4",
        "identifier": "a.mp4", "force_download": false,
    });
    let sound = json!({"kind": "binary", "data": "iVBO", "media_type": "audio/mpeg"});
    let uploaded = json!({"kind": "uploaded-file", "file_id": "f", "provider_name": "openai"});
    let noted = json!({"kind": "text-content", "content": "x", "metadata": {"a": 1}});
    let mark = json!({"kind": "cache-point", "ttl": "5m"});
    let structured = json!({"kind": "structured-content", "value": {"a": 1}});
    let items = json!(["look", binary(), mark, url, sound, uploaded, noted, structured, mark]);
    let feedback = json!({
        "part_kind": "retry-feedback", "content": [{"type": "missing", "loc": ["a"], "msg": "m"}],
        "retry": {"cause": "validation_error"},
    });
    let legacy = json!({"part_kind": "retry-prompt", "content": "Try again.", "tool_call_id": "x"});
    let speech = json!({"part_kind": "speech", "speaker": "user", "transcript": "hi"});
    let native = [
        json!({"part_kind": "builtin-tool-call", "tool_name": "web", "args": "{}", "tool_call_id": "n"}),
        json!({"part_kind": "builtin-tool-return", "tool_name": "web", "content": 1, "tool_call_id": "n"}),
    ];
    let calls: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| call(id, &json!(null))).to_vec();
    let results = [
        result("a", &json!([{"type": "text", "text": "x"}])),
        result("b", &binary()),
        result("c", &json!(["a", binary(), {"k": 1}, {"kind": "other"}, 2])),
        result("d", &json!(["a", "b"])),
        result("e", &json!("x")),
    ];
    let mut calls = response(&calls);
    for call in calls["parts"].as_array_mut().unwrap() {
        call["args"] = Value::Null;
    }
    assert_kept(
        &PydanticAi,
        &[
            request(&[prompt(&items), feedback, legacy, speech, prompt(&json!(["one"]))]),
            response(&native),
            calls,
            request(&results),
        ],
    );
}

#[test]
fn reasoning_of_openai_is_that_of_its_own_items() {
    let thinking = json!({
        "part_kind": "thinking", "content": "hm", "id": "rs_1", "signature": "gAAA",
        "provider_name": "openai",
    });
    let text = json!({"part_kind": "text", "content": "hi"});
    let items = stored_in(&OpenAiResponses, &PydanticAi, &[response(&[thinking.clone(), text])]);
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": summary,
    });
    assert_eq!(items.messages[0], reasoning);
    let parsed = OpenAiResponses.parse(Vec::new(), items.messages);
    let back = rendered_in(&PydanticAi, parsed.messages);
    assert_eq!(back.messages[0]["parts"][0], thinking);
}

#[test]
fn other_formats_get_the_texts_of_results() {
    let caller = response(&[call("a", &json!({})), call("b", &json!({}))]);
    let mut denied = result("b", &json!("no"));
    denied["outcome"] = json!("denied");
    let messages =
        [request(&[prompt(&json!("hi"))]), caller, request(&[result("a", &json!("x")), denied])];
    let rendered = stored_in(&Anthropic, &PydanticAi, &messages);
    let blocks = json!([
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true},
    ]);
    assert_eq!(rendered.messages[2]["content"], blocks);
}

/// A model may answer with nothing, and be asked again; a run without a prompt begins with a request that has none.
#[test]
fn requests_and_responses_without_parts_are_kept() {
    let empty = |kind: &str| json!({"kind": kind, "parts": []});
    let mut begun = empty("request");
    begun["instructions"] = json!("Be brief.");
    let answer = json!({"part_kind": "text", "content": "yes"});
    let mut cut = empty("response");
    cut["finish_reason"] = json!("length");
    let asked = request(&[prompt(&json!("hi"))]);
    assert_kept(&PydanticAi, &[begun, empty("response"), empty("request"), cut]);
    let messages = [asked, empty("response"), empty("request"), response(&[answer])];
    assert_kept(&PydanticAi, &messages);
    let rendered = stored_in(&OpenAi, &PydanticAi, &messages);
    assert_eq!(rendered.messages.len(), 2);
    let dropped: Vec<_> = rendered.dropped.iter().map(|it| it.reason.slug()).collect();
    assert_eq!(dropped, ["null_content"; 2]);
}

#[test]
fn what_cannot_be_kept_is_reported() {
    let delta = json!({"part_kind": "instruction-delta", "content": "x"});
    let messages = vec![
        request(&[delta, prompt(&json!("hi"))]),
        json!({"kind": "request", "parts": null}),
        json!({"kind": "note", "parts": [1]}),
        json!({"parts": []}),
    ];
    let parsed = PydanticAi.parse(Vec::new(), messages);
    let dropped: Vec<_> = parsed.dropped.iter().map(|it| (it.index, it.reason.slug())).collect();
    let reasons = ["unsupported_role", "null_content", "unsupported_role", "missing_role"];
    assert_eq!(dropped, (0..4).zip(reasons).collect::<Vec<_>>());
    assert_eq!(parsed.messages.len(), 1);
    let broken = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,i"}}]);
    let chat = vec![json!({"role": "user", "content": broken})];
    let rendered = rendered_in(&PydanticAi, OpenAi.parse(Vec::new(), chat).messages);
    assert_eq!(rendered.repaired[0].repair, Repair::PartSerialised);
}

/// A message of any kind, with faults.
fn message() -> impl Strategy<Value = Value> {
    let of_requests = vec![
        prompt(&json!("hi")),
        prompt(&json!(["x", binary(), {"kind": "cache-point"}, {"kind": "new"}, 1])),
        prompt(&json!([])),
        prompt(&json!({"a": 1})),
        json!({"part_kind": "system-prompt", "content": ["x"]}),
        result("a", &binary()),
        result("a", &json!([])),
        result("b", &json!([{"type": "text", "text": "x"}])),
        json!({"part_kind": "retry-prompt", "content": "no", "tool_name": "f", "tool_call_id": "b"}),
        json!({"part_kind": "retry-feedback", "content": [{"type": "x"}]}),
        json!({"part_kind": "speech", "speaker": "assistant"}),
        json!({"part_kind": "new"}),
        json!(1),
    ];
    let of_responses = vec![
        json!({"part_kind": "text", "content": ""}),
        json!({"part_kind": "text", "content": 1}),
        call("a", &json!({"b": 1})),
        call("b", &json!("{")),
        call("a", &json!([])),
        json!({"part_kind": "thinking", "content": ""}),
        json!({"part_kind": "thinking", "content": "hm", "signature": "s"}),
        json!({"part_kind": "file", "content": binary()}),
        json!({"part_kind": "file", "content": {"kind": "image-url", "url": "u"}}),
        json!({"part_kind": "compaction", "content": "x"}),
        json!({"part_kind": "new", "type": "x"}),
        json!({"part_kind": "builtin-tool-call", "args": 1}),
        json!({"part_kind": "speech", "speaker": "user"}),
        json!(null),
    ];
    let parts = |known: Vec<Value>| vec(select(known), 0..4);
    prop_oneof![
        parts(of_requests).prop_map(|parts| request(&parts)),
        parts(of_responses).prop_map(|parts| response(&parts)),
    ]
}

#[test]
fn a_compaction_is_read_by_its_provider_again() {
    let of_anthropic =
        json!({"part_kind": "compaction", "content": "So far: x.", "provider_name": "anthropic"});
    let of_openai = json!({"part_kind": "compaction", "content": null, "id": "cmp_1", "provider_name": "openai",
        "provider_details": {"encrypted_content": "ENC", "type": "compaction"}});
    let other = json!({"part_kind": "compaction", "content": "x", "provider_name": "other"});
    let text = json!({"part_kind": "text", "content": "Hello."});
    let parts = |part: &Value| [response(&[part.clone(), text.clone()])];
    for part in [&of_anthropic, &of_openai, &other] {
        assert_kept(&PydanticAi, &parts(part));
    }
    let block = json!({"type": "compaction", "content": "So far: x."});
    let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "ENC"});
    let to_anthropic = stored_in(&Anthropic, &PydanticAi, &parts(&of_anthropic)).messages;
    assert!(to_anthropic.iter().any(|message| message["content"][0] == block), "{to_anthropic:?}");
    let to_openai = stored_in(&OpenAiResponses, &PydanticAi, &parts(&of_openai)).messages;
    assert_eq!(to_openai[0], item);
    let answer =
        json!({"role": "assistant", "content": [block, {"type": "text", "text": "Hello."}]});
    let from_anthropic = stored_in(&PydanticAi, &Anthropic, &[answer]).messages;
    assert_eq!(from_anthropic[0]["parts"][0], of_anthropic);
    let from_openai = stored_in(&PydanticAi, &OpenAiResponses, &[item]).messages;
    assert_eq!(from_openai[0]["parts"][0], of_openai);
}

/// The blocks of Anthropic may be encrypted or signed, too, and no other provider reads them then.
#[test]
fn what_seals_a_compaction_of_anthropic_stays_with_it() {
    for (field, content) in [
        ("encrypted_content", json!("So far: x.")),
        ("signature", json!("So far: x.")),
        ("encrypted_content", Value::Null),
    ] {
        let part = json!({"part_kind": "compaction", "content": content, "provider_name": "anthropic",
            "provider_details": {field: "QUJD"}});
        let block = json!({"type": "compaction", "content": content, field: "QUJD"});
        let text = json!({"part_kind": "text", "content": "Hello."});
        let messages = [response(&[part.clone(), text])];
        assert_kept(&PydanticAi, &messages);
        let to_anthropic = stored_in(&Anthropic, &PydanticAi, &messages).messages;
        assert!(
            to_anthropic.iter().any(|message| message["content"][0] == block),
            "{to_anthropic:?}"
        );
        let to_openai = stored_in(&OpenAiResponses, &PydanticAi, &messages).messages;
        assert!(to_openai.iter().all(|item| item["type"] != "compaction"), "{to_openai:?}");
        let answer =
            json!({"role": "assistant", "content": [block, {"type": "text", "text": "Hello."}]});
        let from_anthropic = stored_in(&PydanticAi, &Anthropic, &[answer]).messages;
        assert_eq!(from_anthropic[0]["parts"][0], part);
    }
}

proptest! {
    #[test]
    fn any_messages_can_be_stored_and_rendered(messages in vec(message(), 0..8)) {
        check_faulty(&PydanticAi, &PydanticAi.parse(Vec::new(), messages).messages)?;
    }
}

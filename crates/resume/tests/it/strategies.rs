//! Random conversations with all kinds of faults.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Random messages, whole exchanges of calls and results, and exchanges out of order.
pub(crate) fn conversation() -> impl Strategy<Value = Vec<Value>> {
    let shuffled = exchange().prop_shuffle();
    let episode = prop_oneof![message().prop_map(|one| vec![one]), exchange(), shuffled];
    vec(episode, 0..8).prop_map(|episodes| episodes.concat())
}

/// Any JSON, with content parts.
pub(crate) fn content() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!("")),
        "\\PC{0,6}".prop_map(Value::from),
        Just(json!({"type": "text", "text": "t"})),
        Just(json!({"type": "text", "text": "t", "citations": [1], "cache_control": null})),
        Just(json!({"type": "refusal", "refusal": "r"})),
        Just(json!({"type": "image_url", "image_url": {"url": "u"}})),
        Just(json!({"type": "input_audio"})),
        Just(json!({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}})),
        Just(json!({"type": "file", "file": {"file_id": "file_1", "filename": "a.pdf"}})),
        Just(
            json!({"type": "file", "file": {"file_id": "a"}, "provider": "anthropic", "kind": "image"})
        ),
        Just(json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE"}})),
        Just(json!({"type": "file", "file": {"file_data": "data:text/csv;base64,YSxi"}})),
        Just(json!([
            {"type": "image_url", "image_url": {"url": "https://example.org/a", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "blob:1", "detail": null}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}, "filename": "a"},
        ])),
        Just(json!(" \n")),
        Just(json!([{"type": "text", "text": "a"}, {"type": "text", "text": ""}])),
        Just(json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}])),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-c]", inner), 0..3).prop_map(Value::from_iter),
        ]
    })
}

fn role() -> impl Strategy<Value = &'static str> {
    select(vec![
        "user",
        "user",
        "assistant",
        "assistant",
        "assistant",
        "tool",
        "tool",
        "system",
        "developer",
        "function",
        "Orchestrator (thought)",
        "",
    ])
}

fn name() -> impl Strategy<Value = String> {
    let chosen = ["", " ", "user", "planner", "a b", "a_b", "a.b", "ü", "_Group_Tool_Executor"];
    prop_oneof![
        4 => select(chosen.to_vec()).prop_map(str::to_owned),
        1 => select(vec!["x", "é"]).prop_map(|letter| letter.repeat(70)),
        1 => "\\PC{1,3}",
    ]
}

fn id() -> impl Strategy<Value = Value> {
    let ids =
        [json!("a"), json!("b"), json!("a_2"), json!("a b"), json!("ü"), json!(""), json!(null)];
    let long = select(vec!["i".repeat(40), "i".repeat(41), "é".repeat(40)]).prop_map(Value::from);
    prop_oneof![4 => select(ids[..5].to_vec()), 1 => long, 1 => select(ids.to_vec())]
}

fn input() -> impl Strategy<Value = Value> {
    select(vec![
        json!("{}"),
        json!({"a": 1}),
        json!(null),
        json!([]),
        json!(""),
        json!("[1]"),
        json!("{\"city\": "),
        json!("{\"a\":1,\"a\":2}"),
        json!("{ \"a\" : 1.5 }"),
    ])
}

fn call() -> impl Strategy<Value = Value> {
    let function = (id(), name(), input()).prop_map(|(id, name, input)| {
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": input}})
    });
    let custom = (id(), input()).prop_map(
        |(id, input)| json!({"id": id, "type": "custom", "custom": {"name": "c", "input": input}}),
    );
    let untyped = (id(), input())
        .prop_map(|(id, input)| json!({"id": id, "function": {"name": "f", "arguments": input}}));
    prop_oneof![8 => function, 1 => custom, 1 => untyped, 1 => content()]
}

fn reasoning() -> impl Strategy<Value = Value> {
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let hidden = json!({"type": "redacted_thinking", "data": "ZGF0YQ=="});
    let unsigned = json!({"type": "thinking", "thinking": "hm"});
    let empty = json!({"type": "redacted_thinking", "data": ""});
    let between = json!({
        "type": "thinking", "thinking": "so", "signature": "c2ln", "position": 1,
    });
    let silent = json!({"type": "thinking", "thinking": "", "signature": "c2ln"});
    let known = [
        json!("hm"),
        json!([signed]),
        json!([signed, hidden]),
        json!([signed, between]),
        json!([unsigned]),
        json!([empty]),
        json!([silent, empty]),
        json!([{"type": "thinking", "thinking": ""}]),
        json!(null),
    ];
    prop_oneof![4 => select(known.to_vec()), 1 => content()]
}

fn response() -> impl Strategy<Value = Value> {
    let whole = (id(), content())
        .prop_map(|(id, content)| json!({"tool_call_id": id, "role": "tool", "content": content, "is_error": id == "b"}));
    prop_oneof![8 => whole, 1 => content()]
}

fn tool_calls() -> impl Strategy<Value = Value> {
    prop_oneof![6 => vec(call(), 0..3).prop_map(Value::from), 1 => content()]
}

fn message() -> impl Strategy<Value = Value> {
    let function_call = (name(), input()).prop_map(|(n, i)| json!({"name": n, "arguments": i}));
    let responses = vec(response(), 0..3).prop_map(Value::from);
    let rarely = |value: BoxedStrategy<Value>| option::weighted(0.1, value);
    let extra = (
        option::weighted(0.3, tool_calls()),
        option::weighted(0.5, id()),
        option::weighted(0.2, prop_oneof![4 => responses, 1 => content()]),
        rarely(prop_oneof![4 => function_call, 1 => content()].boxed()),
        rarely(prop_oneof![4 => Just(json!("no")), 1 => content()].boxed()),
        rarely(Just(json!("2025-08-15T00:00:00Z")).boxed()),
        option::weighted(0.3, reasoning()),
    );
    (role(), option::of(name()), content(), extra).prop_map(|(role, name, content, extra)| {
        let mut message = Map::new();
        let mut put = |field: &str, value: Option<Value>| {
            message.extend(value.map(|value| (field.to_owned(), value)));
        };
        put("role", Some(json!(role)));
        put("name", name.map(Value::from));
        put("content", Some(content));
        put("tool_calls", extra.0);
        put("tool_call_id", extra.1);
        put("tool_responses", extra.2);
        put("function_call", extra.3);
        put("refusal", extra.4);
        put("deleted_at", extra.5);
        put("reasoning_content", extra.6);
        Value::Object(message)
    })
}

/// An id of the greatest length that some dialects accept, and a longer one.
const FORTY: &str = "call_00000000000000000000000000000000000";
const FORTY_ONE: &str = "call_000000000000000000000000000000000000";

/// A message with calls and all results, in separate messages or in one.
fn exchange() -> impl Strategy<Value = Vec<Value>> {
    let ids = prop_oneof![
        Just(vec!["a"]),
        Just(vec!["a", "b"]),
        Just(vec!["b", "c"]),
        Just(vec!["a b", "a.b"]),
        Just(vec![FORTY, FORTY_ONE]),
    ];
    (ids, content(), any::<bool>()).prop_map(|(ids, content, in_one)| {
        let calls = ids.iter().map(|id| {
            json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
        });
        let calls: Vec<_> = calls.collect();
        let caller = json!({"role": "assistant", "content": content, "tool_calls": calls});
        let result = |id: &&str| json!({"role": "tool", "tool_call_id": id, "content": "r"});
        let results: Vec<_> = ids.iter().map(result).collect();
        let results = if in_one {
            vec![json!({"role": "tool", "content": "r", "tool_responses": results})]
        } else {
            results
        };
        [vec![caller], results].concat()
    })
}

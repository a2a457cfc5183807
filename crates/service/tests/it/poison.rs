//! Any JSON goes in through every write and comes back the same through every read.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use records::{JsonObject, merge_patch};
use serde_json::{Value, json};

use crate::harness::Client;

/// Keys that some layer might take for more than a key.
const KEYS: [&str; 28] = [
    "",
    ".",
    "..",
    "a.b",
    "$",
    "$set",
    "$where",
    "$ne",
    "$each",
    "$oid",
    "$date",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$binary",
    "$ref",
    "$id",
    "$regex",
    "$timestamp",
    "$uuid",
    "_id",
    "__proto__",
    "~1/",
    "messages.0.content",
    "\u{fffd}\u{202e}",
    "ключ",
    "$serde_json::private::RawValue",
    "$serde_json::private::Number",
];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&KEYS[..]).prop_map(str::to_owned),
        1 => "[^\u{0}]{0,12}",
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no such number", |n| n.is_finite())
            .prop_map(Value::from),
        prop::sample::select(vec![i64::MIN, i64::MAX, 0, -1, 1 << 53]).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["$$ROOT", "$last_sequence", "\0", "NaN", "zz", "1e400"])
            .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key(), inner), 0..5).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn object() -> impl Strategy<Value = JsonObject> {
    vec((key(), value()), 0..6).prop_map(|entries| entries.into_iter().collect())
}

/// Wraps a value in as many lists as nesting allows.
fn deep(value: &Value) -> Value {
    (0..55).fold(value.clone(), |inner, _| json!([inner]))
}

/// Asserts that the text of the answer, not only its meaning, holds `expected` at `pointer`.
fn assert_holds(answer: &crate::harness::Answer, pointer: &str, expected: &Value) {
    assert!(answer.status < 300, "{}", answer.text);
    let body = answer.body();
    let found = body.pointer(pointer).map(Value::to_string);
    assert_eq!(found.as_deref(), Some(expected.to_string().as_str()), "{pointer}");
}

async fn messages_come_back(client: &Client, path: &str, value: &Value, object: &Value) {
    let message = json!({
        "role": "user", "content": value, "metadata": object, "tool_calls": object,
        "structured_output": deep(value),
    });
    let messages = format!("{path}/messages");
    let body = json!({"messages": [message]});
    assert_eq!(client.post(&messages, body.clone()).await.status, 201);
    let initial = client.post(&format!("{path}/initial-messages"), body).await;
    assert_eq!(initial.status, 200, "it is recognised by its content");
    for (place, prefix) in [(messages.clone(), "/data/0"), (format!("{messages}/0"), "")] {
        let read = client.get(&place).await;
        assert_holds(&read, &format!("{prefix}/content"), value);
        assert_holds(&read, &format!("{prefix}/metadata"), object);
        assert_holds(&read, &format!("{prefix}/tool_calls"), object);
        assert_holds(&read, &format!("{prefix}/structured_output"), &deep(value));
    }
    let edit = json!({"content": object, "metadata": object});
    let edited = client.patch(&format!("{messages}/0"), edit).await;
    assert_holds(&edited, "/content", object);
    assert_holds(&edited, "/metadata", object);
    let history = client.get(&format!("{path}/history")).await;
    assert_holds(&history, "/messages/0/content", object);
}

async fn contexts_come_back(client: &Client, chat: &str, first: &JsonObject, patch: &JsonObject) {
    let context = format!("{chat}/context");
    let replaced = client.put(&context, first.clone().into()).await;
    assert_holds(&replaced, "/context_snapshot", &first.clone().into());
    let mut merged = first.clone();
    merge_patch(&mut merged, patch);
    let answer = client.patch(&context, patch.clone().into()).await;
    assert_holds(&answer, "/context_snapshot", &merged.clone().into());
    assert_holds(&client.get(&context).await, "/context_snapshot", &merged.into());
}

async fn artifacts_come_back(client: &Client, path: &str, value: &Value) {
    let artifact = format!("{path}/artifact");
    let put = client.put(&artifact, json!({"payload": value})).await;
    assert_holds(&put, "/last_artifact/payload", value);
    assert_holds(&client.get(&artifact).await, "/last_artifact/payload", value);
    let meta = client.get(&format!("{path}/meta")).await;
    assert_holds(&meta, "/last_artifact/payload", value);
}

async fn chats_come_back(client: &Client, object: &Value) -> String {
    let chat = json!({"chat_id": "c1", "workflow_name": "w", "metadata": object});
    let created = client.post("/api/chats/acme_corp", chat).await;
    assert_holds(&created, "/metadata", object);
    let path = "/api/chats/acme_corp/c1";
    assert_holds(&client.get(path).await, "/metadata", object);
    let list = client.get("/api/chats/acme_corp").await;
    assert_holds(&list, "/data/0/metadata", object);
    path.to_owned()
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_json_comes_back_the_same(value in value(), first in object(), second in object()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::open();
            let object = Value::from(first.clone());
            let path = chats_come_back(&client, &object).await;
            messages_come_back(&client, &path, &value, &object).await;
            contexts_come_back(&client, &path, &first, &second).await;
            artifacts_come_back(&client, &path, &value).await;
        });
    }
}

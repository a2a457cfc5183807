use insta::{assert_json_snapshot, assert_snapshot};
use resume::dialect;
use serde_json::{Value, json};

use crate::harness::Client;

async fn conversation(client: &Client) -> String {
    let path = client.create_chat("c1").await;
    let messages = json!({"messages": [
        {"role": "user", "content": "Create a todo app"},
        {"role": "system", "name": "rules", "content": "Be brief"},
        {"role": "assistant", "name": "inter viewer", "content": "What features?"},
        {"role": "assistant", "name": "planner", "content": null},
        {"role": "assistant", "name": "planner", "content": {"plan": [1]}},
    ]});
    client.post(&format!("{path}/messages"), messages).await;
    path
}

#[tokio::test]
async fn history_is_strict_and_reports_what_it_dropped() {
    let client = Client::open();
    let path = conversation(&client).await;
    let answer = client.get(&format!("{path}/history")).await;
    assert_json_snapshot!("ag2", answer.snapshot());
    let named = client.get(&format!("{path}/history?dialect=ag2")).await;
    assert_eq!(named.text, answer.text);
}

#[tokio::test]
async fn another_dialect_reports_what_it_repaired() {
    let client = Client::open();
    let path = conversation(&client).await;
    let answer = client.get(&format!("{path}/history?dialect=openai")).await;
    assert_json_snapshot!("openai", answer.snapshot());
}

#[tokio::test]
async fn ndjson_ends_with_a_line_that_marks_it_complete() {
    let client = Client::open();
    let path = conversation(&client).await;
    let url = format!("{path}/history?dialect=openai");
    let answer = client.get_as("application/x-ndjson", &url).await;
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    assert_eq!(answer.header("vary"), "accept");
    assert_snapshot!("lines", answer.text);
    let empty = client.create_chat("c2").await;
    let answer = client.get_as("application/x-ndjson", &format!("{empty}/history")).await;
    let end = r#"{"complete":true,"chat_id":"c2","dialect":"ag2","message_count":0,"dropped":[],"#;
    assert_eq!(answer.text, format!("{end}\"last_sequence\":0}}\n"));
}

#[tokio::test]
async fn the_caller_chooses_the_format_of_the_response() {
    let client = Client::open();
    let url = format!("{}/history", client.create_chat("c1").await);
    let (json, ndjson) = ("application/json", "application/x-ndjson");
    let choices = [
        ("*/*", json),
        ("application/*", json),
        ("application/x-ndjson", ndjson),
        ("application/json, application/x-ndjson;q=0.9", json),
        ("application/json;q=0.2, application/x-ndjson;q=0.3", ndjson),
        ("application/json;q=0, */*", ndjson),
        ("*/*;q=0.1, application/x-ndjson", ndjson),
        ("text/html, Application/X-NDJSON;q=0.001", ndjson),
        ("not a media type", json),
        ("text/html, image/gif, *; q=.2, */*; q=.2", json),
    ];
    for (accept, expected) in choices {
        let answer = client.get_as(accept, &url).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, expected), "{accept}");
    }
    for accept in ["text/html", "application/json;q=0", "application/*;q=0, text/*"] {
        let answer = client.get_as(accept, &url).await;
        assert_eq!(answer.problem(), (406, "not-acceptable".to_owned()), "{accept}");
    }
    assert_json_snapshot!("not_acceptable", client.get_as("text/html", &url).await.snapshot());
}

#[tokio::test]
async fn history_may_be_windowed_and_its_nameless_users_named() {
    let client = Client::open();
    let path = conversation(&client).await;
    let window = client.get(&format!("{path}/history?newest=2")).await.body();
    let newest = json!([{"role": "assistant", "name": "planner", "content": {"plan": [1]}}]);
    assert_eq!(window["messages"], newest);
    let named = client.get(&format!("{path}/history?default_user_name=alice")).await;
    assert_eq!(named.body()["messages"][0]["name"], "alice");
}

#[tokio::test]
async fn an_unknown_dialect_is_answered_with_the_known_ones() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let answer = client.get(&format!("{path}/history?dialect=klingon")).await;
    let names: Vec<_> = dialect::names().collect();
    let known = format!("must be one of {}", names.join(", "));
    assert_eq!(answer.body()["errors"][0]["detail"], known);
    assert_json_snapshot!("unknown_dialect", answer.snapshot(), {
        ".body.errors[0].detail" => "[the known dialects]",
    });
    for query in ["newest=0", "newest=-1", "default_user_name=", "default_user_name=a%0ab"] {
        let answer = client.get(&format!("{path}/history?{query}")).await;
        assert_eq!(answer.status, 422, "{query}");
    }
}

#[tokio::test]
async fn an_empty_chat_has_an_empty_history() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let answer = client.get(&format!("{path}/history")).await.body();
    let empty = json!({"chat_id": "c1", "dialect": "ag2", "messages": [], "dropped": [],
        "last_sequence": 0});
    assert_eq!(answer, empty);
}

/// Two calls, one of them with a result, between two messages.
fn unsettled() -> Value {
    let target = json!({"name": "search", "arguments": "{}"});
    let call = |id: &str| json!({"id": id, "type": "function", "function": target});
    json!({"messages": [
        {"role": "user", "content": "Which features?"},
        {"role": "assistant", "content": "Let me see", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": "none"},
        {"role": "assistant", "content": "None."},
    ]})
}

#[tokio::test]
async fn the_caller_chooses_how_calls_without_results_are_handled() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    client.post(&format!("{path}/messages"), unsettled()).await;
    let url = |policy: &str| format!("{path}/history?dialect=openai&unsettled={policy}");
    let unsaid = client.get(&format!("{path}/history?dialect=openai")).await;
    assert_eq!(client.get(&url("remove")).await.text, unsaid.text);
    for policy in ["remove", "settle", "trim", "reject", "keep"] {
        let answer = client.get(&url(policy)).await;
        assert_json_snapshot!(format!("unsettled_{policy}"), answer.snapshot());
    }
    assert_eq!(client.get(&url("ignore")).await.problem(), (422, "invalid-request".to_owned()));
    let strict = client.get(&format!("{path}/history?unsettled=reject")).await;
    assert_eq!(strict.status, 200, "ag2 has no calls");
}

#[tokio::test]
async fn a_person_who_writes_while_a_tool_runs_loses_no_call() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let call = json!({"id": "a", "type": "function",
        "function": {"name": "book", "arguments": "{}"}});
    for message in [
        json!({"role": "user", "content": "Book it"}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "user", "content": "Are you there?"}),
        json!({"role": "tool", "tool_call_id": "a", "content": "BOOKED"}),
    ] {
        assert_eq!(client.post(&format!("{path}/messages"), message).await.status, 201);
    }
    for policy in ["remove", "settle", "trim", "reject", "keep"] {
        let query = format!("dialect=openai&unsettled={policy}");
        for of in ["history", "resume"] {
            let body = client.get(&format!("{path}/{of}?{query}")).await.body();
            let of_transcript = if of == "resume" { &body["transcript"] } else { &body };
            let messages = of_transcript["messages"].as_array().unwrap();
            let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
            assert_eq!(roles, ["user", "assistant", "tool", "user"], "{policy}: {body}");
            assert_eq!(messages[2]["content"], "BOOKED");
            assert_eq!(of_transcript["repaired"][0]["repair"], "result_moved", "{body}");
        }
        let plan = client.get(&format!("{path}/resume?{query}")).await.body();
        assert_eq!(plan["pending_calls"], json!([]));
    }
}

#[tokio::test]
async fn a_long_chat_is_rejected_before_anything_of_it_is_sent() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let long = json!({"role": "user", "content": "x".repeat(1 << 20)});
    client.post(&format!("{path}/messages"), long).await;
    client.post(&format!("{path}/messages"), unsettled()).await;
    let url = format!("{path}/history?dialect=gemini&unsettled=reject");
    let answer = client.get(&url).await;
    assert_eq!(answer.problem(), (409, "unsettled-tool-calls".to_owned()));
    let call = json!({"sequence": 2, "call_id": "a", "name": "search"});
    assert_eq!(answer.body()["unsettled_calls"], json!([call]));
    assert_eq!(client.get(&format!("{url}&newest=1")).await.status, 200, "what is in the window");
}

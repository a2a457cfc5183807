//! Chat sessions in the shapes of Hecate.

use records::{AppId, EventId};
use serde_json::{Value, json};
use service::{AdaptersConfig, Config, HecateConfig};

use crate::harness::{Answer, Client, memory};

const SESSIONS: &str = "/hecate/v1/chat/sessions";

fn client() -> Client {
    let hecate = HecateConfig {
        enabled: true,
        app_id: Some(AppId::parse("hecate").unwrap()),
        ..HecateConfig::default()
    };
    let adapters = AdaptersConfig { hecate, ..AdaptersConfig::default() };
    Client::over(memory(), Config { adapters, ..Config::default() })
}

/// Creates a session, and returns its path.
async fn session(client: &Client, body: Value) -> String {
    let created = client.post(SESSIONS, body).await;
    assert_eq!(created.status, 200, "{}", created.text);
    format!("{SESSIONS}/{}", created.body()["data"]["id"].as_str().unwrap())
}

fn data(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body()["data"].clone()
}

/// Returns the type and the message of an error.
fn error(answer: &Answer) -> (u16, String, String) {
    assert_eq!(answer.header("content-type"), "application/json");
    let error = &answer.body()["error"];
    let text = |field: &str| error[field].as_str().unwrap().to_owned();
    (answer.status, text("type"), text("message"))
}

fn call(id: &str) -> Value {
    json!({"id": id, "request_id": "req_1", "requested_model": "auto", "provider": "anthropic",
        "model": "claude-sonnet-4", "provider_kind": "cloud", "prompt_tokens": 12, "completion_tokens": 4,
        "cost_micros_usd": 1234, "created_at": "2025-10-02T10:00:05Z"})
}

fn said(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

/// Returns the contents of the messages of a session.
async fn contents(client: &Client, path: &str) -> Vec<Value> {
    let session = data(&client.get(path).await);
    session["messages"].as_array().unwrap().iter().map(|it| it["content"].clone()).collect()
}

/// Records a request with its history; returns what was stored.
async fn record(client: &Client, path: &str, id: &str, history: &[Value], answer: &str) -> Value {
    let response = json!({"choices": [{"message": said("assistant", answer)}]});
    let body = json!({"request_id": id, "messages": history, "response": response, "call": {}});
    let recorded = client.post(&format!("{path}/record"), body).await;
    assert_eq!(recorded.status, 200, "{}", recorded.text);
    recorded.body()
}

#[tokio::test]
async fn a_request_with_a_key_is_made_once() {
    let client = client().with_key("k1");
    let path = session(&client, json!({"title": "A todo app"})).await;
    assert_eq!(path, format!("{SESSIONS}/k1"));
    assert_eq!(session(&client, json!({"title": "A todo app"})).await, path);
    let body = json!({"messages": [said("user", "Hi."), said("assistant", "Hello.")], "call": {}});
    for _ in 0..2 {
        let stored = data(&client.post(&format!("{path}/exchanges"), body.clone()).await);
        let ids = stored["messages"].as_array().unwrap().iter().map(|it| it["id"].clone());
        assert_eq!(ids.collect::<Vec<_>>(), ["k1/0", "k1/1"]);
        let calls = stored["provider_calls"].as_array().unwrap().iter().map(|it| it["id"].clone());
        assert_eq!(calls.collect::<Vec<_>>(), ["k1"]);
    }
}

#[tokio::test]
async fn a_session_has_both_streams_oldest_first() {
    let client = client();
    let path = session(&client, json!({"title": "  A todo app "})).await;
    let call_of_tool =
        json!([{"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let messages = json!([
        {"id": "msg_1", "role": "user", "content": "Say hello.", "created_at": "2025-10-02T10:00:00Z"},
        {"id": "msg_2", "role": "assistant", "content": "", "tool_calls": call_of_tool},
        {"id": "msg_3", "role": "tool", "tool_call_id": "t1", "content": "boom", "tool_error": true},
        {"id": "msg_4", "role": "assistant", "content": "Hello.", "content_blocks": [{"type": "thinking",
            "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Hello."}]},
    ]);
    let exchange = json!({"messages": messages, "call": call("call_1")});
    let exchanges = format!("{path}/exchanges");
    let answered = client.post(&exchanges, exchange.clone()).await;
    insta::assert_json_snapshot!("hecate_session", answered.snapshot());
    assert_eq!(client.post(&exchanges, exchange).await.body(), answered.body());
    assert_eq!(client.get(&path).await.body(), answered.body());
    // The text beside calls stays.
    let beside = json!({"role": "assistant", "content": "I look.", "tool_calls": call_of_tool});
    client.post(&exchanges, json!({"messages": [beside], "call": call("call_2")})).await;
    assert_eq!(contents(&client, &path).await[4], "I look.");
}

#[tokio::test]
async fn calls_are_written_oldest_first_however_many() {
    let client = client();
    let path = session(&client, json!({})).await;
    for number in 0..3 {
        let calls: Vec<_> = (0..700)
            .map(|it| {
                json!({"call_id": format!("call_{number}_{it:03}"), "prompt_tokens": 1,
                "called_at": format!("2025-10-02T1{number}:00:00Z")})
            })
            .collect();
        let id = path.rsplit('/').next().unwrap();
        let native = format!("/api/chats/hecate/{id}/calls");
        assert_eq!(client.post(&native, json!({"calls": calls})).await.status, 201);
    }
    let calls = data(&client.get(&path).await)["provider_calls"].as_array().unwrap().clone();
    let ids: Vec<_> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2_100);
    assert!(ids.is_sorted());
}

#[tokio::test]
async fn titles_and_prompts_are_set_and_cleared() {
    let client = client();
    let path = session(&client, json!({"title": " "})).await;
    assert_eq!(data(&client.get(&path).await)["title"], "New chat");
    let set = client.patch(&path, json!({"title": " T ", "system_prompt": " Be kind. "})).await;
    let set = data(&set);
    assert_eq!((&set["title"], &set["system_prompt"]), (&json!("T"), &json!(" Be kind. ")));
    let cleared = data(&client.patch(&path, json!({"system_prompt": ""})).await);
    assert_eq!((&cleared["title"], cleared.get("system_prompt")), (&json!("T"), None));
    let refused = client.patch(&path, json!({"other": 1})).await;
    assert_eq!((refused.status, error(&refused).1), (400, "invalid_request".to_owned()));
    // A blank title is refused before the session is looked for.
    let unknown = format!("{SESSIONS}/chat_unknown");
    assert_eq!(client.patch(&unknown, json!({"title": " "})).await.status, 400);
    assert_eq!(client.patch(&unknown, json!({"title": "T"})).await.status, 404);
}

#[tokio::test]
async fn sessions_are_listed_with_their_newest_call_the_last_active_first() {
    let client = client();
    assert_eq!(
        client.get(SESSIONS).await.body(),
        json!({"object": "chat_sessions", "data": [], "has_more": false})
    );
    let mut paths = Vec::new();
    for title in ["one", "two", "three"] {
        paths.push(session(&client, json!({"title": title})).await);
    }
    record(&client, &paths[0], "req_1", &[said("user", "hi")], "hello").await;
    let exchange = json!({"messages": [said("user", "more")], "call": call("call_1")});
    client.post(&format!("{}/exchanges", paths[0]), exchange).await;
    let listed = client.get(SESSIONS).await.body();
    let first = &listed["data"][0];
    assert_eq!(
        (&first["title"], &first["message_count"], &first["provider_call_count"]),
        (&json!("one"), &json!(3), &json!(2))
    );
    let part = client.get(&format!("{SESSIONS}?limit=1&offset=1&tenant=x")).await.body();
    assert_eq!((&part["data"][0]["title"], &part["has_more"]), (&json!("three"), &json!(true)));
    assert!(part["data"][0].get("messages").is_none());
    insta::assert_json_snapshot!("hecate_summary", part["data"][0]);
    let last = client.get(&format!("{SESSIONS}?offset=2")).await.body();
    assert_eq!((&last["data"][0]["title"], &last["has_more"]), (&json!("two"), &json!(false)));
    let none = client.get(&format!("{SESSIONS}?limit=0")).await.body();
    assert_eq!((&none["data"], &none["has_more"]), (&json!([]), &json!(true)));
    assert_eq!(client.get(&format!("{SESSIONS}?limit=1000")).await.status, 200);
    for (query, name) in [("limit=-1", "limit"), ("offset=x", "offset"), ("limit=1.5", "limit")] {
        let refused = error(&client.get(&format!("{SESSIONS}?{query}")).await);
        assert_eq!(
            (refused.0, &*refused.2),
            (400, &*format!("{name} query parameter must be a non-negative integer"))
        );
    }
}

#[tokio::test]
async fn a_deleted_session_is_not_found() {
    let client = client();
    let path = session(&client, json!({})).await;
    let deleted = client.delete(&path).await;
    assert_eq!((deleted.status, &*deleted.text), (204, ""));
    let not_found = (404, "not_found".to_owned(), "chat session not found".to_owned());
    assert_eq!(error(&client.get(&path).await), not_found);
    assert_eq!(error(&client.delete(&path).await), not_found);
}

#[tokio::test]
async fn only_what_is_new_of_a_history_is_recorded() {
    let client = client();
    let path = session(&client, json!({})).await;
    client.patch(&path, json!({"system_prompt": "Be kind."})).await;
    let prompt = said("system", "Be kind.");
    let mut history = vec![prompt, said("user", "yes")];
    record(&client, &path, "req_1", &history, "ok").await;
    // The prompt of the session is left out on later requests, too; a repeated line is stored.
    history.extend([said("assistant", "ok"), said("user", "yes")]);
    record(&client, &path, "req_2", &history, "ok").await;
    assert_eq!(contents(&client, &path).await, ["yes", "ok", "yes", "ok"]);
    // A repeat stores nothing.
    let again = record(&client, &path, "req_2", &history, "ok").await;
    assert_eq!((&again["recorded"], &again["duplicate"]), (&json!(0), &json!(true)));
    // Messages that a client sends were not produced by the call; its response was.
    let session = data(&client.get(&path).await);
    let produced: Vec<_> = session["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.get("produced_by_call_id").is_some())
        .collect();
    assert_eq!(produced, [false, true, false, true]);
    assert_eq!(session["provider_calls"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_client_that_trims_or_edits_its_history_loses_no_message() {
    let client = client();
    let path = session(&client, json!({})).await;
    let full = [said("user", "one"), said("assistant", "1"), said("user", "two")];
    record(&client, &path, "req_1", &full[..1], "1").await;
    record(&client, &path, "req_2", &full, "2").await;
    // The client keeps the last two messages only.
    let trimmed = [said("user", "two"), said("assistant", "2"), said("user", "three")];
    let recorded = record(&client, &path, "req_3", &trimmed, "3").await;
    assert_eq!((&recorded["recorded"], &recorded["diverged"]), (&json!(2), &json!(false)));
    // It edits its first message.
    let edited = [
        said("user", "two!"),
        said("assistant", "2"),
        said("user", "three"),
        said("assistant", "3"),
        said("user", "four"),
    ];
    let recorded = record(&client, &path, "req_4", &edited, "4").await;
    assert_eq!((&recorded["recorded"], &recorded["diverged"]), (&json!(3), &json!(true)));
    let expected = ["one", "1", "two", "2", "three", "3", "two!", "four", "4"];
    assert_eq!(contents(&client, &path).await, expected);
    // It sums up what was said, and the user says once more what they said last.
    let summed_up = [said("system", "Summary"), said("user", "four")];
    let recorded = record(&client, &path, "req_5", &summed_up, "5").await;
    assert_eq!((&recorded["recorded"], &recorded["diverged"]), (&json!(3), &json!(true)));
    assert_eq!(contents(&client, &path).await[9..], ["Summary", "four", "5"]);
}

#[tokio::test]
async fn a_client_that_knows_chat_completions_alone_stores_its_history_once() {
    let client = client();
    let path = session(&client, json!({})).await;
    let blocks = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "1"}]);
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let streamed = json!({"index": 0, "id": "c1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}});
    let answers = [
        json!({"role": "assistant", "content": "1", "content_blocks": blocks}),
        json!({"role": "assistant", "content": null, "tool_calls": [streamed]}),
        said("assistant", "3"),
    ];
    // The client sends back the fields of Chat Completions, and a text as a list.
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "one"}]});
    let with_call = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "gone"});
    let failed =
        json!({"role": "tool", "tool_call_id": "c1", "content": "gone", "tool_error": true});
    let histories = [
        vec![said("user", "one")],
        vec![parts.clone(), said("assistant", "1"), said("user", "two")],
        vec![parts, said("assistant", "1"), said("user", "two"), with_call, failed],
    ];
    for (index, (history, answer)) in histories.iter().zip(answers).enumerate() {
        let body = json!({"request_id": format!("req_{index}"), "messages": history,
            "response": {"choices": [{"message": answer}]}, "call": {}});
        let recorded = client.post(&format!("{path}/record"), body).await.body();
        assert_eq!(recorded["diverged"], false, "{index}");
    }
    let mut last = histories[2].clone();
    last[4] = result;
    last.extend([said("assistant", "3"), said("user", "four")]);
    record(&client, &path, "req_4", &last, "4").await;
    let expected = json!(["one", "1", "two", null, "gone", "3", "four", "4"]);
    assert_eq!(json!(contents(&client, &path).await), expected);
}

#[tokio::test]
async fn clients_that_go_on_from_the_same_history_store_it_once() {
    let client = client();
    let path = session(&client, json!({})).await;
    let mut history = vec![said("user", "one")];
    record(&client, &path, "req_1", &history, "1").await;
    history.push(said("assistant", "1"));
    let racers = (0..4).map(|number| {
        let (client, path, mut history) = (client.clone(), path.clone(), history.clone());
        history.push(said("user", &format!("tab {number}")));
        async move { record(&client, &path, &format!("tab_{number}"), &history, "ok").await }
    });
    futures::future::join_all(racers).await;
    let told = contents(&client, &path).await;
    assert_eq!((told.len(), &told[..2]), (10, &[json!("one"), json!("1")][..]));
    let told = told.iter().filter_map(Value::as_str);
    let mut told: Vec<_> = told.filter(|it| it.starts_with("tab")).collect();
    told.sort_unstable();
    assert_eq!(told, ["tab 0", "tab 1", "tab 2", "tab 3"]);
    // The last question is edited.
    history.push(said("user", "edited"));
    let recorded = record(&client, &path, "req_2", &history, "2").await;
    assert_eq!((&recorded["recorded"], &recorded["diverged"]), (&json!(2), &json!(true)));
}

#[tokio::test]
async fn parallel_recordings_of_a_session_store_every_message_once() {
    let client = client();
    let path = session(&client, json!({})).await;
    let texts: Vec<_> = (0..8).map(|number| format!("question {number}")).collect();
    let racers = texts.iter().enumerate().map(|(number, text)| {
        let (client, path) = (client.clone(), path.clone());
        async move {
            let history = [said("user", text)];
            record(&client, &path, &format!("req_{number}"), &history, &format!("answer {number}"))
                .await
        }
    });
    futures::future::join_all(racers).await;
    let contents = contents(&client, &path).await;
    assert_eq!(contents.len(), 16);
    for (number, text) in texts.iter().enumerate() {
        let at = contents.iter().position(|it| it == text).unwrap();
        assert_eq!(contents[at + 1], format!("answer {number}"));
    }
}

#[tokio::test]
async fn a_request_without_a_response_stores_its_inputs() {
    let client = client();
    let path = session(&client, json!({})).await;
    for response in [json!(null), json!({"choices": []})] {
        let body = json!({"request_id": response.to_string(), "messages": [said("user", "hi")],
            "response": response, "call": {}});
        assert_eq!(client.post(&format!("{path}/record"), body).await.status, 200);
    }
    assert_eq!(contents(&client, &path).await, ["hi"]);
    let empty_role = json!({"choices": [{"message": {"role": "", "content": "Hello"}}, {"message": said("assistant", "no")}]});
    let body = json!({"request_id": "r", "messages": [said("user", "hi")], "response": empty_role, "call": {}});
    client.post(&format!("{path}/record"), body).await;
    let messages = data(&client.get(&path).await)["messages"].clone();
    assert_eq!(
        (&messages[1]["role"], &messages[1]["content"]),
        (&json!("assistant"), &json!("Hello"))
    );
    assert_eq!(messages.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_prompt_comes_first_unless_the_messages_begin_with_one() {
    let client = client();
    let path = session(&client, json!({})).await;
    let prompt = format!("{path}/prompt");
    client.patch(&path, json!({"system_prompt": "Be kind."})).await;
    assert_eq!(data(&client.get(&prompt).await), json!([said("system", "Be kind.")]));
    record(&client, &path, "req_1", &[said("user", "hi")], "hello").await;
    let expected =
        json!([said("system", "Be kind."), said("user", "hi"), said("assistant", "hello")]);
    assert_eq!(data(&client.get(&prompt).await), expected);
    let other = session(&client, json!({})).await;
    client.patch(&other, json!({"system_prompt": "Be kind."})).await;
    record(&client, &other, "req_1", &[said("System", "Be brief."), said("user", "hi")], "hello")
        .await;
    let first = &data(&client.get(&format!("{other}/prompt")).await)[0];
    assert_eq!(first, &said("System", "Be brief."));
}

#[tokio::test]
async fn an_adapter_ignores_what_its_original_ignores_and_is_off_by_default() {
    let client = client();
    let path = session(&client, json!({"title": "T", "tenant": "x"})).await;
    assert_eq!(client.get(&format!("{path}?tenant=x&tenant=y")).await.status, 200);
    assert_eq!(client.get("/hecate/other/v1/chat/sessions/none").await.status, 404);
    let description = client.get("/hecate/openapi.json").await.body();
    assert!(
        description["paths"]["/hecate/{app_id}/v1/chat/sessions/{chat_id}"]["patch"].is_object()
    );
    assert!(
        client.get("/openapi.json").await.body()["paths"]
            .get("/hecate/{app_id}/v1/chat/sessions")
            .is_none()
    );
    assert_eq!(Client::open().post(SESSIONS, json!({})).await.status, 404);
}

#[tokio::test]
async fn a_message_names_a_call_that_the_session_has() {
    let client = client();
    let path = session(&client, json!({})).await;
    let exchanges = format!("{path}/exchanges");
    let by = |call_id: Value| json!({"role": "tool", "content": "x", "tool_call_id": "t", "produced_by_call_id": call_id});
    for (call_id, messages) in [
        ("call_1", json!([by(json!("call_1")), by(json!("")), by(json!(null))])),
        ("call_2", json!([by(json!("call_1"))])),
    ] {
        let exchange = json!({"messages": messages, "call": call(call_id)});
        let stored = client.post(&exchanges, exchange).await;
        assert_eq!(stored.status, 200, "{}", stored.text);
    }
    let exchange =
        json!({"messages": [said("user", "y"), by(json!("call_9"))], "call": call("call_3")});
    let refused = client.post(&exchanges, exchange).await;
    let (status, kind, message) = error(&refused);
    assert_eq!((status, kind.as_str()), (400, "invalid_request"));
    assert!(message.starts_with("messages/1/produced_by_call_id: must be"), "{message}");
    assert_eq!(contents(&client, &path).await.len(), 4);
    // What a client sends with its history was not produced by the call that is recorded.
    let other = session(&client, json!({})).await;
    let body = json!({"request_id": "r", "messages": [by(json!("call_9"))], "call": {}});
    assert_eq!(client.post(&format!("{other}/record"), body).await.status, 200);
    let first = data(&client.get(&other).await)["messages"][0].clone();
    assert!(matches!(first.get("produced_by_call_id"), None | Some(Value::Null)), "{first}");
}

#[tokio::test]
async fn an_error_names_the_field_once() {
    let client = client();
    let path = session(&client, json!({})).await;
    let long = "x".repeat(129);
    let rule = "must be 1 to 128 characters";
    let message_with = |field: &str| {
        let mut message = said("user", "x");
        message[field] = long.as_str().into();
        message
    };
    let call_with = |field: &str| json!({field: long});
    for (body, place) in [
        (json!({"messages": [message_with("id")], "call": {}}), "messages/0/id: "),
        (json!({"messages": [message_with("name")], "call": {}}), "messages/0/name: "),
        (json!({"messages": [], "call": call_with("id")}), "call/id: "),
        (json!({"messages": [], "call": call_with("model")}), "call/model: "),
        (json!({"messages": [said("user", "x")], "call": call_with("model")}), "call/model: "),
    ] {
        let refused = client.post(&format!("{path}/exchanges"), body).await;
        let (status, _, message) = error(&refused);
        assert_eq!(status, 400, "{message}");
        assert!(message.starts_with(&format!("{place}{rule}")), "{place}{message}");
    }
    record(&client, &path, "req_1", &[said("user", "hi")], "hello").await;
    let history = [said("user", "hi"), said("assistant", "hello"), message_with("name")];
    let response = json!({"choices": [{"message": message_with("name")}]});
    for (history, response, place) in [
        (json!(history), json!({}), "messages/2/name: "),
        (json!([]), response, "response/choices/0/message/name: "),
    ] {
        let body =
            json!({"request_id": "r2", "messages": history, "response": response, "call": {}});
        let (_, _, message) = error(&client.post(&format!("{path}/record"), body).await);
        assert!(message.starts_with(&format!("{place}{rule}")), "{place}{message}");
    }
    let (_, _, message) = error(&client.get(&format!("{SESSIONS}/a%20b")).await);
    assert!(message.starts_with("chat_id must be 1 to 128 of"), "{message}");
    let (_, _, message) = error(&client.get(&format!("{SESSIONS}?limit=-1")).await);
    assert!(message.starts_with("limit query parameter must be"), "{message}");
}

#[tokio::test]
async fn an_exchange_needs_an_id_by_which_its_repeat_is_known() {
    let client = client();
    let path = session(&client, json!({})).await;
    let body = json!({"request_id": "", "messages": [said("user", "one")], "call": {"id": ""}});
    let (status, kind, detail) = error(&client.post(&format!("{path}/record"), body).await);
    assert_eq!((status, kind.as_str()), (400, "invalid_request"));
    assert!(detail.contains("request_id: must not be empty"), "{detail}");
}

#[tokio::test]
async fn no_message_of_a_person_stands_for_an_exchange() {
    let client = client();
    let path = session(&client, json!({})).await;
    record(&client, &path, "req-1", &[said("user", "one")], "first").await;
    let shown = data(&client.get(&path).await);
    // The ids of an exchange are of a form that a caller with `say` alone cannot choose.
    for message in shown["messages"].as_array().unwrap() {
        assert!(EventId::parse(message["id"].as_str().unwrap()).unwrap().is_derived(), "{message}");
    }
}

#[tokio::test]
async fn a_prompt_has_only_what_a_provider_takes() {
    let client = client();
    let path = session(&client, json!({})).await;
    let id = path.rsplit('/').next().unwrap();
    let messages = format!("/api/chats/hecate/{id}/messages");
    for said in [
        json!({"role": "user", "content": null}),
        json!({"role": "user", "content": []}),
        json!({"role": "user", "content": {"a": 1}}),
        json!({"role": "user", "content": 5, "name": "a b/ü system"}),
        json!({"role": "user", "content": [1, {"type": "text", "text": "x"}]}),
        json!({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    ] {
        assert_eq!(client.post(&messages, said).await.status, 201);
    }
    let shown = data(&client.get(&format!("{path}/prompt")).await);
    let expected = json!([
        {"role": "user", "content": "{\"a\":1}"},
        {"role": "user", "content": "5", "name": "a_b___system"},
        {"role": "user", "content": "[1,{\"type\":\"text\",\"text\":\"x\"}]"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
    ]);
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn values_that_go_programs_send_for_none_are_none() {
    let client = client();
    let path = session(&client, json!({})).await;
    let body = json!({"request_id": "r1", "messages": null, "call": {"id": ""},
        "response": {"choices": [{"message": said("assistant", "Hi")}]}});
    assert_eq!(client.post(&format!("{path}/record"), body).await.status, 200);
    let body = json!({"messages": null, "call": {"id": ""}});
    assert_eq!(client.post(&format!("{path}/exchanges"), body).await.status, 200);
}

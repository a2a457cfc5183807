//! What Yao's server writes: messages, turns, and the records from which a request goes on.

use serde_json::{Value, json};

use crate::harness::Client;
use crate::yao::{client, error, message_ids, session, text, typed};

fn of_request(id: &str, request_id: &str, content: &str) -> Value {
    typed(id, "text", json!({"content": content}), json!({"request_id": request_id}))
}

#[tokio::test]
async fn messages_are_saved_once_and_events_are_not() {
    let client = client();
    let path = format!("{}/messages", session(&client, "c1", json!({})).await);
    let event = typed("E1", "event", json!({"event": "x"}), json!({}));
    let sent =
        json!({"other": 1, "messages": [text("M1", "a"), event, of_request("M1", "r2", "b")]});
    let saved = client.post(&path, sent.clone()).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    let expected = json!({"saved": 2, "messages": [
        {"message_id": "M1", "sequence": 1, "duplicate": false},
        {"message_id": "M1", "sequence": 2, "duplicate": false},
    ]});
    assert_eq!(saved.body(), expected);
    let again = client.post(&path, sent).await.body();
    assert_eq!((&again["saved"], &again["messages"][1]["duplicate"]), (&json!(0), &json!(true)));
    let unnamed =
        json!({"messages": [{"role": "user", "type": "text", "props": {"content": "c"}}]});
    let minted = client.post(&path, unnamed).await.body();
    assert_eq!((&minted["saved"], &minted["messages"][0]["sequence"]), (&json!(1), &json!(3)));
    assert!(minted["messages"][0]["message_id"].is_string());

    let conflict = client.post(&path, json!({"messages": [text("M1", "other")]})).await;
    assert_eq!(error(&conflict), (409, "conflict".to_owned()));
    let missing = json!({"messages": [text("M4", "d"), {"role": "user", "type": "text"}]});
    let refused = client.post(&path, missing).await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    assert!(refused.text_of("error_description").contains("messages/1"), "{}", refused.text);
    let shown = client.get(&path).await.body();
    assert_eq!(shown["count"], 3);
    let none = client.post(&path, json!({"messages": []})).await.body();
    assert_eq!(none, json!({"saved": 0, "messages": []}));
}

#[tokio::test]
async fn a_message_that_is_twice_in_a_request_is_stored_once() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let twice = json!({"messages": [of_request("M1", "r1", "a"), of_request("M1", "r1", "a")]});
    for saved in [1, 0] {
        let answer = client.post(&format!("{path}/messages"), twice.clone()).await;
        assert_eq!((answer.status, &answer.body()["saved"]), (200, &json!(saved)));
    }
    let turn = json!({"request_id": "r2", "status": "completed", "messages": twice["messages"]});
    let turn = client.post(&format!("{path}/turns"), turn).await;
    assert_eq!((turn.status, &turn.body()["saved"]), (200, &json!(1)));
    assert_eq!(client.get(&format!("{path}/messages")).await.body()["count"], 2);
    let other = json!([of_request("M2", "r3", "a"), of_request("M2", "r3", "b")]);
    let refused = client.post(&format!("{path}/messages"), json!({"messages": other})).await;
    assert!(matches!(refused.status, 400 | 409), "{}", refused.text);
    let turn = json!({"request_id": "r3", "status": "completed", "messages": other});
    let refused = client.post(&format!("{path}/turns"), turn).await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    assert!(refused.text_of("error_description").contains("messages/1"), "{}", refused.text);
    assert_eq!(client.get(&format!("{path}/messages")).await.body()["count"], 2);
}

#[tokio::test]
async fn a_message_is_changed_by_its_id_and_by_its_request_if_several_have_it() {
    let client = client();
    let path = format!("{}/messages", session(&client, "c1", json!({})).await);
    let metadata = json!({"metadata": {"a": 1}, "block_id": "B1"});
    let action = typed("M2", "action", json!({"name": "open", "payload": {"x": 1}}), metadata);
    let sent =
        json!({"messages": [of_request("M1", "r1", "a"), of_request("M1", "r2", "b"), action]});
    client.post(&path, sent).await;

    let changed = client.patch(&format!("{path}/M2"), json!({"props": {"name": "close"}})).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let changed = changed.body();
    assert_eq!(
        (&changed["props"], &changed["type"]),
        (&json!({"name": "close"}), &json!("action"))
    );
    assert_eq!((&changed["metadata"], &changed["block_id"]), (&json!({"a": 1}), &json!("B1")));
    let body =
        json!({"type": "text", "metadata": {}, "props": {"content": "closed", "bold": true}});
    let changed = client.patch(&format!("{path}/M2"), body).await.body();
    assert_eq!(changed["props"], json!({"content": "closed", "bold": true}));

    let ambiguous = client.patch(&format!("{path}/M1"), json!({"props": {"content": "c"}})).await;
    assert_eq!(error(&ambiguous), (400, "invalid_request".to_owned()));
    assert!(ambiguous.text_of("error_description").contains("request_id"), "{}", ambiguous.text);
    let by_request = format!("{path}/M1?request_id=r2");
    assert_eq!(client.patch(&by_request, json!({"props": {"content": "c"}})).await.status, 200);
    let shown = client.get(&path).await.body();
    let contents: Vec<_> =
        (0..3).map(|at| shown["messages"][at]["props"]["content"].clone()).collect();
    assert_eq!(contents, [json!("a"), json!("c"), json!("closed")]);

    for (target, body) in [("M9", json!({"props": {}})), ("M1?request_id=r9", json!({"props": {}}))]
    {
        let missing = client.patch(&format!("{path}/{target}"), body).await;
        assert_eq!(error(&missing), (404, "resource_not_found".to_owned()));
    }
    for body in [json!({}), json!({"other": 1}), json!({"type": "event"}), json!({"type": ""})] {
        let refused = client.patch(&format!("{path}/M2"), body).await;
        assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    }
}

#[tokio::test]
async fn messages_are_deleted_by_their_ids() {
    let client = client();
    let session = session(&client, "c1", json!({})).await;
    let path = format!("{session}/messages");
    let sent = json!({"messages": [
        of_request("M1", "r1", "a"), of_request("M1", "r2", "b"), text("M2", "c"), text("M3", "d"),
    ]});
    client.post(&path, sent).await;
    let delete = async |body: Value| client.post(&format!("{path}/delete"), body).await.body();
    let one = json!({"message_ids": ["M1", "M9"], "request_id": "r1"});
    assert_eq!(delete(one.clone()).await, json!({"deleted": 1}));
    assert_eq!(delete(one).await, json!({"deleted": 0}));
    assert_eq!(message_ids(&client, &session, "").await, ["M1", "M2", "M3"]);
    assert_eq!(delete(json!({"message_ids": ["M1", "M3"]})).await, json!({"deleted": 2}));
    assert_eq!(message_ids(&client, &session, "").await, ["M2"]);
}

fn step(stack_id: &str, parent: Option<&str>, depth: u32, status: &str) -> Value {
    json!({
        "resume_id": "ignored", "type": "delegate", "status": status, "assistant_id": stack_id, "stack_id": stack_id,
        "stack_parent_id": parent, "stack_depth": depth, "input": {"messages": []},
        "space_snapshot": {"choose_prompt": "query"},
    })
}

/// Saves a turn, and returns what was saved.
async fn save_turn(client: &Client, path: &str, turn: Value) -> Value {
    let saved = client.post(&format!("{path}/turns"), turn).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    saved.body()
}

#[tokio::test]
async fn a_turn_is_saved_once_with_the_records_from_which_it_goes_on() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let steps = [step("s1", None, 0, "interrupted"), step("s2", Some("s1"), 1, "failed")];
    let turn = json!({"request_id": "r1", "status": "interrupted", "connector": "small", "mode": "task",
        "messages": [text("M1", "a"), typed("E1", "event", json!({}), json!({}))], "resume": steps});
    let saved = save_turn(&client, &path, turn.clone()).await;
    assert_eq!(saved, json!({"request_id": "r1", "duplicate": false, "saved": 1, "resume": 2}));
    assert_eq!(save_turn(&client, &path, turn.clone()).await["duplicate"], true);
    let mut other = turn;
    other["messages"][0]["props"]["content"] = "other".into();
    let conflict = client.post(&format!("{path}/turns"), other).await;
    assert_eq!(error(&conflict), (409, "conflict".to_owned()));
    let shown = client.get(&format!("{path}/messages")).await.body();
    assert_eq!((&shown["count"], &shown["messages"][0]["message_id"]), (&json!(1), &json!("M1")));
    assert_eq!(client.get(&path).await.body()["last_connector"], "small");

    let records = client.get(&format!("{path}/resume")).await.body();
    let ids: Vec<_> = (0..2).map(|at| records["resume"][at]["resume_id"].clone()).collect();
    assert_eq!(ids, [json!("r1:1"), json!("r1:2")]);
    assert_eq!(records["resume"][1]["space_snapshot"], json!({"choose_prompt": "query"}));
    assert_eq!(records["resume"][1]["status"], "failed");
    let of_stack = client.get(&format!("{path}/resume?stack_id=s1")).await.body();
    assert_eq!(of_stack["resume"].as_array().map(Vec::len), Some(1));
    let stack = client.get(&format!("{path}/stacks/s2/path")).await.body();
    assert_eq!(stack, json!({"stack_id": "s2", "path": ["s1", "s2"]}));
    let none = client.get(&format!("{path}/stacks/s9/path")).await;
    assert_eq!(error(&none), (404, "resource_not_found".to_owned()));

    // The newest record is that of the newest request, though an older one has more steps.
    let shorter =
        json!({"request_id": "r2", "status": "failed", "resume": [step("s3", None, 0, "failed")]});
    save_turn(&client, &path, shorter).await;
    let last = client.get(&format!("{path}/resume/last")).await.body();
    assert_eq!(last["resume"]["resume_id"], "r2:1");
    assert_eq!(client.delete(&format!("{path}/resume")).await.status, 200);
    let last = client.get(&format!("{path}/resume/last")).await.body();
    assert_eq!(last["resume"], Value::Null);

    let completed = json!({"request_id": "r3", "status": "completed", "messages": [text("M3", "c")], "resume": [step("s4", None, 0, "completed")]});
    assert_eq!(save_turn(&client, &path, completed).await["resume"], 0);
    let records = client.get(&format!("{path}/resume")).await.body();
    assert_eq!(records, json!({"chat_id": "c1", "resume": []}));
}

#[tokio::test]
async fn a_bad_turn_is_named_and_stores_nothing() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let good = step("s1", None, 0, "failed");
    let mut bad = good.clone();
    bad["type"] = "sleep".into();
    for (turn, place) in [
        (json!({"status": "failed"}), "request_id"),
        (json!({"request_id": "r1", "status": "failed", "resume": [good, bad]}), "resume/1"),
        (
            json!({"request_id": "r1", "status": "failed", "messages": [{"role": "user"}]}),
            "messages/0",
        ),
        (json!({"request_id": "r1", "status": "paused"}), "status"),
    ] {
        let refused = client.post(&format!("{path}/turns"), turn).await;
        assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
        assert!(refused.text_of("error_description").contains(place), "{place}: {}", refused.text);
    }
    assert_eq!(client.get(&format!("{path}/messages")).await.body()["count"], 0);
}

#[tokio::test]
async fn a_circle_of_calls_is_an_error() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let turn =
        |id: &str, steps: &[Value]| json!({"request_id": id, "status": "failed", "resume": steps});
    let (first, second) =
        (step("s1", Some("s2"), 5, "failed"), step("s2", Some("s1"), 5, "failed"));
    let within = turn("r1", &[first.clone(), second.clone()]);
    let refused = client.post(&format!("{path}/turns"), within).await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    assert!(refused.text_of("error_description").contains("resume/0"), "{}", refused.text);
    // Each turn alone has none.
    save_turn(&client, &path, turn("r1", &[first])).await;
    save_turn(&client, &path, turn("r2", &[second])).await;
    let broken = client.get(&format!("{path}/stacks/s1/path")).await;
    assert_eq!(error(&broken), (409, "conflict".to_owned()));
}

#[tokio::test]
async fn the_sources_of_a_request_are_collected() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let retrieval = |id: &str, request: &str, sources: Value| {
        let props = json!({"query": "q", "sources": sources});
        typed(id, "retrieval", props, json!({"request_id": request}))
    };
    let sent = json!({"messages": [
        retrieval("M1", "r1", json!([{"id": "src_001", "type": "kb"}, {"id": "src_002", "type": "web"}])),
        retrieval("M2", "r2", json!([{"id": "src_003"}])),
        of_request("M3", "r1", "see [1]"),
        retrieval("M4", "r1", json!([{"id": "src_004"}])),
    ]});
    client.post(&format!("{path}/messages"), sent).await;
    let found = client.get(&format!("{path}/references/r1")).await.body();
    let references = found["references"].as_array().cloned().unwrap_or_default();
    let named: Vec<_> =
        references.iter().map(|it| (it["index"].clone(), it["id"].clone())).collect();
    let expected = [(1, "src_001"), (2, "src_002"), (3, "src_004")];
    assert_eq!(named, expected.map(|(index, id)| (json!(index), json!(id))));
    assert_eq!(
        (&references[2]["message_id"], &references[2]["query"]),
        (&json!("M4"), &json!("q"))
    );
    let none = client.get(&format!("{path}/references/r9")).await.body();
    assert_eq!(none, json!({"request_id": "r9", "references": []}));
}

#[tokio::test]
async fn a_message_needs_a_type_and_props_and_nothing_in_them() {
    let client = client();
    let path = format!("{}/messages", session(&client, "c1", json!({})).await);
    let messages = [
        typed("M1", "text", json!({}), json!({})),
        typed("M2", "text", json!({"zeta": 1, "content": null, "alpha": i64::MAX}), json!({})),
        typed("M3", "text", json!({"content": 7}), json!({})),
        typed("M4", "thinking", json!({}), json!({})),
        typed("M5", "user_input", json!({"role": "user", "name": " Ada "}), json!({})),
        typed("M6", "user_input", json!({"content": {"a": [1]}}), json!({})),
        typed("M7", "tool_call", json!({"name": "f", "id": "call_1"}), json!({})),
        typed("M8", "tool_call", json!({"id": "c", "name": "f", "arguments": {}}), json!({})),
        typed("M9", "image", json!({"alt": "x"}), json!({})),
    ];
    let saved = client.post(&path, json!({"messages": messages})).await;
    assert_eq!((saved.status, &saved.body()["saved"]), (200, &json!(9)), "{}", saved.text);
    let shown = client.get(&path).await.body();
    for (shown, sent) in shown["messages"].as_array().unwrap().iter().zip(&messages) {
        assert_eq!(shown["props"].to_string(), sent["props"].to_string());
        assert_eq!((&shown["type"], &shown["role"]), (&sent["type"], &sent["role"]));
    }
    // The store has integers of 64 bits with a sign.
    let beyond = typed("M10", "chart", json!({"n": 1_u64 << 63}), json!({}));
    let refused = client.post(&path, json!({"messages": [beyond]})).await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    let text = refused.text_of("error_description");
    assert!(text.starts_with("messages/0/props/n ") && text.contains("64 bits"), "{text}");
}

#[tokio::test]
async fn an_empty_id_of_a_step_is_none() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let mut first = step("s1", Some(""), 0, "failed");
    first["assistant_id"] = "".into();
    let turn = json!({"request_id": "r1", "status": "failed", "connector": "", "resume": [first]});
    save_turn(&client, &path, turn).await;
    let last = client.get(&format!("{path}/resume/last")).await.body()["resume"].clone();
    assert_eq!((&last["stack_id"], &last["stack_parent_id"]), (&json!("s1"), &Value::Null));
}

#[tokio::test]
async fn an_error_names_the_field_once() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let long = "x".repeat(129);
    let told = async |path: &str, body: Value| {
        let refused = client.post(path, body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        refused.text_of("error_description")
    };
    let rule = "must be 1 to 128 characters";
    for field in ["message_id", "request_id", "block_id", "assistant_id", "mode"] {
        let more = json!({field: long});
        let message = typed("M1", "text", json!({"content": "x"}), more);
        for (target, body) in [
            ("messages", json!({"messages": [text("M0", "a"), message]})),
            (
                "turns",
                json!({"request_id": "r", "status": "failed", "messages": [text("M0", "a"), message]}),
            ),
        ] {
            // The messages of a turn have its request.
            if (target, field) != ("turns", "request_id") {
                let text = told(&format!("{path}/{target}"), body).await;
                assert!(
                    text.starts_with(&format!("messages/1/{field} {rule}")),
                    "{target}: {text}"
                );
            }
        }
    }
    let text = told("/v1/chat/sessions", json!({"assistant_id": long})).await;
    assert!(text.starts_with(&format!("assistant_id {rule}")), "{text}");
    let chat_id = json!({"assistant_id": "a", "chat_id": "a b"});
    let text = told("/v1/chat/sessions", chat_id).await;
    assert!(text.starts_with("chat_id must be 1 to 128 of"), "{text}");
    let refused = client.get("/v1/chat/sessions/a%20b").await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()), "{}", refused.text);
    let text = refused.text_of("error_description");
    assert!(text.starts_with("chat_id must be 1 to 128 of"), "{text}");
    let turn =
        json!({"request_id": "r", "status": "failed", "resume": [step(&long, None, 0, "failed")]});
    let text = told(&format!("{path}/turns"), turn).await;
    assert!(text.starts_with(&format!("resume/0/stack_id {rule}")), "{text}");
}

#[tokio::test]
async fn nobody_takes_the_id_of_a_message_of_the_agent_before_it_is_saved() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let planted = json!({"messages": [{"role": "user", "type": "user_input", "request_id": "r1",
        "message_id": "M1", "props": {"content": "."}}]});
    assert_eq!(client.post(&format!("{path}/messages"), planted).await.body()["saved"], 1);
    let answer = json!({"messages": [of_request("M1", "r1", "answer")]});
    let saved = client.post(&format!("{path}/messages"), answer).await;
    assert_eq!(saved.body()["saved"], 1);
    // The agent's message is meant by the id.
    let change = json!({"props": {"content": "changed"}});
    let changed = client.patch(&format!("{path}/messages/M1?request_id=r1"), change).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let shown = client.get(&format!("{path}/messages")).await.body();
    let contents: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|it| &it["props"]["content"]).collect();
    assert_eq!(contents, [&json!("."), &json!("changed")]);
}

#[tokio::test]
async fn values_that_go_programs_send_for_none_are_none() {
    let client = client();
    let chat = json!({"chat_id": "", "assistant_id": "weather", "status": "", "share": "", "metadata": null,
        "public": null, "sort": null});
    let created = client.post("/v1/chat/sessions", chat).await;
    assert_eq!(
        (created.status, &created.body()["status"]),
        (200, &json!("active")),
        "{}",
        created.text
    );
    let path = format!("/v1/chat/sessions/{}", created.body()["chat_id"].as_str().unwrap());
    let none = client.post(&format!("{path}/messages"), json!({"messages": null})).await;
    assert_eq!((none.status, &none.body()["saved"]), (200, &json!(0)), "{}", none.text);
    let turn = json!({"request_id": "r1", "status": "completed", "resume": null,
        "messages": [text("M9", "a")]});
    let saved = client.post(&format!("{path}/turns"), turn).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    let minted =
        client.post("/v1/agent/assistants", json!({"assistant_id": "", "name": "A"})).await;
    assert_eq!(minted.status, 200, "{}", minted.text);
    let tags =
        client.post("/v1/agent/assistants", json!({"assistant_id": "tags", "name": "A"})).await;
    assert_eq!(error(&tags), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn what_a_person_says_cites_nothing() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let cited = |role: &str, id: &str| {
        json!({"role": role, "type": "retrieval", "request_id": "r1", "message_id": id,
            "props": {"query": "q", "sources": [{"id": "s1", "title": id}]}})
    };
    let messages = json!({"messages": [cited("assistant", "M1"), cited("user", "M2")]});
    assert_eq!(client.post(&format!("{path}/messages"), messages).await.body()["saved"], 2);
    let shown = client.get(&format!("{path}/references/r1")).await.body();
    let titles: Vec<_> =
        shown["references"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, [&json!("M1")]);
}

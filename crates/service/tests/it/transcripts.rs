//! Transcripts in dialects, appended over HTTP.

use insta::assert_json_snapshot;
use resume::dialect::{self, Dialect};
use serde_json::{Value, json};

use crate::harness::Client;

/// A transcript with every feature that a dialect may support.
fn rich() -> Value {
    let call = |id: &str| {
        let target = json!({"name": "look_up", "arguments": r#"{"city":"Rome"}"#});
        json!({"id": id, "type": "function", "function": target})
    };
    let failed = json!({"tool_call_id": "b", "role": "tool", "content": "gone", "is_error": true});
    json!({"messages": [
        {"role": "system", "name": "rules", "content": "Be brief."},
        {"role": "user", "name": "Bob", "content": [
            {"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}},
        ]},
        {"role": "assistant", "name": "planner", "content": "Let me see",
         "reasoning_content": "hm", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "sunny"},
        {"role": "tool", "tool_responses": [failed]},
        {"role": "assistant", "name": "planner", "content": "Sunny.", "reasoning_content": [
            {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        ]},
        {"role": "user", "name": "Bob", "content": "Sunny."},
        {"role": "user", "name": "Bob", "content": "Sunny."},
        {"role": "assistant", "name": "planner", "content": null, "refusal": "No."},
    ]})
}

async fn append(client: &Client, path: &str, dialect: &str, body: Value) -> (u16, Value) {
    let answer = client.post(&format!("{path}/messages?dialect={dialect}"), body).await;
    (answer.status, answer.body())
}

async fn synchronise(client: &Client, path: &str, dialect: &str, body: Value) -> (u16, Value) {
    let answer = client.put(&format!("{path}/transcript?dialect={dialect}"), body).await;
    (answer.status, answer.body())
}

#[tokio::test]
async fn a_history_that_is_appended_to_another_chat_has_the_same_history() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    client.post(&format!("{path}/messages"), rich()).await;
    for name in dialect::parsed().map(Dialect::name) {
        let history = client.get(&format!("{path}/history?dialect={name}")).await.body();
        let system = history.get("system").cloned().unwrap_or_else(|| json!([]));
        let body = json!({"messages": history["messages"], "system": system});
        let copy = client.create_chat(name).await;
        let (status, appended) = synchronise(&client, &copy, name, body.clone()).await;
        assert_eq!((status, &appended["dropped"]), (201, &json!([])), "{name}: {appended}");
        let again = client.get(&format!("{copy}/history?dialect={name}")).await.body();
        assert_eq!(again["messages"], history["messages"], "{name}");
        assert_eq!(again.get("system"), history.get("system"), "{name}");
        assert_eq!(again["dropped"], json!([]), "{name}");

        let (status, repeated) = synchronise(&client, &copy, name, body).await;
        assert_eq!(status, 200, "{name}: {repeated}");
        assert_eq!(repeated["last_sequence"], appended["last_sequence"], "{name}");
    }
}

#[tokio::test]
async fn a_transcript_that_has_grown_adds_what_is_new() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let first = json!({"messages": [said("user", "yes"), said("assistant", "yes?")]});
    let mut grown = first.clone();
    grown["messages"].as_array_mut().unwrap().push(said("user", "yes"));
    let mut counts = Vec::new();
    for body in [&first, &first, &grown, &first] {
        let (_, appended) = synchronise(&client, &path, "openai", body.clone()).await;
        counts.push(appended["last_sequence"].as_u64());
    }
    assert_eq!(counts, [Some(2), Some(2), Some(3), Some(3)]);
    let mut other = first.clone();
    other["request_id"] = json!("turn_2");
    for _ in 0..2 {
        let (_, appended) = synchronise(&client, &path, "openai", other.clone()).await;
        assert_eq!(appended["last_sequence"], 5, "another transcript that begins alike");
    }
}

#[tokio::test]
async fn instructions_may_have_every_form_that_providers_take() {
    let client = Client::open();
    let text = json!({"text": "Be brief."});
    for (number, (dialect, system)) in [
        ("anthropic", json!("Be brief.")),
        ("anthropic", json!([{"type": "text", "text": "Be brief."}])),
        ("gemini", json!({"role": "user", "parts": [text]})),
        ("gemini", text.clone()),
        ("bedrock-converse", json!([text])),
    ]
    .into_iter()
    .enumerate()
    {
        let path = client.create_chat(&format!("c{number}")).await;
        let body = json!({"messages": [], "system": system});
        let (status, stored) = synchronise(&client, &path, dialect, body).await;
        assert_eq!((status, &stored["last_sequence"]), (201, &json!(1)), "{stored}");
        let shown = client.get(&format!("{path}/messages")).await.body();
        assert_eq!(shown["data"][0]["content"], "Be brief.", "{dialect}");
    }
    let path = client.create_chat("other").await;
    let body = json!({"messages": [], "system": 7});
    let (status, refused) = synchronise(&client, &path, "anthropic", body).await;
    assert_eq!((status, &refused["errors"][0]["pointer"]), (422, &json!("/system")), "{refused}");
}

/// The newest types of the `anthropic` package have them, and most models take them apart alone.
#[tokio::test]
async fn instructions_among_the_messages_of_anthropic_are_stored_and_noted() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let message = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut messages = vec![message("user", "hi"), message("assistant", "hello")];
    messages.extend([message("system", "answer in French"), message("user", "how are you?")]);
    let body = json!({"messages": messages});
    for added in [4, 0] {
        let (status, stored) = synchronise(&client, &path, "anthropic", body.clone()).await;
        assert_eq!((status, &stored["last_sequence"]), (201 - u16::from(added == 0), &json!(4)));
        let noted = stored["noted"].as_array().unwrap();
        assert!(noted.iter().any(|it| it["index"] == 2 && it["rule"] == "system_message"));
    }
    let log = client.get(&format!("{path}/messages")).await.body();
    assert_eq!(log["data"][2]["role"], "system");
    let history = client.get(&format!("{path}/history?dialect=anthropic")).await.body();
    assert_eq!(history["system"][0]["text"], "answer in French");
    assert_eq!(history["messages"].as_array().unwrap().len(), 3);
    let url = format!("{path}/transcript?dialect=anthropic&check=strict");
    assert_eq!(client.put(&url, body).await.problem(), (422, "invalid-request".to_owned()));
}

#[tokio::test]
async fn a_history_is_put_back_with_what_is_new() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let mut answer = said("assistant", "a");
    answer["annotations"] = json!([{"type": "url_citation", "url_citation":
        {"start_index": 0, "end_index": 1, "title": "t", "url": "https://example.org"}}]);
    let first = json!({"messages": [said("user", "x"), answer, said("user", "b")]});
    synchronise(&client, &path, "openai", first).await;
    for turn in 0..4 {
        let history = client.get(&format!("{path}/history?dialect=openai")).await.body();
        let mut messages = history["messages"].as_array().unwrap().clone();
        messages.push(said("assistant", &format!("answer {turn}")));
        messages.push(said("user", "and?"));
        let body = json!({"messages": messages});
        let (status, appended) = synchronise(&client, &path, "openai", body.clone()).await;
        let expected = (201, 5 + 2 * turn);
        assert_eq!((status, appended["last_sequence"].as_u64().unwrap()), expected, "{appended}");
        // A repeat stores nothing.
        let (status, again) = synchronise(&client, &path, "openai", body).await;
        assert_eq!((status, &again["last_sequence"]), (200, &appended["last_sequence"]));
    }
    // Where it was edited, it goes on from there, and nothing is left out.
    let edited =
        json!({"messages": [said("user", "x"), said("assistant", "a!"), said("user", "c")]});
    let (_, appended) = synchronise(&client, &path, "openai", edited).await;
    assert_eq!(appended["last_sequence"], 13);
}

#[tokio::test]
async fn unknown_fields_of_a_message_are_kept_and_noted() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let dumped = json!({"role": "assistant", "content": "hi", "refusal": null, "audio": {"id": "a1"},
        "annotations": [{"type": "url_citation"}], "function_call": null, "tool_calls": null});
    let first = client.post(&format!("{path}/messages"), dumped.clone()).await.body();
    let noted = json!([{"index": 0, "rule": "unknown_field",
        "detail": "unknown fields are kept in provider: \"audio\", \"annotations\""}]);
    assert_eq!(first["noted"], noted, "{first}");
    let stored = client.get(&format!("{path}/messages/0")).await.body();
    let kept =
        json!({"openai": {"audio": {"id": "a1"}, "annotations": [{"type": "url_citation"}]}});
    assert_eq!(stored["provider"], kept);
    let history = client.get(&format!("{path}/history?dialect=openai")).await.body();
    assert_eq!(history["messages"][0]["audio"], json!({"id": "a1"}), "{history}");
    assert_eq!(history["repaired"][0]["repair"], "provider_fields_removed");

    // What was read can be written again, and an edit removes what belongs to the old content.
    let copy = json!({"role": "assistant", "content": "hi", "provider": stored["provider"]});
    assert_eq!(client.post(&format!("{path}/messages"), copy).await.status, 201);
    client.patch(&format!("{path}/messages/0"), json!({"content": "ho"})).await;
    let edited = client.get(&format!("{path}/messages/0")).await.body();
    assert_eq!(edited["provider"], json!({"openai": null}));
    let reserved = json!({"role": "user", "content": "x", "created_at": "2025-10-02T10:00:00Z"});
    let refused = client.post(&format!("{path}/messages"), reserved).await;
    assert_eq!((refused.status, &*refused.culprit()), (422, "/created_at"));
}

#[tokio::test]
async fn pieces_are_stored_in_the_order_in_which_they_happen() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let call = json!({"id": "a", "type": "function",
        "function": {"name": "book", "arguments": "{}"}});
    let pieces = [
        (json!({"role": "user", "content": "yes"}), None),
        (
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            Some("unanswered_call"),
        ),
        (json!({"role": "user", "content": "yes"}), None),
        (json!({"role": "tool", "tool_call_id": "a", "content": "BOOKED"}), Some("orphan_result")),
        (json!({"role": "user", "content": "yes"}), None),
    ];
    for (piece, noted) in &pieces {
        let (status, appended) =
            append(&client, &path, "openai", json!({"messages": [piece]})).await;
        assert_eq!(status, 201, "{appended}");
        let rules = appended["noted"].as_array().into_iter().flatten();
        let rules: Vec<_> = rules.map(|it| it["rule"].as_str().unwrap()).collect();
        assert_eq!(rules, noted.iter().copied().collect::<Vec<_>>(), "{appended}");
    }
    let history = client.get(&format!("{path}/history?dialect=openai")).await.body();
    let [first, call, second, result, third] = pieces.map(|(piece, _)| piece);
    assert_eq!(history["messages"], json!([first, call, result, second, third]));
    // A request with an id is safe to repeat.
    for (id, last) in [("p1", 6), ("p1", 6), ("p2", 7)] {
        let body = json!({"messages": [first], "request_id": id});
        let (_, appended) = append(&client, &path, "openai", body).await;
        assert_eq!(appended["last_sequence"], last, "{appended}");
    }
    let strict = json!({"messages": [call]});
    let url = format!("{path}/messages?dialect=openai&check=strict");
    assert_eq!(client.post(&url, strict).await.problem(), (422, "invalid-request".to_owned()));
}

/// An orchestrator appends each item as it happens, also those that only repeat a call. A chunk of `acp` is no item.
#[tokio::test]
async fn a_transcript_item_by_item_has_the_histories_of_the_whole_one() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    client.post(&format!("{path}/messages"), rich()).await;
    for name in dialect::parsed().map(Dialect::name).filter(|name| *name != "acp") {
        let history = client.get(&format!("{path}/history?dialect={name}")).await.body();
        let (whole, pieces) = (format!("{name}-whole"), format!("{name}-pieces"));
        let (whole, pieces) = (client.create_chat(&whole).await, client.create_chat(&pieces).await);
        let body = json!({"messages": history["messages"]});
        assert_eq!(synchronise(&client, &whole, name, body).await.0, 201);
        for item in history["messages"].as_array().unwrap() {
            let body = json!({"messages": [item]});
            let (status, appended) = append(&client, &pieces, name, body).await;
            assert!(status < 300, "{name}: {item}: {appended}");
        }
        for to in ["openai", "anthropic", "gemini", "bedrock-converse"] {
            let [whole, pieces] =
                [&whole, &pieces].map(|path| format!("{path}/history?dialect={to}"));
            let (whole, pieces) =
                (client.get(&whole).await.body(), client.get(&pieces).await.body());
            assert_eq!(pieces["messages"], whole["messages"], "{name} in {to}");
        }
    }
}

/// The entries of a session of Claude Code, of which each block of an answer is one.
fn session() -> Vec<Value> {
    let uuid = |number: usize| format!("6f1d2c3b-0000-4000-8000-{number:012}");
    let entry = |number: usize, kind: &str, id: &str, content: Value| {
        json!({
            "type": kind, "uuid": uuid(number), "parentUuid": number.checked_sub(1).map(uuid),
            "isSidechain": false, "sessionId": "s", "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"id": id, "role": kind, "content": content},
        })
    };
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Read", "input": {}}]);
    let result = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "1"}]);
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    vec![
        entry(0, "user", "u1", json!("Read both.")),
        entry(1, "assistant", "m1", thinking),
        entry(2, "assistant", "m1", json!([{"type": "text", "text": "Let me see."}])),
        entry(3, "assistant", "m1", call("a")),
        entry(4, "user", "u2", result("a")),
        entry(5, "assistant", "m1", call("b")),
        entry(6, "user", "u3", result("b")),
    ]
}

#[tokio::test]
async fn a_session_in_pieces_is_the_same_log_as_the_whole_one() {
    let client = Client::open();
    let (pieces, whole) = (client.create_chat("pieces").await, client.create_chat("whole").await);
    for entry in session() {
        let body = json!({"messages": [entry]});
        let (status, appended) = append(&client, &pieces, "claude-agent-sdk", body).await;
        assert_eq!(status, 201, "{appended}");
    }
    let body = json!({"messages": session()});
    // A session that is put again while an answer is written, and once it is whole.
    let begun = json!({"messages": session()[..3]});
    assert_eq!(synchronise(&client, &whole, "claude-agent-sdk", begun).await.0, 201);
    assert_eq!(synchronise(&client, &whole, "claude-agent-sdk", body.clone()).await.0, 201);
    let (status, repeated) = synchronise(&client, &pieces, "claude-agent-sdk", body).await;
    assert_eq!((status, &repeated["last_sequence"]), (200, &json!(7)), "{repeated}");
    for name in dialect::names() {
        let history = async |path: &str| {
            let history = client.get(&format!("{path}/history?dialect={name}")).await.body();
            (history["messages"].clone(), history["repaired"].clone())
        };
        assert_eq!(history(&pieces).await, history(&whole).await, "{name}");
    }
    let history = client.get(&format!("{pieces}/history?dialect=claude-agent-sdk")).await.body();
    assert_eq!(history["messages"], json!(session()));
    let history = client.get(&format!("{pieces}/history?dialect=anthropic")).await.body();
    let kinds = history["messages"][1]["content"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
}

#[tokio::test]
async fn a_transcript_that_breaks_rules_is_refused_and_stores_nothing() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": "{}"});
    let body = json!({"messages": [
        {"role": "assistant", "content": "Hello"},
        {"role": "assistant", "name": "planner", "content": [call]},
        {"role": "user", "content": " "},
    ]});
    let url = format!("{path}/messages?dialect=anthropic&check=strict");
    let answer = client.post(&url, body).await;
    assert_json_snapshot!("refused", answer.snapshot());
    let many: Vec<_> = (0..150).map(|_| json!({"role": "user"})).collect();
    let many =
        client.post(&format!("{path}/messages?dialect=acp"), json!({"messages": many})).await;
    let problem = many.body();
    assert_eq!(problem["errors"].as_array().map(Vec::len), Some(100));
    assert!(problem["detail"].to_string().contains("; only the first 100 are listed"), "{problem}");
    assert_eq!(client.get(&format!("{path}/messages")).await.body()["last_sequence"], 0);
}

#[tokio::test]
async fn messages_of_langchain_may_have_a_role() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let call = json!({"id": "a", "name": "f", "args": {"x": 1}});
    let body = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "1", "tool_call_id": "a"},
    ]});
    let (status, appended) = append(&client, &path, "langchain", body).await;
    assert_eq!((status, &appended["last_sequence"]), (201, &json!(3)), "{appended}");
}

#[tokio::test]
async fn a_transcript_above_the_limit_is_refused_unparsed() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let many = json!({"messages": vec![json!(0); 1_001]});
    for dialect in dialect::parsed() {
        let (status, problem) = append(&client, &path, dialect.name(), many.clone()).await;
        let refused = if dialect.splits_messages() { 422 } else { 413 };
        assert_eq!(status, refused, "{dialect:?}: {problem}");
    }
}

#[tokio::test]
async fn dropped_parts_of_a_transcript_are_reported() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let chunk = json!({"type": "text", "text": "hi"});
    let body = json!({"messages": [
        {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        {"sessionUpdate": "user_message_chunk", "messageId": "m1", "content": chunk},
    ]});
    let answer = client.post(&format!("{path}/messages?dialect=acp"), body).await;
    assert_json_snapshot!("reported", answer.snapshot());
}

#[tokio::test]
async fn errors_of_the_store_point_into_the_transcript() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = |id: &str, text: &str| json!({"id": id, "role": "human", "content": text});
    let transcript = |second: Value| json!({"messages": [said("m1", "hi"), second]});
    let (status, _) = append(&client, &path, "langchain", transcript(said("m2", "ho"))).await;
    assert_eq!(status, 201);
    let changed = transcript(said("m2", "hey"));
    let (status, problem) = append(&client, &path, "langchain", changed).await;
    assert_eq!((status, &problem["errors"][0]["pointer"]), (409, &json!("/messages/1")));
    let name = "x".repeat(200);
    let human = |name: &str| json!({"type": "human", "data": {"content": "hi", "name": name}});
    let body = json!({"messages": [human("Bob"), human(&name)]});
    let (status, problem) = append(&client, &path, "langchain", body).await;
    assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!("/messages/1")));
}

#[tokio::test]
async fn an_unknown_dialect_is_refused() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = json!({"messages": [{"role": "user", "content": "hi"}]});
    for query in ["dialect=klingon", "dialect=openai&speaker=role", "check=strict"] {
        let answer = client.post(&format!("{path}/messages?{query}"), said.clone()).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()), "{query}");
    }
    let mut apart = said;
    apart["system"] = json!(["Be brief."]);
    for body in [json!({"messages": []}), json!({}), json!({"messages": [], "model": "x"}), apart] {
        let (status, problem) = append(&client, &path, "openai", body).await;
        assert_eq!(status, 422, "{problem}");
    }
}

#[tokio::test]
async fn a_dialect_for_export_only_is_refused() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    client.post(&format!("{path}/messages"), rich()).await;
    let exported = client.get(&format!("{path}/history?dialect=otel-genai")).await;
    assert_eq!(exported.status, 200);
    let messages = json!({"messages": exported.body()["messages"]});
    let answer =
        client.post(&format!("{path}/messages?dialect=otel-genai"), messages.clone()).await;
    let names: Vec<_> = dialect::parsed().map(Dialect::name).collect();
    let reason = format!("otel-genai is for export only; must be one of {}", names.join(", "));
    assert_eq!(answer.body()["errors"][0]["detail"], reason);
    assert_json_snapshot!("export_only", answer.snapshot(), {
        ".body.errors[0].detail" => "[the reason, and the other dialects]",
    });
    let (status, problem) = synchronise(&client, &path, "otel-genai", messages).await;
    assert_eq!((status, &problem["errors"]), (422, &answer.body()["errors"]));
}

/// A chat with a person who must approve a call, as a user interface holds it.
fn asking() -> Value {
    json!([
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Book it."}]},
        {"id": "m2", "role": "assistant", "metadata": {"model": "large"}, "parts": [
            {"type": "step-start"},
            {"type": "text", "text": "May I?", "state": "done"},
            {"type": "tool-book", "toolCallId": "c1", "state": "approval-requested", "input": {"seat": 1},
             "approval": {"id": "a1"}},
        ]},
    ])
}

#[tokio::test]
async fn a_ui_message_that_has_grown_replaces_what_was_stored() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let shown = async || client.get(&format!("{path}/history?dialect=ui-message")).await.body();
    let (status, stored) =
        synchronise(&client, &path, "ui-message", json!({"messages": asking()})).await;
    assert_eq!((status, &stored["noted"][0]["rule"]), (201, &json!("missing_result")));
    assert_eq!(shown().await["messages"], asking());

    let mut grown = asking();
    let parts = grown[1]["parts"].as_array_mut().unwrap();
    parts[2]["state"] = "output-available".into();
    parts[2]["approval"] = json!({"id": "a1", "approved": true});
    parts[2]["output"] = json!({"booked": true});
    parts.extend([
        json!({"type": "step-start"}),
        json!({"type": "text", "text": "Booked.", "state": "done"}),
    ]);
    let (status, stored) =
        synchronise(&client, &path, "ui-message", json!({"messages": grown})).await;
    assert_eq!((status, &stored["last_sequence"]), (201, &json!(4)), "{stored}");
    assert_eq!(stored["noted"][0]["rule"], "replaced");
    let history = shown().await;
    assert_eq!(history["messages"], grown);
    assert_eq!(history.get("repaired"), None, "{history}");

    // The same again changes nothing, by either verb.
    for answer in [
        synchronise(&client, &path, "ui-message", json!({"messages": grown})).await,
        append(&client, &path, "ui-message", json!({"messages": grown})).await,
    ] {
        assert_eq!((answer.0, &answer.1["last_sequence"]), (200, &json!(4)), "{}", answer.1);
        assert_eq!(answer.1.get("noted"), None);
    }
    // What was sent first is what an older tab has: it does not undo what came later.
    let (_, old) = synchronise(&client, &path, "ui-message", json!({"messages": asking()})).await;
    assert_eq!(old["last_sequence"], 4);
    assert_eq!(shown().await["messages"], grown);
}

#[tokio::test]
async fn instructions_of_a_ui_history_are_put_back_once() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = |id: &str, role: &str, text: &str| json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]});
    let first = json!({"messages": [said("s1", "system", "Be kind."), said("u1", "user", "Hi")]});
    synchronise(&client, &path, "ui-message", first).await;
    let mut history = client.get(&format!("{path}/history?dialect=ui-message")).await.body();
    assert_eq!(history["system"], json!(["Be kind."]));
    let messages = history["messages"].as_array_mut().unwrap();
    messages.push(said("u2", "user", "And now?"));
    let put = json!({"system": history["system"], "messages": history["messages"]});
    for _ in 0..2 {
        let (_, stored) = synchronise(&client, &path, "ui-message", put.clone()).await;
        assert_eq!(stored["last_sequence"], 3, "{stored}");
    }
    let other = json!({"system": ["Be brief."], "messages": history["messages"]});
    let (_, stored) = synchronise(&client, &path, "ui-message", other).await;
    assert_eq!(stored["last_sequence"], 4, "{stored}");
}

#[tokio::test]
async fn a_deleted_ui_message_does_not_come_back() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    synchronise(&client, &path, "ui-message", json!({"messages": asking()})).await;
    client.delete(&format!("{path}/messages/1")).await;
    let mut grown = asking();
    grown[1]["parts"][1]["text"] = "May I book it?".into();
    let (status, problem) =
        synchronise(&client, &path, "ui-message", json!({"messages": grown})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("event-conflict")));
}

#[tokio::test]
async fn chunks_of_one_acp_message_may_come_in_several_requests() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let chunk = |text: &str| {
        json!({"sessionUpdate": "agent_message_chunk", "messageId": "m1",
            "content": {"type": "text", "text": text}})
    };
    let plan = json!({"sessionUpdate": "plan", "entries": []});
    let usage = json!({"sessionUpdate": "usage_update", "used": 1, "size": 2});
    let sent = [json!([chunk("Let ")]), json!([chunk("me see.")]), json!([plan]), json!([usage])];
    for messages in &sent {
        let id = format!("req_{}", messages[0]["content"]["text"].as_str().unwrap_or("x").len());
        let body = json!({"messages": messages, "request_id": id});
        for _ in 0..2 {
            let (status, answer) = append(&client, &path, "acp", body.clone()).await;
            assert!(status == 201 || status == 200, "{answer}");
        }
    }
    let history = client.get(&format!("{path}/history?dialect=acp")).await.body();
    assert_eq!(history["messages"], json!([chunk("Let "), chunk("me see."), plan]));
    let history = client.get(&format!("{path}/history?dialect=openai")).await.body();
    let parts = json!([{"type": "text", "text": "Let "}, {"type": "text", "text": "me see."}]);
    assert_eq!(history["messages"], json!([{"role": "assistant", "content": parts}]));
}

#[tokio::test]
async fn a_piece_of_which_everything_is_dropped_needs_a_chat() {
    let client = Client::open();
    let usage = json!({"messages": [{"sessionUpdate": "usage_update", "used": 1, "size": 2}]});
    let (status, problem) = append(&client, "/api/chats/acme_corp/none", "acp", usage).await;
    assert_eq!((status, &problem["code"]), (404, &json!("chat-not-found")));
}

/// Returns a history as a transcript to put.
async fn history(client: &Client, path: &str, query: &str) -> Value {
    let history = client.get(&format!("{path}/history?{query}")).await;
    assert_eq!(history.status, 200, "{query}: {}", history.text);
    let history = history.body();
    let system = history.get("system").cloned().unwrap_or_else(|| json!([]));
    json!({"messages": history["messages"], "system": system})
}

/// Chats whose messages have what not every dialect shows.
fn chats() -> Vec<(&'static str, Value)> {
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "id": format!("f{id}"), "call_id": id, "name": "f", "arguments": arguments});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "r"});
    let user = |text: &str| json!({"role": "user", "content": text});
    let calls = |ids: &[&str]| {
        let of = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "content": "", "tool_calls": ids.iter().map(of).collect::<Vec<_>>()})
    };
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    vec![
        (
            "openai-responses",
            json!({"messages": [user("q"), call("c1", "{}"), call("c2", "{\"a\": 1}"), output("c1"), output("c2"), user("z")]}),
        ),
        (
            "openai-responses",
            json!({"messages": [user("q"),
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "abc"},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "a", "annotations": []}]},
                call("c1", "{}"), output("c1"),
                {"type": "message", "id": "msg_2", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "b", "annotations": []}]}]}),
        ),
        (
            "anthropic",
            json!({"messages": [user("q"),
                {"role": "assistant", "content": [signed, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "a", "citations": [
                    {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": "t",
                        "start_char_index": 0, "end_char_index": 1}]}]}]}),
        ),
        (
            "ag-ui",
            json!({"messages": [{"id": "u1", "role": "user", "content": "q"},
                {"id": "r1", "role": "reasoning", "content": "hm"},
                {"id": "a1", "role": "assistant", "content": "a", "toolCalls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "r"},
                {"id": "a2", "role": "assistant", "content": "b"}]}),
        ),
        (
            "gemini",
            json!({"messages": [{"role": "user", "parts": [{"text": "q"}]},
                {"role": "model", "parts": [{"executableCode": {"language": "PYTHON", "code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {"text": "a", "thoughtSignature": "c2ln"}]}]}),
        ),
        // A result with a name and a state, and one that came late.
        (
            "openai",
            json!({"messages": [user("q"), calls(&["c1", "c2"]),
                {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "r", "is_error": true},
                user("wait"),
                {"role": "tool", "tool_call_id": "c2", "name": "f", "content": "s"},
                {"role": "assistant", "name": "planner", "content": "b"}]}),
        ),
        // Instructions behind the beginning, and with names.
        (
            "openai",
            json!({"messages": [{"role": "system", "name": "rules", "content": "Be brief."}, user("q"),
                {"role": "system", "content": "Be kind."}, {"role": "assistant", "content": "a"},
                {"role": "developer", "name": "more", "content": "Be both."}, user("z")]}),
        ),
        (
            "langchain",
            json!({"messages": [{"type": "human", "content": "q"},
                {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}]},
                {"type": "tool", "tool_call_id": "c1", "name": "f", "status": "error", "artifact": {"a": 1}, "content": "r"},
                {"type": "ai", "content": "a", "response_metadata": {"model_name": "m"}}]}),
        ),
    ]
}

#[tokio::test]
async fn a_history_that_is_put_back_in_any_dialect_changes_nothing() {
    let client = Client::open();
    let mut wrong = Vec::new();
    for (number, (source, transcript)) in chats().into_iter().enumerate() {
        for name in dialect::parsed().map(Dialect::name) {
            let path = client.create_chat(&format!("{number}-{name}")).await;
            let (status, stored) = synchronise(&client, &path, source, transcript.clone()).await;
            assert_eq!(status, 201, "{source}: {stored}");
            let own = history(&client, &path, &format!("dialect={source}")).await;
            let read = history(&client, &path, &format!("dialect={name}")).await;
            for round in 1..=2 {
                let before = client.get(&path).await.body()["last_sequence"].clone();
                let (status, body) = synchronise(&client, &path, name, read.clone()).await;
                if !(200..300).contains(&status) {
                    wrong.push(format!(
                        "{number} {source} as {name}, {round}: {status} {}",
                        body["detail"]
                    ));
                    break;
                }
                let after = client.get(&path).await.body()["last_sequence"].clone();
                if after != before {
                    wrong.push(format!(
                        "{number} {source} as {name}, {round}: {before} to {after}, noted {}",
                        body["noted"]
                    ));
                }
                if history(&client, &path, &format!("dialect={source}")).await != own {
                    wrong.push(format!(
                        "{number} {source} as {name}, {round}: its own history differs"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A client that has read a history puts it back with what is new, whole or only its newest part, and repeats it when no answer comes.
#[tokio::test]
async fn a_history_that_is_put_back_with_more_adds_only_that() {
    let client = Client::open();
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let new = client.create_chat("new").await;
    client.post(&format!("{new}/messages"), said("user", "new")).await;
    let mut wrong = Vec::new();
    for last in [said("assistant", "a2"), said("user", "q3")] {
        for name in dialect::parsed().map(Dialect::name) {
            let more = history(&client, &new, &format!("dialect={name}")).await;
            let path =
                client.create_chat(&format!("{name}-{}", last["content"].as_str().unwrap())).await;
            let chat =
                [said("user", "q1"), said("assistant", "a1"), said("user", "q2"), last.clone()];
            client.post(&format!("{path}/messages"), json!({"messages": chat})).await;
            let read = history(&client, &path, &format!("dialect={name}")).await;
            let items = read["messages"].as_array().unwrap();
            for from in [0, 0, 1, 1] {
                let mut grown = read.clone();
                let rest = items[from..].iter().chain(more["messages"].as_array().unwrap());
                grown["messages"] = rest.cloned().collect();
                let (status, put) = synchronise(&client, &path, name, grown).await;
                if put["last_sequence"] != 5 {
                    wrong.push(format!("{name} from {from}: {status} {put}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// These dialects give a copy the ids of the messages, and it has other fields than they have.
#[tokio::test]
async fn a_chat_that_was_copied_is_put_back_in_any_dialect() {
    let client = Client::open();
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let source = client.create_chat("source").await;
    let chat = json!({"messages": [said("user", "hello"), said("assistant", "yo")]});
    synchronise(&client, &source, "openai", chat).await;
    let mut wrong = Vec::new();
    for via in ["google-adk", "yao"] {
        let copied = history(&client, &source, &format!("dialect={via}")).await;
        for name in dialect::parsed().map(Dialect::name) {
            let path = client.create_chat(&format!("{via}-{name}")).await;
            let (status, copy) = synchronise(&client, &path, via, copied.clone()).await;
            assert_eq!((status, &copy["last_sequence"]), (201, &json!(2)), "{copy}");
            let read = history(&client, &path, &format!("dialect={name}")).await;
            let (status, body) = synchronise(&client, &path, name, read).await;
            if (status, &body["last_sequence"]) != (200, &json!(2)) {
                wrong.push(format!("{via} as {name}: {status} {body}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn what_a_history_adds_is_not_stored_as_said() {
    let client = Client::open();
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "book", "arguments": "{}"}});
    let asked = json!({"messages": [{"role": "user", "content": "book it"},
        {"role": "assistant", "content": null, "tool_calls": [call]}]});
    let path = client.create_chat("settled").await;
    synchronise(&client, &path, "openai", asked).await;
    let read = history(&client, &path, "dialect=openai&unsettled=settle").await;
    assert_eq!(read["messages"].as_array().unwrap().len(), 3, "{read}");
    let (status, put) = synchronise(&client, &path, "openai", read).await;
    assert_eq!((status, &put["last_sequence"]), (200, &json!(2)), "{put}");
    let result = json!({"messages": [{"role": "tool", "tool_call_id": "c1", "content": "BOOKED"}]});
    assert_eq!(append(&client, &path, "openai", result).await.0, 201);
    let read = history(&client, &path, "dialect=openai").await;
    assert_eq!(read["messages"][2]["content"], "BOOKED");

    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let path = client.create_chat("continued").await;
    let chat = json!({"messages": [said("user", "hi"), said("assistant", "hello")]});
    synchronise(&client, &path, "anthropic", chat).await;
    let mut read = history(&client, &path, "dialect=anthropic").await;
    assert_eq!(read["messages"][2]["content"][0]["text"], "Continue.");
    let (_, put) = synchronise(&client, &path, "anthropic", read.clone()).await;
    assert_eq!(put["last_sequence"], 2, "{put}");
    let more = [said("user", "q0"), said("assistant", "a0")];
    read["messages"].as_array_mut().unwrap().extend(more);
    let (_, put) = synchronise(&client, &path, "anthropic", read).await;
    assert_eq!(put["last_sequence"], 4, "{put}");
    assert_eq!(put["noted"][0]["rule"], "known", "{put}");
}

#[tokio::test]
async fn a_history_that_is_put_back_after_an_edit_changes_nothing() {
    let client = Client::open();
    for name in dialect::parsed().map(Dialect::name) {
        let path = client.create_chat(name).await;
        for message in [
            json!({"role": "user", "content": "a"}),
            json!({"role": "assistant", "name": "planner", "content": "b"}),
        ] {
            client.post(&format!("{path}/messages"), message).await;
        }
        let query = format!("dialect={name}");
        let read = history(&client, &path, &query).await;
        let copy = client.create_chat(&format!("copy-{name}")).await;
        let (status, stored) = synchronise(&client, &copy, name, read).await;
        assert_eq!(status, 201, "{name}: {stored}");
        let edited = client.patch(&format!("{copy}/messages/1"), json!({"content": "c"})).await;
        assert_eq!(edited.status, 200, "{name}: {}", edited.text);
        let read = history(&client, &copy, &query).await;
        let (status, put) = synchronise(&client, &copy, name, read.clone()).await;
        assert_eq!(
            (status, &put["last_sequence"]),
            (200, &stored["last_sequence"]),
            "{name}: {put}"
        );
        assert_eq!(history(&client, &copy, &query).await, read, "{name}");
    }
}

/// A page goes on with the last answer, which came in another format: its client has run a tool, and the model has said more.
#[tokio::test]
async fn an_answer_of_another_format_is_continued_and_not_replaced() {
    let client = Client::open();
    let call = json!({"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}});
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let asked = json!({"messages": [{"role": "user", "content": "q"},
        {"role": "assistant", "content": [signed, {"type": "text", "text": "a"}, call]}]});
    let path = client.create_chat("c1").await;
    assert_eq!(synchronise(&client, &path, "anthropic", asked).await.0, 201);
    let own = history(&client, &path, "dialect=anthropic&unsettled=keep").await["messages"].clone();
    let mut read = history(&client, &path, "dialect=ui-message&unsettled=keep").await;
    let parts = read["messages"][1]["parts"].as_array_mut().unwrap();
    let call = parts.iter_mut().find(|part| part["toolCallId"] == "c1").unwrap();
    (call["state"], call["output"]) = (json!("output-available"), json!("sunny"));
    parts.extend([json!({"type": "step-start"}), json!({"type": "text", "text": "b"})]);
    for status in [201, 200] {
        let (given, put) = synchronise(&client, &path, "ui-message", read.clone()).await;
        assert_eq!((given, &put["last_sequence"]), (status, &json!(4)), "{put}");
        assert!(!put["noted"].to_string().contains("replaced"), "{put}");
        let grown = history(&client, &path, "dialect=anthropic").await;
        let grown = grown["messages"].as_array().unwrap();
        assert_eq!(json!(grown[..2]), own, "what was signed stays");
        assert_eq!(grown[2]["content"][0]["tool_use_id"], "c1");
        assert_eq!(grown[3]["content"][0]["text"], "b");
    }
    // Once more, from what the chat shows now: what this format has stored is replaced by what it became.
    let mut read = history(&client, &path, "dialect=ui-message").await;
    assert_eq!(read["messages"].as_array().unwrap().len(), 2, "the answer is one item: {read}");
    let parts = read["messages"][1]["parts"].as_array_mut().unwrap();
    parts.extend([json!({"type": "step-start"}), json!({"type": "text", "text": "c"})]);
    let (status, put) = synchronise(&client, &path, "ui-message", read).await;
    assert_eq!((status, &put["last_sequence"]), (200, &json!(4)), "{put}");
    let grown = history(&client, &path, "dialect=anthropic").await;
    let grown = grown["messages"].as_array().unwrap();
    assert_eq!(json!(grown[..2]), own, "{put}");
    assert_eq!(grown[3]["content"][1]["text"], "c");
}

/// Whatever the message was stored as: an answer of a page, of a workflow, or of another format.
#[tokio::test]
async fn what_a_page_changes_besides_the_text_of_a_message_is_stored() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let call = json!({"type": "tool_use", "id": "c1", "name": "f", "input": {}});
    let asked = json!({"messages": [{"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r"}]}]});
    assert_eq!(synchronise(&client, &path, "anthropic", asked).await.0, 201);
    let said = json!({"role": "assistant", "content": "b", "metadata": {"cost": 1}});
    client.post(&format!("{path}/messages"), said).await;
    let said = json!({"messages": [{"id": "u1", "role": "user", "metadata": {"likes": 1},
        "parts": [{"type": "text", "text": "x"}, {"type": "data-seen", "id": "1", "data": 1}]}]});
    assert_eq!(synchronise(&client, &path, "ui-message", said).await.0, 201);

    let query = "dialect=ui-message&unsettled=keep";
    let seen = |data: u8| json!({"type": "data-seen", "id": "1", "data": data});
    let mut read = history(&client, &path, query).await;
    let count = read["messages"].as_array().unwrap().len();
    for number in 0..count {
        let added = read["messages"][number]["parts"].as_array_mut().unwrap();
        added.retain(|part| part["type"] != "data-seen");
        added.push(seen(2));
        let (status, put) = synchronise(&client, &path, "ui-message", read.clone()).await;
        assert_eq!(status, 200, "{put}");
        let now = history(&client, &path, query).await;
        assert_eq!(now["messages"], read["messages"], "{number}: {put}");
    }
    for (number, metadata) in [(count - 1, json!({})), (count - 2, Value::Null)] {
        read["messages"][number]["metadata"] = metadata;
        let put = synchronise(&client, &path, "ui-message", read.clone()).await;
        assert_eq!(put.0, 200, "{put:?}");
        let now = history(&client, &path, query).await;
        assert_eq!(now["messages"][number].get("metadata"), None, "{put:?}");
        assert_eq!(now["messages"][number]["parts"], read["messages"][number]["parts"]);
    }
    let (status, put) = synchronise(&client, &path, "ui-message", read).await;
    assert_eq!(status, 200);
    assert!(!put["noted"].to_string().contains("replaced"), "a repeat changes nothing: {put}");
}

/// A page that shows only the newest messages of a long chat puts those back.
#[tokio::test]
async fn the_newest_messages_that_are_put_back_are_not_stored_again() {
    let client = Client::open();
    // Those in which a message has the id under which it is stored.
    for name in ["langchain", "google-adk", "ui-message", "ag-ui", "acp", "yao"] {
        let path = client.create_chat(name).await;
        for number in 0..6 {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            let said = json!({"role": role, "content": format!("m{number}"), "name": "planner"});
            client.post(&format!("{path}/messages"), said).await;
        }
        let read = history(&client, &path, &format!("dialect={name}&newest=3")).await;
        let (status, put) = synchronise(&client, &path, name, read).await;
        assert_eq!((status, &put["last_sequence"]), (200, &json!(6)), "{name}: {put}");
    }
}

/// A conversation in a format, of texts of the user and the model in turn, behind instructions.
fn conversation(name: &str, instruction: &str, texts: &[&str]) -> Value {
    let said = |(number, text): (usize, &&str)| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        match name {
            "anthropic" | "openai" => json!({"role": role, "content": text}),
            "bedrock-converse" => json!({"role": role, "content": [{"text": text}]}),
            "gemini" if number % 2 == 1 => json!({"role": "model", "parts": [{"text": text}]}),
            "gemini" => json!({"role": role, "parts": [{"text": text}]}),
            "pydantic-ai" if number % 2 == 1 => {
                json!({"kind": "response", "parts": [{"part_kind": "text", "content": text}]})
            }
            _ => {
                json!({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})
            }
        }
    };
    let mut messages: Vec<Value> = texts.iter().enumerate().map(said).collect();
    match name {
        "openai" => messages.insert(0, json!({"role": "system", "content": instruction})),
        "pydantic-ai" => {
            let part =
                json!({"part_kind": "system-prompt", "content": instruction, "dynamic_ref": "f"});
            messages[0]["parts"].as_array_mut().unwrap().insert(0, part);
        }
        "anthropic" => return json!({"messages": messages, "system": instruction}),
        _ => return json!({"messages": messages, "system": [{"text": instruction}]}),
    }
    json!({"messages": messages})
}

fn rules(put: &Value) -> Vec<&str> {
    let noted = put["noted"].as_array();
    let noted = noted.unwrap_or_else(|| panic!("nothing is noted: {put}"));
    noted.iter().filter_map(|it| it["rule"].as_str()).collect()
}

#[tokio::test]
async fn an_instruction_that_changes_adds_no_message_twice() {
    let client = Client::open();
    for name in ["anthropic", "bedrock-converse", "gemini", "openai", "pydantic-ai"] {
        let path = client.create_chat(name).await;
        let put = async |instruction: &str, texts: &[&str]| {
            synchronise(&client, &path, name, conversation(name, instruction, texts)).await.1
        };
        assert_eq!(put("Today is Monday.", &["q"]).await["last_sequence"], 2, "{name}");
        let grown = put("Today is Tuesday.", &["q", "a", "b"]).await;
        assert_eq!(grown["last_sequence"], 5, "{name}: {grown}");
        assert_eq!(rules(&grown), ["changed_instruction", "known"], "{name}: {grown}");
        for _ in 0..2 {
            let again = put("Today is Tuesday.", &["q", "a", "b", "c"]).await;
            assert_eq!(again["last_sequence"], 6, "{name}: {again}");
            assert!(!rules(&again).contains(&"changed_instruction"), "{name}: {again}");
        }
        let grown = put("Today is Wednesday.", &["q", "a", "b", "c", "d"]).await;
        assert_eq!(grown["last_sequence"], 8, "{name}: {grown}");
        let shown = history(&client, &path, "dialect=openai").await.to_string();
        for text in ["q", "a", "b", "c", "d", "Today is Wednesday."] {
            let said = format!("\"content\":\"{text}\"");
            assert_eq!(shown.matches(&said).count(), 1, "{name}: {shown}");
        }
    }
}

#[tokio::test]
async fn an_instruction_that_changes_under_its_id_replaces_what_was_stored() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let said = |id: &str, role: &str, text: &str| json!({"id": id, "role": role, "content": text});
    let asked = [said("s1", "system", "Today is Monday."), said("u1", "user", "q")];
    synchronise(&client, &path, "ag-ui", json!({"messages": asked})).await;
    let more = [
        said("s1", "system", "Today is Tuesday."),
        said("u1", "user", "q"),
        said("a1", "assistant", "a"),
    ];
    let (status, put) = synchronise(&client, &path, "ag-ui", json!({"messages": more})).await;
    assert_eq!(
        (status, &put["last_sequence"], rules(&put)),
        (201, &json!(3), vec!["replaced"]),
        "{put}"
    );
    let history = history(&client, &path, "dialect=ag-ui").await;
    assert_eq!(history["messages"], json!(more));
}

#[tokio::test]
async fn requests_that_a_run_joins_are_the_same_messages() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let request =
        |parts: &[Value], run: &str| json!({"kind": "request", "parts": parts, "run_id": run});
    let response = |parts: Value| json!({"kind": "response", "parts": parts});
    let call = |id: &str| json!({"part_kind": "tool-call", "tool_name": "f", "args": {}, "tool_call_id": id});
    let result = |id: &str| json!({"part_kind": "tool-return", "tool_name": "f", "content": "r", "tool_call_id": id});
    let asked = |text: &str| json!({"part_kind": "user-prompt", "content": text});
    let calls = response(json!([call("t1"), call("t2")]));
    let done = response(json!([{"part_kind": "text", "content": "done"}]));
    let first = [
        request(&[asked("q")], "1"),
        calls.clone(),
        request(&[result("t1")], "1"),
        request(&[result("t2")], "2"),
        done.clone(),
    ];
    let next = [
        request(&[asked("q")], "1"),
        calls,
        request(&[result("t1"), result("t2")], "2"),
        done,
        request(&[asked("next")], "3"),
    ];
    synchronise(&client, &path, "pydantic-ai", json!({"messages": first})).await;
    let (_, put) = synchronise(&client, &path, "pydantic-ai", json!({"messages": next})).await;
    assert_eq!(put["last_sequence"], 6, "{put}");
}

#[tokio::test]
async fn a_point_of_a_cache_may_move_to_the_newest_message() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let texts = ["q", "a", "q2", "a2", "q3"];
    for sequence in [1, 3, 5] {
        let mut sent = conversation("bedrock-converse", "", &texts[..sequence]);
        sent["messages"][sequence - 1]["content"]
            .as_array_mut()
            .unwrap()
            .push(json!({"cachePoint": {"type": "default"}}));
        sent["system"] = json!([]);
        let (_, put) = synchronise(&client, &path, "bedrock-converse", sent).await;
        assert_eq!(put["last_sequence"], sequence, "{put}");
    }
}

/// A client without ids puts a session again whenever it has grown, also within a message.
#[tokio::test]
async fn a_message_without_an_id_may_grow() {
    let client = Client::open();
    let chunk = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "read",
        "status": "pending", "rawInput": {}});
    let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawOutput": {"x": 1}});
    let (user, agent) = ("user_message_chunk", "agent_message_chunk");
    let session = [
        chunk(user, "hello "),
        chunk(user, "world"),
        chunk("agent_thought_chunk", "hm"),
        chunk(agent, "a"),
        chunk(agent, "b"),
        call,
        end,
        chunk(agent, "end"),
    ];
    let path = client.create_chat("acp").await;
    let whole = client.create_chat("whole").await;
    for end in 1..=session.len() {
        let (status, put) =
            synchronise(&client, &path, "acp", json!({"messages": session[..end]})).await;
        assert!(status < 300, "{put}");
    }
    synchronise(&client, &whole, "acp", json!({"messages": session})).await;
    let read = history(&client, &path, "dialect=acp").await;
    assert_eq!(read, history(&client, &whole, "dialect=acp").await);
    let (status, put) = synchronise(&client, &path, "acp", json!({"messages": session[..2]})).await;
    assert_eq!(
        (status, &put["last_sequence"]),
        (200, &json!(4)),
        "an old copy changes nothing: {put}"
    );
    assert_eq!(history(&client, &path, "dialect=acp").await, read);

    let path = client.create_chat("anthropic").await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let said = |role: &str, parts: &[Value]| json!({"role": role, "content": parts});
    let asked = said("user", &[text("q")]);
    let first = [asked.clone(), said("assistant", &[text("a")])];
    let grown = [asked, said("assistant", &[text("a"), text("b")]), said("user", &[text("and?")])];
    synchronise(&client, &path, "anthropic", json!({"messages": first})).await;
    let (_, put) = synchronise(&client, &path, "anthropic", json!({"messages": grown})).await;
    assert_eq!((&put["last_sequence"], rules(&put)), (&json!(3), vec!["replaced"]), "{put}");
    assert_eq!(history(&client, &path, "dialect=anthropic").await["messages"], json!(grown));
}

/// People write messages one by one, and a workflow puts the history back with its answer each time.
#[tokio::test]
async fn a_history_is_put_back_however_often_others_write_between() {
    let client = Client::open();
    for name in ["openai", "anthropic", "gemini", "bedrock-converse", "pydantic-ai"] {
        let path = client.create_chat(name).await;
        for round in 1..5_u64 {
            let said = json!({"role": "user", "name": "user", "content": format!("q{round}")});
            client.post(&format!("{path}/messages"), said).await;
            let mut read = history(&client, &path, &format!("dialect={name}")).await;
            let answer = conversation(name, "", &["", &format!("a{round}")]);
            let answer = answer["messages"].as_array().unwrap().last().unwrap().clone();
            read["messages"].as_array_mut().unwrap().push(answer);
            let (status, put) = synchronise(&client, &path, name, read).await;
            let expected = (201, &json!(2 * round));
            assert_eq!((status, &put["last_sequence"]), expected, "{name}: {put}");
        }
    }
}

#[tokio::test]
async fn the_newest_updates_of_acp_are_known_without_ids() {
    let client = Client::open();
    let said = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let mut updates = Vec::new();
    for round in 0..3 {
        updates.push(said("user_message_chunk", &format!("q{round}")));
        updates.push(
            json!({"sessionUpdate": "tool_call", "toolCallId": format!("t{round}"), "title": "w",
            "status": "completed", "rawInput": {"n": round}, "rawOutput": {"n": round}}),
        );
        updates.push(said("agent_message_chunk", &format!("a{round}")));
    }
    for begin in 0..updates.len() - 1 {
        let path = client.create_chat(&format!("from{begin}")).await;
        let (_, whole) = synchronise(&client, &path, "acp", json!({"messages": updates})).await;
        let window = json!({"messages": updates[begin..]});
        let (status, put) = synchronise(&client, &path, "acp", window).await;
        let expected = (200, &whole["last_sequence"]);
        assert_eq!((status, &put["last_sequence"]), expected, "{begin}: {put}");
    }
}

/// A page has the token of a person. Persons may not write answers.
#[tokio::test]
async fn a_person_puts_back_what_others_have_said() {
    let client = crate::tokens::client(crate::tokens::hs256());
    let of = |claims: Value| client.with_token(crate::tokens::token(&claims));
    let (service, alice) = (of(json!({"sub": "orchestrator", "role": "service"})), of(json!({})));
    for name in ["ui-message", "openai", "langchain"] {
        let path = service.create_chat(name).await;
        let question = json!({"role": "user", "content": "q"});
        assert_eq!(alice.post(&format!("{path}/messages"), question).await.status, 201);
        let answer = json!({"role": "assistant", "content": "a"});
        service.post(&format!("{path}/messages"), answer).await;
        let read = history(&alice, &path, &format!("dialect={name}")).await;
        let (status, put) = synchronise(&alice, &path, name, read.clone()).await;
        assert_eq!((status, &put["last_sequence"]), (200, &json!(2)), "{name}: {put}");
        // What is new is still no person's to say.
        let mut more = read;
        let answer = match name {
            "ui-message" => {
                json!({"id": "a2", "role": "assistant", "parts": [{"type": "text", "text": "b"}]})
            }
            "openai" => json!({"role": "assistant", "content": "b"}),
            _ => json!({"type": "ai", "data": {"id": "a2", "content": "b"}}),
        };
        more["messages"].as_array_mut().unwrap().push(answer);
        assert_eq!(synchronise(&alice, &path, name, more).await.0, 403, "{name}");
    }
}

/// An agent calls one tool in each step, and says nothing between. Its page answers what it asks.
#[tokio::test]
async fn steps_that_only_call_tools_are_kept_apart() {
    let client = Client::open();
    let begun = |number: u8| json!({"type": "tool-input-available", "toolCallId": format!("c{number}"), "toolName": "w", "input": {"n": number}});
    let asked = |number: u8| json!({"type": "tool-approval-request", "toolCallId": format!("c{number}"), "approvalId": format!("p{number}")});
    let ended = |number: u8| json!({"type": "tool-output-available", "toolCallId": format!("c{number}"), "output": number});
    let part = |number: u8, state: &str| {
        let mut part = json!({"type": "tool-w", "toolCallId": format!("c{number}"), "state": state,
            "input": {"n": number}, "approval": {"id": format!("p{number}"), "approved": true}});
        if state == "output-available" {
            part["output"] = number.into();
        }
        part
    };
    let step = |kind: &str| json!({"type": kind});
    let question = json!({"id": "u1", "role": "user", "parts": [{"type": "text", "text": "q"}]});
    for verb in ["POST", "PUT"] {
        let path = client.create_chat(verb).await;
        let page = async |parts: Value| {
            let answer = json!({"id": "m1", "role": "assistant", "parts": parts});
            let (status, put) = if verb == "POST" {
                append(&client, &path, "ui-message", json!({"messages": [answer]})).await
            } else {
                let messages = json!({"messages": [question.clone(), answer]});
                synchronise(&client, &path, "ui-message", messages).await
            };
            assert_eq!(status, 200, "{verb}: {put}");
            let now = history(&client, &path, "dialect=ui-message&unsettled=keep").await;
            assert_eq!(now["messages"].as_array().unwrap().len(), 2, "{verb}: {now}");
            assert_eq!(now["messages"][1]["parts"], parts, "{verb}: {put}");
        };
        let stream = async |chunks: Value| {
            let new = json!({"format": "ui_message", "agent": "w"});
            let stream = client.post(&format!("{path}/streams"), new).await.body();
            let stream = format!("{path}/streams/{}", stream["stream_id"].as_str().unwrap());
            let written = json!({"from": 0, "chunks": chunks});
            client.post(&format!("{stream}/chunks"), written).await;
            let answer = client.post(&format!("{stream}/end"), json!({"state": "finished"})).await;
            assert_eq!(answer.status, 200, "{verb}: {}", answer.text);
        };
        append(&client, &path, "ui-message", json!({"messages": [question.clone()]})).await;
        let start = json!({"type": "start", "messageId": "m1"});
        stream(json!([start, step("start-step"), begun(1), asked(1), step("finish-step")])).await;
        page(json!([step("step-start"), part(1, "approval-responded")])).await;
        stream(json!([start, ended(1), step("start-step"), begun(2), asked(2)])).await;
        let first = [step("step-start"), part(1, "output-available"), step("step-start")];
        page(json!([first[0], first[1], first[2], part(2, "approval-responded")])).await;
        // The answer to the second request goes to the agent alone next time.
        let next = json!([start, ended(2), step("start-step"), begun(3), asked(3), ended(3)]);
        stream(next).await;
        let read = history(&client, &path, "dialect=openai").await;
        let messages = read["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
        let expected = ["user", "assistant", "tool", "assistant", "tool", "assistant", "tool"];
        assert_eq!(roles, expected, "{verb}: {read}");
        let calls = messages.iter().filter_map(|it| it["tool_calls"].as_array());
        assert!(calls.into_iter().all(|calls| calls.len() == 1), "{read}");
    }
}

/// The answer of a person to a request may have gone to the agent alone.
#[tokio::test]
async fn an_output_implies_that_the_call_was_approved() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let mut sent = asking();
    let call = &mut sent[1]["parts"][2];
    (call["state"], call["output"]) = (json!("output-available"), json!(1));
    for status in [201, 200] {
        let put = synchronise(&client, &path, "ui-message", json!({"messages": sent})).await;
        assert_eq!((put.0, &put.1["last_sequence"]), (status, &json!(3)), "{}", put.1);
    }
    // The SDK reads an output only without a request or with its answer.
    sent[1]["parts"][2].as_object_mut().unwrap().remove("approval");
    assert_eq!(history(&client, &path, "dialect=ui-message").await["messages"], sent);
}

/// A release that joined the calls of several steps has stored them with one message.
#[tokio::test]
async fn a_page_goes_on_with_calls_that_were_stored_together() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let (start, made) = (json!({"type": "step-start"}), json!({"of": "call"}));
    let own = json!({"ui-message": {"parts": [start, made, start, made]}});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "w", "arguments": "{}"}});
    let result = |id: &str| json!({"event_id": format!("r-{id}"), "role": "tool", "tool_call_id": id, "content": id});
    let text = json!({"event_id": "t1", "role": "assistant", "content": "x",
        "provider": {"ui-message": {"continues": true}}});
    let stored = json!({"messages": [
        {"event_id": "u1", "role": "user", "content": "q"},
        {"event_id": "a1", "role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")], "provider": own},
        result("c1"), result("c2"), text,
    ]});
    let stored = client.post(&format!("{path}/messages"), stored).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    let mut page = history(&client, &path, "dialect=ui-message").await;
    assert_eq!(page["messages"].as_array().unwrap().len(), 2, "{page}");
    let more = [json!({"type": "step-start"}), json!({"type": "text", "text": "more"})];
    page["messages"][1]["parts"].as_array_mut().unwrap().extend(more);
    let (status, put) = synchronise(&client, &path, "ui-message", page).await;
    assert_eq!((status, &put["last_sequence"]), (200, &json!(5)), "{put}");
    let read = history(&client, &path, "dialect=ui-message").await;
    let parts = read["messages"][1]["parts"].as_array().unwrap();
    let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(texts, ["x", "more"], "{read}");
}

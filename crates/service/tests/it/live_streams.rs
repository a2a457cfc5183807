//! Streams: what agents are producing, for those who follow a chat.

use std::sync::Arc;

use persistence::memory::MemoryStore;
use records::{Clock as _, SystemClock};
use serde_json::{Value, json};
use service::Config;

use crate::events::Reader;
use crate::harness::{Client, SetClock, memory_with};

/// Returns a caller of a service whose store has the time of day.
fn today() -> Client {
    Client::over(Arc::new(MemoryStore::default()), Config::default())
}

async fn chat(client: &Client) -> String {
    client.create_chat("c1").await
}

async fn start(client: &Client, base: &str, id: &str, format: &str) {
    let new = json!({ "stream_id": id, "format": format, "agent": "writer" });
    let started = client.post(&format!("{base}/streams"), new).await;
    assert_eq!(started.status, 201, "{}", started.text);
}

async fn add(client: &Client, base: &str, id: &str, from: u64, chunks: Value) -> Value {
    let path = format!("{base}/streams/{id}/chunks");
    let added = client.post(&path, json!({ "from": from, "chunks": chunks })).await;
    assert_eq!(added.status, 200, "{}", added.text);
    added.body()
}

async fn end(client: &Client, base: &str, id: &str, ending: Value) -> Value {
    let ended = client.post(&format!("{base}/streams/{id}/end"), ending).await;
    assert_eq!(ended.status, 200, "{}", ended.text);
    ended.body()
}

/// What a viewer of one stream shows.
#[derive(Debug, Default, PartialEq)]
struct View {
    text: String,
    next: u64,
    finished: Option<String>,
    messages: Vec<Value>,
}

impl View {
    /// Follows a chat until its stream has finished. Panics if a chunk is missing or comes twice.
    async fn follow(reader: &mut Reader) -> Self {
        let mut view = Self::default();
        while view.finished.is_none() {
            view.take(reader).await;
        }
        view
    }

    async fn take(&mut self, reader: &mut Reader) {
        let event = reader.next().await.expect("it goes on");
        match event.name.as_str() {
            "message" => self.messages.push(event.data["content"].clone()),
            "stream-started" => {
                if event.data["next"] == 0 {
                    (self.text, self.next) = (String::new(), 0);
                }
                assert_eq!(event.data["next"], self.next, "{event:?}");
            }
            "stream-chunk" => {
                assert_eq!(event.data["from"], self.next, "{event:?}");
                self.next = event.data["next"].as_u64().unwrap();
                let chunks = event.data["chunks"].as_array().unwrap();
                self.text.extend(chunks.iter().map(|chunk| chunk.as_str().unwrap()));
            }
            "stream-finished" => {
                self.finished = Some(event.data["state"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn viewers_see_every_chunk_once_whenever_they_join() {
    let client = Client::open();
    let base = chat(&client).await;
    let events = format!("{base}/events");
    let mut early = Reader::open(&client, &events, None).await;
    start(&client, &base, "s1", "text").await;
    for from in 0..10 {
        add(&client, &base, "s1", from, json!([format!("{from} ")])).await;
    }
    let mut late = Reader::open(&client, &events, None).await;
    let mut seen = View::default();
    while seen.next < 10 {
        seen.take(&mut late).await;
    }
    for from in 10..20 {
        add(&client, &base, "s1", from, json!([format!("{from} ")])).await;
        // A repeat.
        add(&client, &base, "s1", from, json!([format!("{from} ")])).await;
    }
    let ended = end(&client, &base, "s1", json!({ "state": "finished" })).await;
    assert_eq!(ended["turn"]["last_sequence"], 1);
    let expected: Vec<String> = (0..20).map(|number| format!("{number} ")).collect();
    let expected = expected.concat();
    let seen_early = View::follow(&mut early).await;
    while seen.finished.is_none() {
        seen.take(&mut late).await;
    }
    for view in [&seen_early, &seen] {
        assert_eq!(view.text, expected);
        assert_eq!(view.messages, [json!(expected)], "before the end of the stream");
        assert_eq!(view.finished.as_deref(), Some("finished"));
    }
    let mut after = Reader::open(&client, &events, None).await;
    assert_eq!(after.next().await.unwrap().name, "message");
    assert_eq!(after.next().await.unwrap().name, "caught-up");
}

#[tokio::test]
async fn viewers_are_told_of_takeovers() {
    let client = Client::open();
    let base = chat(&client).await;
    let lease = client.post(&format!("{base}/lease"), json!({ "owner": "ann" })).await.body();
    let ann = client.fenced(lease["fencing_token"].to_string());
    start(&ann, &base, "s1", "text").await;
    add(&ann, &base, "s1", 0, json!(["a", "b"])).await;
    let mut viewer = Reader::open(&client, &format!("{base}/events"), None).await;
    let mut view = View::default();
    while view.next < 2 {
        view.take(&mut viewer).await;
    }
    assert_eq!(
        client.delete(&format!("{base}/lease/{}", lease["fencing_token"])).await.status,
        204
    );
    let lease = client.post(&format!("{base}/lease"), json!({ "owner": "bob" })).await.body();
    let bob = client.fenced(lease["fencing_token"].to_string());
    let takeover = format!("{base}/streams/s1/takeover");
    let early = json!({ "from": 2, "chunks": ["x"] });
    let early = bob.post(&format!("{base}/streams/s1/chunks"), early).await;
    assert_eq!(early.problem(), (409, "stream-conflict".to_owned()));
    let taken = bob.post(&takeover, json!({ "mode": "continue" })).await.body();
    assert_eq!((&taken["next"], &taken["attempt"]), (&json!(2), &json!(1)));
    let late = json!({ "from": 2, "chunks": ["y"] });
    let late = ann.post(&format!("{base}/streams/s1/chunks"), late).await;
    assert_eq!(late.problem(), (409, "fenced".to_owned()));
    add(&bob, &base, "s1", 2, json!(["c"])).await;
    while view.next < 3 {
        view.take(&mut viewer).await;
    }
    assert_eq!(view.text, "abc");

    assert_eq!(
        client.delete(&format!("{base}/lease/{}", lease["fencing_token"])).await.status,
        204
    );
    let lease = client.post(&format!("{base}/lease"), json!({ "owner": "eve" })).await.body();
    let eve = client.fenced(lease["fencing_token"].to_string());
    let taken = eve.post(&takeover, json!({ "mode": "restart" })).await.body();
    assert_eq!((&taken["next"], &taken["attempt"]), (&json!(0), &json!(2)));
    add(&eve, &base, "s1", 0, json!(["new"])).await;
    end(&eve, &base, "s1", json!({ "state": "finished" })).await;
    while view.finished.is_none() {
        view.take(&mut viewer).await;
    }
    assert_eq!((view.text.as_str(), view.messages), ("new", vec![json!("new")]));
}

#[tokio::test]
async fn a_cancelled_stream_keeps_what_it_holds() {
    let client = Client::open();
    let base = chat(&client).await;
    start(&client, &base, "s1", "text").await;
    add(&client, &base, "s1", 0, json!(["half an ans"])).await;
    let cancelled = client.poke(&format!("{base}/streams/s1/cancel")).await.body();
    assert_eq!(cancelled["cancel_requested"], true);
    assert_eq!(add(&client, &base, "s1", 1, json!([])).await["cancel_requested"], true);
    let ended = end(&client, &base, "s1", json!({ "state": "cancelled" })).await;
    assert_eq!(ended["turn"]["messages"][0]["sequence"], 0);
    let again = end(&client, &base, "s1", json!({ "state": "cancelled" })).await;
    assert_eq!(again["turn"]["duplicate"], true);
    let last = client.get(&base).await.body()["last_turn"].clone();
    assert_eq!((&last["request_id"], &last["outcome"]), (&json!("s1"), &json!("interrupted")));
}

#[tokio::test]
async fn a_failed_stream_leaves_no_message() {
    let client = Client::open();
    let base = chat(&client).await;
    start(&client, &base, "s1", "text").await;
    add(&client, &base, "s1", 0, json!(["half", 5])).await;
    let failed = json!({ "state": "failed", "error": "no model" });
    let ended = end(&client, &base, "s1", failed).await;
    assert_eq!((&ended["turn"], &ended["stream"]["error"]), (&Value::Null, &json!("no model")));
    start(&client, &base, "s2", "text").await;
    add(&client, &base, "s2", 0, json!(["whole", 5])).await;
    let ended = end(&client, &base, "s2", json!({ "state": "failed", "store": true })).await;
    assert_eq!(ended["dropped"], json!([{ "position": 1, "detail": "must be a string" }]));
    let listed = client.get(&format!("{base}/streams")).await.body();
    assert_eq!(listed["streams"].as_array().unwrap().len(), 2);
    assert_eq!(client.get(&format!("{base}/streams/s3")).await.status, 404);
}

fn ui_chunks() -> Value {
    json!([
        { "type": "start", "messageId": "msg-7" },
        { "type": "text-start", "id": "t" },
        { "type": "text-delta", "id": "t", "delta": "Hel" },
        { "type": "text-delta", "id": "t", "delta": "lo" },
    ])
}

#[tokio::test]
async fn the_ai_sdk_resumes_a_running_answer() {
    let client = today();
    let base = chat(&client).await;
    let path = format!("{base}/ui-message-stream");
    assert_eq!(client.get(&path).await.status, 204);
    start(&client, &base, "s1", "ui_message").await;
    add(&client, &base, "s1", 0, ui_chunks()).await;
    let (running, ending) = (client.get(&path), async {
        add(&client, &base, "s1", 4, json!([{ "type": "text-end", "id": "t" }])).await;
        add(&client, &base, "s1", 5, json!([{ "type": "finish" }])).await;
        end(&client, &base, "s1", json!({ "state": "finished" })).await
    });
    let (answer, ended) = tokio::join!(running, ending);
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let lines: Vec<&str> = answer.text.lines().filter(|line| !line.is_empty()).collect();
    let text: String = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok())
        .filter_map(|chunk| chunk["delta"].as_str().map(str::to_owned))
        .collect();
    assert_eq!((text.as_str(), lines.last()), ("Hello", Some(&"data: [DONE]")));
    assert_eq!(ended["dropped"], json!([]));
    let message = client.get(&format!("{base}/messages/0")).await.body();
    assert_eq!((&message["message_id"], &message["name"]), (&json!("msg-7"), &json!("writer")));
    assert_eq!(client.get(&path).await.status, 204);
}

#[tokio::test]
async fn an_answer_that_is_begun_again_is_resumed_from_there() {
    let client = today();
    let base = chat(&client).await;
    let path = format!("{base}/ui-message-stream");
    start(&client, &base, "s1", "ui_message").await;
    add(&client, &base, "s1", 0, ui_chunks()).await;
    let again = async {
        let lease = json!({ "owner": "w", "lease_id": "l1", "ttl_ms": 60_000 });
        let lease = client.post(&format!("{base}/lease"), lease).await.body();
        let holder = client.fenced(lease["fencing_token"].to_string());
        let takeover = format!("{base}/streams/s1/takeover");
        let taken = holder.post(&takeover, json!({ "mode": "restart" })).await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        let started = json!([{ "type": "start" }, { "type": "text-start", "id": "u" }]);
        add(&holder, &base, "s1", 0, started).await;
        holder
    };
    // The response ends, so that the page asks again, and is not told that the answer is whole.
    let (void, holder) = tokio::join!(client.get(&path), again);
    assert!(void.text.contains("Hel") && !void.text.contains("[DONE]"), "{}", void.text);
    let ending = async { end(&holder, &base, "s1", json!({ "state": "finished" })).await };
    let (answer, _) = tokio::join!(client.get(&path), ending);
    assert!(!answer.text.contains("Hel") && answer.text.contains(r#""id":"u""#), "{}", answer.text);
    assert!(answer.text.ends_with("data: [DONE]\n\n"), "{}", answer.text);
}

#[tokio::test]
async fn an_answer_of_a_stream_is_put_back_and_continued_without_a_double() {
    let client = today();
    let base = chat(&client).await;
    start(&client, &base, "s1", "ui_message").await;
    let call = |id: &str| json!({ "type": "tool-input-available", "toolCallId": id, "toolName": "f", "input": {} });
    let text = |id: &str| {
        [
            json!({ "type": "text-start", "id": id }),
            json!({ "type": "text-delta", "id": id, "delta": id }),
            json!({ "type": "text-end", "id": id }),
        ]
    };
    let mut chunks = vec![
        json!({ "type": "start", "messageId": "m" }),
        json!({ "type": "start-step" }),
        call("c1"),
    ];
    chunks.push(json!({ "type": "tool-output-available", "toolCallId": "c1", "output": 1 }));
    chunks.extend([json!({ "type": "finish-step" }), json!({ "type": "start-step" })]);
    chunks.extend(text("hm"));
    chunks.extend([
        call("c2"),
        call("c3"),
        json!({ "type": "finish-step" }),
        json!({ "type": "finish" }),
    ]);
    add(&client, &base, "s1", 0, chunks.into()).await;
    end(&client, &base, "s1", json!({ "state": "finished" })).await;

    let history = async || {
        let history = client.get(&format!("{base}/history?dialect=ui-message")).await.body();
        history["messages"].clone()
    };
    let put = async |messages: &Value| {
        let path = format!("{base}/transcript?dialect=ui-message");
        let put = client.put(&path, json!({ "messages": messages })).await;
        assert!(put.status < 300, "{}", put.text);
        put.body()["last_sequence"].as_u64().unwrap()
    };
    let mut messages = history().await;
    let count = put(&messages).await;
    assert_eq!(history().await, messages);
    // The page adds outputs, each at its time, and the answer goes on.
    for (at, id) in [(7, "c3"), (6, "c2")] {
        let part = messages[0]["parts"].as_array_mut().unwrap().iter_mut();
        let part = part.into_iter().find(|part| part["toolCallId"] == id).unwrap();
        part["state"] = "output-available".into();
        part["output"] = at.into();
        put(&messages).await;
        assert_eq!(history().await, messages);
    }
    let more = [
        json!({ "type": "step-start" }),
        json!({ "type": "text", "text": "So be it", "state": "done" }),
    ];
    messages[0]["parts"].as_array_mut().unwrap().extend(more);
    for _ in 0..2 {
        assert_eq!(put(&messages).await, count + 3);
        assert_eq!(history().await, messages);
    }
}

/// Returns the messages of a chat in the form of the AI SDK.
async fn ui_messages(client: &Client, base: &str) -> Value {
    client.get(&format!("{base}/history?dialect=ui-message")).await.body()["messages"].clone()
}

async fn put_ui_messages(client: &Client, base: &str, messages: &Value) -> Value {
    let path = format!("{base}/transcript?dialect=ui-message");
    let put = client.put(&path, json!({ "messages": messages })).await;
    assert!(put.status < 300, "{}", put.text);
    put.body()
}

/// Streams an answer, and returns how it ended.
async fn streamed(client: &Client, base: &str, id: &str, chunks: Value) -> Value {
    start(client, base, id, "ui_message").await;
    add(client, base, id, 0, chunks).await;
    end(client, base, id, json!({ "state": "finished" })).await
}

#[tokio::test]
async fn an_answer_waits_for_a_person_and_another_stream_goes_on_with_it() {
    let client = today();
    let base = chat(&client).await;
    let call = |id: &str, name: &str| json!({ "type": "tool-input-available", "toolCallId": id, "toolName": name, "input": {} });
    let first = json!([
        { "type": "start", "messageId": "page-1", "messageMetadata": { "model": "m" } },
        { "type": "start-step" },
        call("c1", "ask"),
        call("c2", "delete"),
        { "type": "tool-approval-request", "toolCallId": "c2", "approvalId": "a2" },
        call("c3", "pay"),
        { "type": "tool-approval-request", "toolCallId": "c3", "approvalId": "a3" },
        { "type": "finish-step" },
    ]);
    streamed(&client, &base, "s1", first).await;

    // The page knows the answer under the id of its stream.
    let mut message = ui_messages(&client, &base).await[0].clone();
    let stored_id = message["id"].clone();
    message["id"] = "page-1".into();
    for (at, change) in [
        (1, json!({ "state": "output-available", "output": "blue" })),
        (2, json!({ "state": "approval-responded", "approval": { "id": "a2", "approved": true } })),
        (
            3,
            json!({ "state": "approval-responded", "approval": { "id": "a3", "approved": false } }),
        ),
    ] {
        let part = message["parts"][at].as_object_mut().unwrap();
        part.extend(change.as_object().unwrap().clone());
    }
    for _ in 0..2 {
        let put = put_ui_messages(&client, &base, &json!([message])).await;
        assert_eq!(put["last_sequence"], 2, "the call is stored once, and its result is new");
    }
    message["id"] = stored_id.clone();
    assert_eq!(ui_messages(&client, &base).await, json!([message]));
    let stored = client.get(&format!("{base}/messages/0")).await.body();
    assert_eq!((&stored["message_id"], &stored["request_id"]), (&json!("page-1"), &json!("s1")));

    // The answer goes on, once for a page that has not been loaded again, and once for one that has.
    let second = json!([
        { "type": "start", "messageId": "page-1" },
        { "type": "tool-output-available", "toolCallId": "c2", "output": "gone" },
        { "type": "tool-output-denied", "toolCallId": "c3" },
        { "type": "start-step" },
        { "type": "text-start", "id": "t" },
        { "type": "text-delta", "id": "t", "delta": "It is gone." },
        { "type": "text-end", "id": "t" },
        call("c4", "ask"),
        { "type": "finish", "messageMetadata": { "tokens": 7 } },
    ]);
    let ended = streamed(&client, &base, "s2", second).await;
    assert_eq!(ended["dropped"], json!([]));
    let third = json!([
        { "type": "start", "messageId": stored_id },
        { "type": "tool-output-available", "toolCallId": "c4", "output": 4 },
    ]);
    streamed(&client, &base, "s3", third).await;
    let part = |at: usize, change: Value| {
        let mut part = message["parts"][at].clone();
        part.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        part
    };
    let parts = json!([
        message["parts"][0],
        message["parts"][1],
        part(2, json!({ "state": "output-available", "output": "gone" })),
        part(3, json!({ "state": "output-denied" })),
        { "type": "step-start" },
        { "type": "text", "text": "It is gone." },
        {
            "type": "tool-ask", "toolCallId": "c4", "state": "output-available", "input": {}, "output": 4,
        },
    ]);
    let whole = json!([{
        "id": stored_id, "role": "assistant", "parts": parts,
        "metadata": { "model": "m", "name": "writer", "tokens": 7 },
    }]);
    assert_eq!(ui_messages(&client, &base).await, whole);

    // Each request may be repeated, also when the chat has gone on.
    let question = json!({ "role": "user", "content": "And now?" });
    assert_eq!(client.post(&format!("{base}/messages"), question).await.status, 201);
    let again = end(&client, &base, "s2", json!({ "state": "finished" })).await;
    assert_eq!(
        (&again["turn"]["duplicate"], &again["turn"]["messages"][0]["duplicate"]),
        (&json!(true), &json!(true))
    );
    let put = put_ui_messages(&client, &base, &whole).await;
    assert_eq!(ui_messages(&client, &base).await[0], whole[0]);
    // It has changed what the stream went on with.
    let last = end(&client, &base, "s2", json!({ "state": "finished" })).await;
    assert_eq!((&last["stream"], &last["dropped"]), (&again["stream"], &json!([])));
    assert_eq!(last["turn"]["messages"], again["turn"]["messages"]);
    // After a question, the same id is that of another answer.
    let other = json!([{ "type": "start", "messageId": "page-1" }, call("c2", "delete")]);
    streamed(&client, &base, "s4", other).await;
    let messages = ui_messages(&client, &base).await;
    assert_eq!((messages.as_array().unwrap().len(), &messages[0]), (3, &whole[0]));
    assert_eq!(put["last_sequence"], 7);
}

#[tokio::test]
async fn nobody_waits_for_an_agent_that_is_gone() {
    let clock = Arc::new(SetClock::default());
    let ago =
        |seconds: i64| clock.set((SystemClock.now() - SetClock::start()).num_seconds() - seconds);
    ago(0);
    let client = Client::over(memory_with(&clock), Config::default());
    let base = chat(&client).await;
    let path = format!("{base}/ui-message-stream");
    ago(298);
    start(&client, &base, "s1", "ui_message").await;
    add(&client, &base, "s1", 0, ui_chunks()).await;
    let answer = client.get(&path).await;
    let ends =
        "data: {\"type\":\"error\",\"errorText\":\"the agent is silent\"}\n\ndata: [DONE]\n\n";
    assert!(answer.text.contains("Hel") && answer.text.ends_with(ends), "{}", answer.text);
    assert_eq!(client.get(&path).await.status, 204);

    // A request to cancel is no sign of the agent.
    ago(0);
    let asked = client.post(&format!("{base}/streams/s1/cancel"), json!({})).await.body();
    assert_eq!((&asked["cancel_requested"], &asked["stalled"]), (&json!(true), &json!(true)));
    assert_eq!(client.get(&path).await.status, 204);

    // A later answer shows that the agent of this one is not waited for.
    ago(100);
    start(&client, &base, "s2", "ui_message").await;
    add(&client, &base, "s2", 0, ui_chunks()).await;
    ago(0);
    start(&client, &base, "s3", "ui_message").await;
    end(&client, &base, "s3", json!({ "state": "finished" })).await;
    assert_eq!(client.get(&path).await.status, 204);
}

#[tokio::test]
async fn a_write_to_begin_after_is_within_what_is_stored() {
    let client = Client::open();
    let base = chat(&client).await;
    start(&client, &base, "s1", "text").await;
    let after =
        async |number: u64| client.get(&format!("{base}/streams/s1/chunks?after={number}")).await;
    let last = after(i64::MAX.unsigned_abs()).await;
    assert_eq!((last.status, &last.body()["groups"]), (200, &json!([])));
    let beyond = after(i64::MAX.unsigned_abs() + 1).await;
    assert_eq!(beyond.status, 422, "{}", beyond.text);
    assert!(beyond.text.contains("after"), "{}", beyond.text);
}

#[tokio::test]
async fn viewers_are_told_that_the_end_of_the_chat_ends_its_streams() {
    let client = Client::open();
    let base = chat(&client).await;
    start(&client, &base, "s1", "text").await;
    add(&client, &base, "s1", 0, json!(["a"])).await;
    let mut viewer = Reader::open(&client, &format!("{base}/events"), None).await;
    let mut view = View::default();
    while view.next < 1 {
        view.take(&mut viewer).await;
    }
    assert_eq!(client.post(&format!("{base}/complete"), json!({})).await.status, 200);
    while view.finished.is_none() {
        view.take(&mut viewer).await;
    }
    assert_eq!((view.finished.as_deref(), view.text.as_str()), (Some("cancelled"), "a"));
    let late = json!({ "from": 1, "chunks": ["b"] });
    let late = client.post(&format!("{base}/streams/s1/chunks"), late).await;
    assert_eq!(late.problem(), (409, "stream-conflict".to_owned()));
    let ended = client.get(&format!("{base}/streams/s1")).await.body();
    assert_eq!(ended["error"], "the chat has ended: completed");
}

#[tokio::test]
async fn an_answer_larger_than_a_message_is_refused_at_its_end() {
    let client = Client::open();
    let base = chat(&client).await;
    let piece = "x".repeat(1 << 20);
    let answer = async |id: &str, less: usize| {
        start(&client, &base, id, "text").await;
        for from in 0..4 {
            // With its quotes, a chunk is as large as the chunks of one request may be.
            let left_out = if from == 3 { less } else { 2 };
            add(&client, &base, id, from, json!([&piece[left_out..]])).await;
        }
        let path = format!("{base}/streams/{id}/end");
        client.post(&path, json!({ "state": "finished" })).await
    };
    // A message has at most 4 MiB, with its role and the name of the agent.
    let fits = answer("s1", 100).await;
    assert_eq!(fits.status, 200, "{}", fits.text);
    let refused = answer("s2", 2).await;
    assert_eq!(refused.problem(), (413, "message-too-large".to_owned()));

    // Nothing is stored, and the agent decides what becomes of its answer.
    let stream = client.get(&format!("{base}/streams/s2")).await.body();
    assert_eq!((&stream["state"], &stream["next"]), (&json!("running"), &json!(4)));
    let ending = json!({ "state": "failed", "error": "the answer is too long" });
    assert_eq!(end(&client, &base, "s2", ending).await["turn"], Value::Null);
    let chat = client.get(&base).await.body();
    assert_eq!(chat["last_sequence"], 1);
}

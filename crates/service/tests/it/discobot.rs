//! Sessions in the shapes of Discobot: completions, questions, the records of sessions.

use std::sync::Arc;

use persistence::memory::MemoryStore;
use records::{AppId, ChatId};
use serde_json::{Value, json};
use service::{AdaptersConfig, Config, DiscobotConfig};

use crate::harness::{Answer, Client, memory};
use crate::tokens::{hs256, token};

const NATIVE: &str = "/api/chats/acme";

fn config() -> Config {
    let discobot = DiscobotConfig {
        enabled: true,
        app_id: Some(AppId::parse("acme").unwrap()),
        listen: Some("127.0.0.1:0".parse().unwrap()),
        ..DiscobotConfig::default()
    };
    Config { adapters: AdaptersConfig { discobot, ..Default::default() }, ..Config::default() }
}

/// A client of the API, and the same one at the listener of the adapter.
pub(crate) struct Clients {
    pub(crate) api: Client,
    pub(crate) chat: Client,
}

fn clients_over(store: Arc<MemoryStore>, config: Config) -> Clients {
    let listener = config.adapter_listeners().remove(0);
    let api = Client::over(store, config);
    let chat = api.at(listener.router(api.app()));
    Clients { api, chat }
}

pub(crate) fn clients() -> Clients {
    clients_over(Arc::new(MemoryStore::default()), config())
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn user(id: &str, content: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [text(content)]})
}

pub(crate) fn assistant(id: &str, parts: Value) -> Value {
    let mut message = json!({"id": id, "role": "assistant"});
    message["parts"] = parts;
    message
}

impl Clients {
    /// Starts a completion of the default session.
    pub(crate) async fn start(&self, message: Value) -> Answer {
        self.chat.post("/chat", json!({"messages": [message]})).await
    }

    /// Finishes a completion of the default session with messages of the agent.
    pub(crate) async fn finish(&self, id: &str, messages: Value) -> Answer {
        self.chat.post(&format!("/chat/{id}/finish"), json!({"messages": messages})).await
    }

    pub(crate) async fn messages(&self) -> Value {
        let listed = self.chat.get("/chat").await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body()["messages"].clone()
    }

    async fn status(&self) -> Value {
        let status = self.chat.get("/chat/status").await;
        assert_eq!(status.status, 200, "{}", status.text);
        status.body()
    }
}

pub(crate) fn error(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text_of("error"))
}

fn none() -> Value {
    json!({"isRunning": false, "completionId": null, "startedAt": null, "error": null})
}

#[tokio::test]
async fn a_session_that_does_not_exist_has_no_messages_and_no_completion() {
    let clients = clients();
    assert_eq!(clients.messages().await, json!([]));
    assert_eq!(clients.status().await, none());
    assert_eq!(clients.chat.get("/chat/question").await.body(), json!({"question": null}));
    assert_eq!(clients.chat.delete("/chat").await.body(), json!({"success": true}));
    assert_eq!(clients.chat.delete("/sessions/default").await.status, 204);
    assert_eq!(clients.chat.patch("/sessions/default/messages/m1", json!({})).await.status, 204);
    let cancelled = clients.chat.poke("/chat/cancel").await;
    assert_eq!(error(&cancelled), (409, "no_active_completion".to_owned()));
    assert_eq!(clients.api.get(&format!("{NATIVE}/default")).await.status, 404);
}

#[tokio::test]
async fn one_completion_is_running_at_a_time() {
    let clients = clients();
    let history = json!([user("old", "Before"), user("m1", "Hello")]);
    let started = clients.chat.post("/chat", json!({"messages": history, "model": "m"})).await;
    let expected = json!({"completionId": "m1", "status": "started"});
    assert_eq!((started.status, started.body()), (202, expected.clone()), "{}", started.text);
    let running = clients.status().await;
    assert_eq!((&running["isRunning"], &running["completionId"]), (&json!(true), &json!("m1")));
    assert!(running["startedAt"].is_string() && running["error"].is_null(), "{running}");

    let refused = clients.start(user("m2", "Again")).await;
    let conflict = json!({"error": "completion_in_progress", "completionId": "m1"});
    assert_eq!((refused.status, refused.body()), (409, conflict));
    // The same message again starts nothing again.
    let again = clients.start(user("m1", "Hello")).await;
    assert_eq!((again.status, again.body()), (202, expected));
    let other = clients.start(user("m1", "Another text")).await;
    assert_eq!(other.status, 409, "{}", other.text);
    assert_eq!(clients.messages().await, json!([user("m1", "Hello")]));

    let answer = json!([assistant("m3", json!([text("Hi there!")]))]);
    for _ in 0..2 {
        let finished = clients.finish("m1", answer.clone()).await;
        let expected = json!({"success": true, "completionId": "m1", "status": "finished"});
        assert_eq!((finished.status, finished.body()), (200, expected), "{}", finished.text);
    }
    assert_eq!(clients.messages().await, json!([user("m1", "Hello"), answer[0]]));
    let ended = clients.status().await;
    assert_eq!((&ended["isRunning"], &ended["completionId"]), (&json!(false), &json!("m1")));
    assert_eq!((&ended["startedAt"], &ended["error"]), (&running["startedAt"], &Value::Null));

    // The next one keeps what was said before.
    assert_eq!(clients.start(user("m4", "And now?")).await.status, 202);
    assert_eq!(clients.status().await["completionId"], "m4");
    assert_eq!(clients.messages().await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn of_completions_that_begin_at_once_one_begins() {
    let clients = clients();
    clients.chat.put("/sessions/default", json!({"sessionId": "s"})).await;
    let starts = (0..8).map(|number| clients.start(user(&format!("m{number}"), "Hello")));
    let answers = futures::future::join_all(starts).await;
    let started: Vec<_> = answers.iter().filter(|answer| answer.status == 202).collect();
    assert_eq!(started.len(), 1);
    let id = started[0].text_of("completionId");
    for refused in answers.iter().filter(|answer| answer.status != 202) {
        assert_eq!((refused.status, refused.text_of("completionId")), (409, id.clone()));
    }
    assert_eq!(clients.messages().await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_completion_needs_a_message_of_the_user() {
    let clients = clients();
    for body in [json!({}), json!({"messages": []})] {
        let refused = clients.chat.post("/chat", body).await;
        assert_eq!(error(&refused), (400, "No user message found".to_owned()));
    }
    let of_agent = json!({"messages": [assistant("m1", json!([text("x")]))]});
    assert_eq!(clients.chat.post("/chat", of_agent).await.status, 400);
    for body in [
        json!({"messages": "x"}),
        json!({"messages": [{"id": "m1", "role": "user"}]}),
        json!({"messages": [{"id": "m1", "role": "user", "parts": [{"type": "riddle"}]}]}),
    ] {
        let refused = clients.chat.post("/chat", body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text_of("error").contains("messages"), "{}", refused.text);
    }
    let second = json!({"messages": [user("m1", "x"), {"id": "m2", "role": "user"}, assistant("m3", json!([]))]});
    let refused = clients.chat.post("/chat", second).await;
    assert!(refused.text_of("error").starts_with("messages/1 "), "{}", refused.text);
    assert_eq!(clients.chat.json("POST", "/chat", "{").await.status, 400);
    assert_eq!(clients.status().await, none());
    // An id is minted, or that of the request.
    let minted = clients.start(json!({"role": "user", "content": "Hello"})).await;
    assert_eq!(minted.status, 202, "{}", minted.text);
    assert!(minted.text_of("completionId").starts_with("msg_"));
    let keyed = clients.chat.with_key("k1");
    for _ in 0..2 {
        let started = keyed
            .post("/sessions/s2/chat", json!({"messages": [{"role": "user", "content": "x"}]}));
        assert_eq!(started.await.text_of("completionId"), "k1");
    }
}

#[tokio::test]
async fn a_failed_completion_leaves_the_message_and_a_resume_point_and_no_answer() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let both = json!({"error": "x", "messages": [assistant("m2", json!([text("half")]))]});
    for body in [both, json!({}), json!({"messages": [user("m2", "x")]})] {
        let refused = clients.chat.post("/chat/m1/finish", body).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text_of("error").contains("messages"), "{}", refused.text);
    }
    for _ in 0..2 {
        let failed =
            clients.chat.post("/chat/m1/finish", json!({"error": "the model is away"})).await;
        assert_eq!((failed.status, failed.text_of("status")), (200, "failed".to_owned()));
    }
    assert_eq!(clients.messages().await, json!([user("m1", "Hello")]));
    let ended = clients.status().await;
    assert_eq!(
        (&ended["isRunning"], &ended["error"]),
        (&json!(false), &json!("the model is away"))
    );
    let points = clients.api.get(&format!("{NATIVE}/default/resume-points")).await.body();
    assert_eq!(points["data"][0]["request_id"], "m1");
    assert_eq!(points["data"][0]["status"], "failed");
    let late = clients.finish("m1", json!([assistant("m2", json!([text("late")]))])).await;
    assert_eq!(late.status, 409, "{}", late.text);
    // A turn of another client after it does not begin it again.
    let turn = json!({"request_id": "t1", "outcome": "failed", "steps": [
        {"type": "llm", "status": "running", "stack_id": "s1"}
    ]});
    assert_eq!(clients.api.post(&format!("{NATIVE}/default/turns"), turn).await.status, 201);
    assert_eq!(clients.status().await["isRunning"], false);
    assert_eq!(clients.start(user("m3", "Again")).await.status, 202);
}

#[tokio::test]
async fn the_status_tells_why_a_turn_with_messages_failed() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let turn = json!({"request_id": "m1", "outcome": "failed",
        "messages": [{"role": "assistant", "content": "Half an"}],
        "steps": [{"type": "llm", "status": "failed", "stack_id": "s1", "error": "the model is away"}]});
    let stored = clients.api.post(&format!("{NATIVE}/default/turns"), turn).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    let ended = clients.status().await;
    assert_eq!(
        (&ended["isRunning"], &ended["completionId"], &ended["error"]),
        (&json!(false), &json!("m1"), &json!("the model is away"))
    );
    assert!(ended["startedAt"].is_string());
}

#[tokio::test]
async fn only_a_completion_that_was_begun_is_finished() {
    let clients = clients();
    clients.api.post(NATIVE, json!({"chat_id": "default", "workflow_name": "chat"})).await;
    let said = json!({"event_id": "e1", "role": "user", "content": "x"});
    clients.api.post(&format!("{NATIVE}/default/messages"), said).await;
    // What other clients say begins no completion.
    assert_eq!(clients.status().await, none());
    for id in ["e1", "never"] {
        let refused = clients.finish(id, json!([assistant("m2", json!([text("x")]))])).await;
        assert_eq!(refused.status, 404, "{}", refused.text);
    }
    clients.start(user("m1", "Hello")).await;
    assert_eq!(clients.status().await["completionId"], "m1");
}

#[tokio::test]
async fn a_cancelled_completion_takes_no_answer() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    ask(&clients, "toolu_1").await;
    let cancelled = clients.chat.poke("/chat/cancel").await;
    let expected = json!({"success": true, "completionId": "m1", "status": "cancelled"});
    assert_eq!((cancelled.status, cancelled.body()), (200, expected), "{}", cancelled.text);
    let again = clients.chat.poke("/chat/cancel").await;
    assert_eq!(error(&again), (409, "no_active_completion".to_owned()));
    let ended = clients.status().await;
    assert_eq!((&ended["isRunning"], &ended["completionId"]), (&json!(false), &json!("m1")));
    let question = clients.chat.get("/chat/question?toolUseID=toolu_1").await.body();
    assert_eq!(question, json!({"status": "expired", "question": null}));
    let late = clients.finish("m1", json!([assistant("m2", json!([text("late")]))])).await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert_eq!(clients.messages().await, json!([user("m1", "Hello")]));
    assert_eq!(clients.start(user("m3", "Again")).await.status, 202);
}

#[tokio::test]
async fn a_cleared_session_is_empty_and_goes_on() {
    let clients = clients();
    let record = json!({"sessionId": "s", "cwd": "/w", "createdAt": "2024-01-15T10:30:00Z"});
    clients.chat.put("/sessions/default", record.clone()).await;
    clients.start(user("m1", "Hello")).await;
    for _ in 0..2 {
        let cleared = clients.chat.delete("/chat").await;
        assert_eq!((cleared.status, cleared.body()), (200, json!({"success": true})));
    }
    assert_eq!(clients.messages().await, json!([]));
    assert_eq!(clients.status().await, none());
    assert_eq!(clients.finish("m1", json!([assistant("m2", json!([]))])).await.status, 404);
    assert_eq!(clients.chat.get("/sessions/default").await.body(), record);
    let many: Vec<_> =
        (0..250).map(|at| json!({"role": "user", "content": at.to_string()})).collect();
    let many = json!({"messages": many});
    assert_eq!(clients.api.post(&format!("{NATIVE}/default/messages"), many).await.status, 201);
    clients.chat.delete("/chat").await;
    assert_eq!(clients.messages().await, json!([]));
    clients.start(user("m3", "Again")).await;
    assert_eq!(clients.messages().await, json!([user("m3", "Again")]));
}

/// Asks a question of a tool call in the default session.
async fn ask(clients: &Clients, id: &str) {
    let question = json!({"question": "Which database?", "header": "Store", "multiSelect": false,
        "options": [{"label": "MongoDB", "description": ""}]});
    let call = json!({"id": id, "name": "AskUserQuestion", "arguments": {"questions": [question]}});
    let request =
        json!({"request_id": format!("q_{id}"), "prompt": "Which database?", "tool_call": call});
    let asked = clients.api.post(&format!("{NATIVE}/default/input-requests"), request).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
}

#[tokio::test]
async fn a_question_is_answered_once() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    ask(&clients, "toolu_1").await;
    ask(&clients, "toolu_2").await;
    let shown = clients.chat.get("/chat/question").await.body();
    assert_eq!(shown["question"]["toolUseID"], "toolu_1");
    assert_eq!(shown["question"]["questions"][0]["options"][0]["label"], "MongoDB");
    let by_id = clients.chat.get("/chat/question?toolUseID=toolu_2").await.body();
    assert_eq!(
        (&by_id["status"], &by_id["question"]["toolUseID"]),
        (&json!("pending"), &json!("toolu_2"))
    );
    let unknown = clients.chat.get("/chat/question?toolUseID=never").await.body();
    assert_eq!(unknown, json!({"status": "expired", "question": null}));

    let answers = json!({"toolUseID": "toolu_1", "answers": {"Which database?": "MongoDB"}});
    for _ in 0..2 {
        let answered = clients.chat.post("/chat/answer", answers.clone()).await;
        assert_eq!((answered.status, answered.body()), (200, json!({"success": true})));
    }
    let answered = clients.chat.get("/chat/question?toolUseID=toolu_1").await.body();
    assert_eq!(answered, json!({"status": "answered", "question": null}));
    for body in [
        json!({"toolUseID": "toolu_1", "answers": {"Which database?": "SQLite"}}),
        json!({"toolUseID": "never", "answers": {}}),
    ] {
        let refused = clients.chat.post("/chat/answer", body).await;
        let expected = "No pending question for this toolUseID";
        assert_eq!(error(&refused), (404, expected.to_owned()));
    }
    for body in [json!({}), json!({"toolUseID": "toolu_2"}), json!({"answers": {}})] {
        let refused = clients.chat.post("/chat/answer", body).await;
        assert_eq!(error(&refused), (400, "toolUseID and answers are required".to_owned()));
    }
    // The answer is a message, and the completion goes on.
    let native = clients.api.get(&format!("{NATIVE}/default/messages")).await.body();
    assert_eq!(native["data"][1]["content"], json!({"Which database?": "MongoDB"}));
    assert_eq!(clients.status().await["isRunning"], true);
}

#[tokio::test]
async fn a_question_without_a_call_is_answered_by_its_own_id() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    for request in [
        json!({"request_id": "q1", "prompt": "Which?", "agent": "Architect", "kind": "choice", "options": ["a", "b"]}),
        json!({"request_id": "q2", "prompt": "Sure?", "kind": "confirm"}),
    ] {
        clients.api.post(&format!("{NATIVE}/default/input-requests"), request).await;
    }
    let shown = clients.chat.get("/chat/question").await.body()["question"].clone();
    let options = json!([{"label": "a", "description": ""}, {"label": "b", "description": ""}]);
    let question = json!({"question": "Which?", "header": "Architect", "options": options, "multiSelect": false});
    assert_eq!(shown, json!({"toolUseID": "q1", "questions": [question]}));
    for (id, answer) in [("q1", "b"), ("q2", "Yes")] {
        let answers = json!({"toolUseID": id, "answers": {"?": answer}});
        let answered = clients.chat.post("/chat/answer", answers).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
    }
    let native = clients.api.get(&format!("{NATIVE}/default/messages")).await.body();
    assert_eq!(
        (&native["data"][1]["content"], &native["data"][2]["content"]),
        (&json!("b"), &json!(true))
    );
}

#[tokio::test]
async fn the_record_of_a_session_is_saved_loaded_and_cleared() {
    let clients = clients();
    let record =
        json!({"sessionId": "sess-123", "cwd": "/workspace", "createdAt": "2024-01-15T10:30:00Z"});
    assert_eq!(
        error(&clients.chat.get("/sessions/s1").await),
        (404, "Session not found".to_owned())
    );
    for _ in 0..2 {
        let saved = clients.chat.put("/sessions/s1", record.clone()).await;
        assert_eq!((saved.status, saved.body()), (200, record.clone()), "{}", saved.text);
    }
    assert_eq!(clients.chat.get("/sessions/s1").await.body(), record);
    for body in [json!({}), json!({"sessionId": ""}), json!({"sessionId": 1})] {
        let refused = clients.chat.put("/sessions/s1", body).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text_of("error").contains("sessionId"), "{}", refused.text);
    }
    // Other metadata of the chat stay.
    let metadata = json!({"metadata": {"customer": 7, "sessionId": "sess-123"}});
    clients.api.patch(&format!("{NATIVE}/s1"), metadata).await;
    let shown = clients.chat.get("/sessions/s1").await.body();
    assert_eq!((&shown["cwd"], shown["createdAt"].is_string()), (&json!(""), true));
    clients.chat.put("/sessions/s1", json!({"sessionId": "sess-124", "other": 1})).await;
    let native = clients.api.get(&format!("{NATIVE}/s1")).await.body();
    assert_eq!(native["metadata"], json!({"customer": 7, "sessionId": "sess-124"}));

    clients.chat.post("/sessions/s1/chat", json!({"messages": [user("m1", "Hello")]})).await;
    for _ in 0..2 {
        assert_eq!(clients.chat.delete("/sessions/s1").await.status, 204);
    }
    assert_eq!(clients.chat.get("/sessions/s1").await.status, 404);
    assert_eq!(clients.chat.get("/sessions/s1/chat").await.body(), json!({"messages": []}));
    assert_eq!(clients.chat.put("/sessions/s1", record.clone()).await.body(), record);
    let native = clients.api.get(&format!("{NATIVE}/s1")).await.body();
    assert_eq!(native["metadata"]["customer"], 7);
    // A chat without a record has none.
    clients.api.post(NATIVE, json!({"chat_id": "s2", "workflow_name": "chat"})).await;
    assert_eq!(clients.chat.get("/sessions/s2").await.status, 404);
}

#[tokio::test]
async fn sessions_are_apart_and_the_default_one_has_a_short_path() {
    let mut config = config();
    config.adapters.discobot.session_id = Some(ChatId::parse("mine").unwrap());
    let clients = clients_over(Arc::new(MemoryStore::default()), config);
    clients.start(user("m1", "Hello")).await;
    clients.chat.post("/sessions/s2/chat", json!({"messages": [user("m1", "Other")]})).await;
    assert_eq!(clients.messages().await, json!([user("m1", "Hello")]));
    let same = clients.chat.get("/sessions/mine/chat?other=1").await.body();
    assert_eq!(same["messages"], json!([user("m1", "Hello")]));
    let other = clients.chat.get("/sessions/s2/chat").await.body();
    assert_eq!(other["messages"], json!([user("m1", "Other")]));
    let native = clients.api.get(&format!("{NATIVE}/mine")).await.body();
    assert_eq!((&native["title"], &native["workflow_name"]), (&json!("Hello"), &json!("chat")));
    for path in [
        "/chatter",
        "/chats",
        "/",
        "/api/chats/acme",
        "/sessions",
        "/discobot/acme/sessions/s2/chat",
    ] {
        assert_eq!(clients.chat.get(path).await.status, 404, "{path}");
    }
    for path in ["/sessions/..%2fx/chat", "/sessions/-x/chat"] {
        assert_eq!(clients.chat.get(path).await.status, 400, "{path}");
    }
}

#[tokio::test]
async fn rights_are_those_of_the_api() {
    let clients = clients_over(memory(), Config { auth: hs256(), ..config() });
    let person =
        |user: &str| clients.chat.with_token(token(&json!({"sub": user, "apps": ["acme"]})));
    let (alice, bob) = (person("alice"), person("bob"));
    let hello = json!({"messages": [user("m1", "Hello")]});
    assert_eq!(alice.post("/chat", hello.clone()).await.status, 202);
    // Bob does not learn that the session exists.
    assert_eq!(bob.get("/chat").await.body(), json!({"messages": []}));
    assert_eq!(bob.get("/chat/status").await.body(), none());
    assert_eq!(bob.get("/sessions/default").await.status, 404);
    assert_eq!(
        bob.patch("/sessions/default/messages/m1", json!({"content": "x"})).await.status,
        204
    );
    assert_eq!(bob.post("/chat", hello).await.status, 409);
    assert_eq!(bob.put("/sessions/default", json!({"sessionId": "s"})).await.status, 409);
    // A person does not speak as an agent.
    let finish = json!({"messages": [assistant("m2", json!([text("Hi")]))]});
    assert_eq!(alice.post("/chat/m1/finish", finish).await.status, 403);
    for refused in [alice.poke("/chat/cancel").await, alice.delete("/chat").await] {
        assert_eq!(refused.status, 403, "{}", refused.text);
    }
    assert_eq!(alice.get("/chat").await.body()["messages"][0], user("m1", "Hello"));
    let unauthorized = clients.chat.get("/chat").await;
    assert_eq!(unauthorized.status, 401);
    assert!(unauthorized.body()["error"].is_string());
}

#[tokio::test]
async fn the_adapter_is_described_and_off_by_default() {
    let clients = clients();
    let described = clients.chat.get("/openapi.json").await.body();
    let path = "/discobot/{app_id}/sessions/{chat_id}/chat";
    let responses = described["paths"][path]["post"]["responses"].as_object().unwrap();
    assert!(["202", "409"].into_iter().all(|status| responses.contains_key(status)));
    assert_eq!(described, clients.api.get("/discobot/openapi.json").await.body());
    let beside = clients.api.get("/discobot/acme/sessions/default/chat").await;
    assert_eq!(beside.body(), json!({"messages": []}));
    // Short paths are those of a listener alone.
    assert_eq!(clients.api.get("/chat").await.status, 404);
    assert_eq!(Client::open().get("/discobot/acme/sessions/default/chat").await.status, 404);
    let metrics = clients.api.get("/metrics").await.text;
    let label = format!("reprise_http_requests_total{{method=\"GET\",route=\"{path}\"");
    assert!(metrics.contains(&label), "{label} is not in {metrics}");
    let missing = clients.chat.get("/chat/other").await;
    assert_eq!((missing.status, missing.header("content-type")), (404, "application/json"));
}

#[tokio::test]
async fn an_id_that_cannot_be_stored_is_refused_and_never_replaced() {
    let clients = clients();
    let long = "x".repeat(129);
    for (id, rule) in [
        (json!(long), "must be 1 to 128 characters"),
        (json!(" m1 "), "must be 1 to 128 characters"),
        (json!(7), "must be a text"),
    ] {
        let mut message = user("m1", "Hello");
        message["id"] = id;
        let sent = json!({"messages": [user("m0", "before"), message]});
        let refused = clients.chat.post("/chat", sent).await;
        let (status, text) = error(&refused);
        assert_eq!(status, 400, "{text}");
        assert!(text.starts_with(&format!("messages/1/id {rule}")), "{text}");
    }
    let body = json!({"messages": [user("m1", "Hello")]});
    let record = json!({"sessionId": "session a"});
    for refused in [
        clients.chat.post("/sessions/session%20a/chat", body).await,
        clients.chat.put("/sessions/session%20a", record.clone()).await,
        clients.chat.get("/sessions/session%20a").await,
    ] {
        let (status, text) = error(&refused);
        assert_eq!(status, 400, "{text}");
        assert!(text.starts_with("chat_id must be 1 to 128 of"), "{text}");
    }
    // The session of the agent may have any id: it is part of the record.
    assert_eq!(clients.chat.put("/sessions/s1", record).await.text_of("sessionId"), "session a");
}

#[tokio::test]
async fn what_ends_a_completion_ends_its_stream() {
    type End = (&'static str, &'static str, Value);
    let answer = json!({"messages": [
        {"id": "m2", "role": "assistant", "parts": [{"type": "text", "text": "Whole"}]}]});
    let ends: [End; 4] = [
        ("POST", "/chat/cancel", json!({})),
        ("POST", "/chat/m1/finish", answer),
        ("DELETE", "/chat", Value::Null),
        ("DELETE", "/sessions/default", Value::Null),
    ];
    for (method, end, body) in ends {
        let clients = clients();
        clients.start(user("m1", "Hello")).await;
        let streams = format!("{NATIVE}/default/streams");
        let new = json!({"stream_id": "m1", "format": "ui_message", "agent": "writer"});
        assert_eq!(clients.api.post(&streams, new).await.status, 201);
        let add = async |from: u64| {
            let chunk = json!({"type": "text-delta", "id": "t", "delta": "Half"});
            let body = json!({"from": from, "chunks": [{"type": "text-start", "id": "t"}, chunk]});
            clients.api.post(&format!("{streams}/m1/chunks"), body).await
        };
        assert_eq!(add(0).await.body()["cancel_requested"], false);
        let ended = match method {
            "DELETE" => clients.chat.delete(end).await,
            _ => clients.chat.post(end, body).await,
        };
        assert!(ended.status < 300, "{end}: {}", ended.text);
        assert_eq!(clients.status().await["isRunning"], false, "{end}");
        assert_eq!(clients.chat.get_as("text/event-stream", "/chat").await.status, 204, "{end}");
        // The agent is told, and stores nothing.
        let told = add(2).await;
        assert_eq!((told.status, &told.body()["cancel_requested"]), (200, &json!(true)), "{end}");
        let path = format!("{streams}/m1/end");
        let finished = clients.api.post(&path, json!({"state": "finished"})).await;
        assert_eq!(finished.status, 409, "{end}: {}", finished.text);
        let cancelled = clients.api.post(&path, json!({"state": "cancelled"})).await;
        assert_eq!((cancelled.status, &cancelled.body()["turn"]), (200, &Value::Null), "{end}");
        assert!(!clients.messages().await.to_string().contains("Half"), "{end}");
    }
}

#[tokio::test]
async fn an_answer_that_is_being_produced_is_streamed() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let streams = format!("{NATIVE}/default/streams");
    let new = json!({"stream_id": "m1", "format": "ui_message", "agent": "writer"});
    assert_eq!(clients.api.post(&streams, new).await.status, 201);
    let path = format!("{streams}/m1");
    let add = async |from: u64, chunks: Value| {
        let body = json!({"from": from, "chunks": chunks});
        assert_eq!(clients.api.post(&format!("{path}/chunks"), body).await.status, 200);
    };
    let begun = json!([
        {"type": "start", "messageId": "m2"}, {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "Hel"}, {"type": "text-delta", "id": "t", "delta": "lo"},
    ]);
    add(0, begun).await;
    // What is not finished is no message yet.
    assert_eq!(clients.messages().await.as_array().unwrap().len(), 1);
    let (answer, ()) = tokio::join!(clients.chat.get_as("text/event-stream", "/chat"), async {
        add(4, json!([{"type": "text-end", "id": "t"}, {"type": "finish"}])).await;
        let ended = clients.api.post(&format!("{path}/end"), json!({"state": "finished"})).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
    });
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let data: Vec<_> = answer.text.lines().filter_map(|it| it.strip_prefix("data: ")).collect();
    let deltas = data.iter().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let text: String = deltas.filter_map(|it| Some(it["delta"].as_str()?.to_owned())).collect();
    assert_eq!((text.as_str(), data.last()), ("Hello", Some(&"[DONE]")), "{}", answer.text);
    // The stream had the id of the completion, so that it has ended, too.
    assert_eq!(clients.status().await["isRunning"], false);
    assert_eq!(clients.messages().await[1]["parts"][0]["text"], "Hello");
    assert_eq!(clients.chat.get_as("text/event-stream", "/chat").await.status, 204);
    let unknown = clients.chat.get_as("text/event-stream", "/sessions/none/chat").await;
    assert_eq!(unknown.status, 204);
}

#[tokio::test]
async fn a_message_of_another_client_ends_no_completion() {
    let clients = clients();
    assert_eq!(clients.start(user("m1", "Hello")).await.status, 202);
    let other = json!({"role": "user", "content": "x", "request_id": "zz"});
    assert_eq!(clients.api.post(&format!("{NATIVE}/default/messages"), other).await.status, 201);
    let status = clients.status().await;
    assert_eq!((&status["isRunning"], &status["completionId"]), (&json!(true), &json!("m1")));
    assert_eq!(clients.start(user("m2", "Again")).await.status, 409);
    assert_eq!(clients.chat.post("/chat/cancel", json!({})).await.status, 200);
    assert_eq!(clients.status().await["isRunning"], false);
    assert_eq!(clients.start(user("m2", "Again")).await.status, 202);
}

#[tokio::test]
async fn the_only_session_of_a_listener_is_of_its_app() {
    let clients = clients();
    let chat = json!({"chat_id": "default", "workflow_name": "W"});
    let taken = clients.api.post("/api/chats/other", chat.clone()).await;
    assert_eq!(taken.problem(), (409, "chat-exists".to_owned()));
    assert_eq!(
        clients.api.put("/api/chats/other/default", json!({"workflow_name": "W"})).await.status,
        409
    );
    let source =
        clients.api.post("/api/chats/other", json!({"chat_id": "c1", "workflow_name": "W"})).await;
    assert_eq!(source.status, 201);
    let fork = clients.api.post("/api/chats/other/c1/fork", json!({"chat_id": "default"})).await;
    assert_eq!(fork.problem(), (409, "chat-exists".to_owned()));
    assert_eq!(clients.start(user("m1", "Hello")).await.status, 202);
}

#[tokio::test]
async fn the_questions_of_a_call_may_be_a_text() {
    let clients = clients();
    assert_eq!(clients.start(user("m1", "Hello")).await.status, 202);
    let questions =
        json!([{"question": "Which?", "header": "H", "options": [], "multiSelect": true}]);
    let arguments = json!({"questions": questions}).to_string();
    let request = json!({"request_id": "q1", "prompt": "Which?",
        "tool_call": {"id": "toolu_1", "name": "AskUserQuestion", "arguments": arguments}});
    let asked = clients.api.post(&format!("{NATIVE}/default/input-requests"), request).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    let shown = clients.chat.get("/chat/question").await.body();
    assert_eq!(shown["question"]["questions"], questions);
}

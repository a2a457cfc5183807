//! The routes of `MozaiksAI`'s front end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures::future::join_all;
use persistence::memory::MemoryStore;
use records::AppId;
use serde_json::{Value, json};
use service::{AdaptersConfig, Config, MozaiksConfig};
use tokio::time::sleep;

use crate::harness::{Answer, Client};
use crate::serve::start_with;
use crate::socket::{JOIN, Received, Socket};
use crate::tokens::{hs256, token};

const START: &str = "/api/chats/acme/Generator/start";
const NATIVE: &str = "/api/chats/acme";

fn config(start_reuse_sec: u32) -> Config {
    let app_id = Some(AppId::parse("acme").unwrap());
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let mozaiks = MozaiksConfig {
        enabled: true,
        app_id,
        listen,
        start_reuse_sec,
        ..MozaiksConfig::default()
    };
    Config { adapters: AdaptersConfig { mozaiks, ..Default::default() }, ..Config::default() }
}

/// A client of the API, and the same one at the listener of the adapter.
struct Clients {
    api: Client,
    front: Client,
}

fn clients_with(config: Config) -> Clients {
    let listener = config.adapter_listeners().remove(0);
    let api = Client::over(Arc::new(MemoryStore::default()), config);
    let app: Router = listener.router(api.app());
    Clients { front: api.at(app), api }
}

fn clients() -> Clients {
    clients_with(config(3_600))
}

impl Clients {
    async fn start(&self, body: Value) -> Value {
        let started = self.front.post(START, body).await;
        assert_eq!(started.status, 200, "{}", started.text);
        started.body()
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.front.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.body()
    }

    async fn create(&self, chat_id: &str, workflow: &str) {
        let body = json!({
            "chat_id": chat_id, "workflow_name": workflow, "user_id": "alice", "visibility": "link",
        });
        let created = self.api.post(NATIVE, body).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }

    async fn say(&self, chat_id: &str, content: &str) {
        let message = json!({"role": "user", "name": "user", "content": content});
        let said = self.api.post(&format!("{NATIVE}/{chat_id}/messages"), message).await;
        assert_eq!(said.status, 201, "{}", said.text);
    }

    async fn ask(&self, chat_id: &str, question: Value) {
        let asked = self.api.post(&format!("{NATIVE}/{chat_id}/input-requests"), question).await;
        assert_eq!(asked.status, 201, "{}", asked.text);
    }

    async fn question(&self, chat_id: &str, request_id: &str) -> Value {
        let path = format!("{NATIVE}/{chat_id}/input-requests/{request_id}");
        self.api.get(&path).await.body()
    }

    async fn chat_ids(&self) -> Vec<String> {
        let listed = self.api.get(NATIVE).await.body();
        let chats = listed["data"].as_array().unwrap().iter();
        chats.map(|chat| chat["chat_id"].as_str().unwrap().to_owned()).collect()
    }
}

fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text_of("detail"))
}

#[tokio::test]
async fn a_workflow_is_started_for_a_user() {
    let clients = clients();
    let body = json!({"user_id": "alice", "client_request_id": "r1", "x": 1});
    let started = clients.start(body).await;
    let chat_id = started["chat_id"].as_str().unwrap();
    assert_eq!(started["success"], true);
    assert_eq!(started["reused"], false);
    assert_eq!(started["workflow_name"], "Generator");
    assert_eq!((&started["app_id"], &started["user_id"]), (&json!("acme"), &json!("alice")));
    assert_eq!(started["websocket_url"], format!("/ws/Generator/acme/{chat_id}/alice"));
    let native = clients.api.get(&format!("{NATIVE}/{chat_id}")).await.body();
    assert_eq!(native["cache_seed"], started["cache_seed"]);
    assert_eq!((&native["user_id"], &native["visibility"]), (&json!("alice"), &json!("link")));
    assert!(started.get("remaining_balance").is_none());
}

#[tokio::test]
async fn a_start_without_a_user_or_a_body_is_refused() {
    let clients = clients();
    let refused = clients.front.post(START, json!({})).await;
    assert_eq!(refusal(&refused), (400, "user_id is required".to_owned()));
    let refused = clients.front.json("POST", START, "{").await;
    assert_eq!((refused.status, refused.text_of("code")), (400, "malformed-json".to_owned()));
    assert_eq!(clients.chat_ids().await, [""; 0]);
}

#[tokio::test]
async fn a_recent_chat_is_reused_and_preferably_that_of_the_same_request() {
    let clients = clients();
    let first = clients.start(json!({"user_id": "alice", "client_request_id": "r1"})).await;
    let again = clients.start(json!({"user_id": "alice", "client_request_id": "r2"})).await;
    assert_eq!((&again["chat_id"], &again["reused"]), (&first["chat_id"], &json!(true)));
    // The newest one is reused: they must not have the same millisecond.
    sleep(Duration::from_millis(5)).await;
    let forced = json!({"user_id": "alice", "client_request_id": "r3", "force_new": "true"});
    let second = clients.start(forced.clone()).await;
    assert_ne!(second["chat_id"], first["chat_id"]);
    assert_eq!(second["reused"], false);
    // A request with an id is safe to repeat, also one that insists on a new chat.
    assert_eq!(clients.start(forced).await["chat_id"], second["chat_id"]);
    let keyed = clients.front.with_key("r3");
    let keyed = keyed.post(START, json!({"user_id": "alice", "force_new": true})).await.body();
    assert_eq!(keyed["chat_id"], second["chat_id"], "a key is the id of the request");
    for (request, expected) in [("r1", &first), ("r3", &second), ("r4", &second)] {
        let body = json!({"user_id": "alice", "client_request_id": request});
        assert_eq!(clients.start(body).await["chat_id"], expected["chat_id"], "{request}");
    }
    let other = clients.start(json!({"user_id": "bob"})).await;
    assert_eq!(other["reused"], false, "the chats of others are not reused");
    assert_eq!(clients.chat_ids().await.len(), 3);
}

#[tokio::test]
async fn a_chat_that_has_ended_or_is_old_is_not_reused() {
    let clients = clients();
    let first = clients.start(json!({"user_id": "alice"})).await;
    let chat_id = first["chat_id"].as_str().unwrap();
    let paused = clients.api.post(&format!("{NATIVE}/{chat_id}/pause"), json!({})).await;
    assert_eq!(paused.status, 200);
    assert_eq!(clients.start(json!({"user_id": "alice"})).await["reused"], true);
    clients.api.poke(&format!("{NATIVE}/{chat_id}/complete")).await;
    let second = clients.start(json!({"user_id": "alice"})).await;
    assert_eq!(second["reused"], false);
    assert_ne!(second["chat_id"], first["chat_id"]);

    let never = clients_with(config(0));
    let ids =
        [never.start(json!({"user_id": "a"})).await, never.start(json!({"user_id": "b"})).await];
    assert_ne!(ids[0]["chat_id"], ids[1]["chat_id"]);
}

/// The original looked for a chat and created one in two steps.
#[tokio::test]
async fn parallel_starts_create_one_chat() {
    let clients = clients();
    let body = |n: usize| json!({"user_id": "alice", "client_request_id": format!("r{n}")});
    let started = join_all((0..16).map(|n| clients.start(body(n)))).await;
    assert!(started.iter().all(|it| it["chat_id"] == started[0]["chat_id"]));
    assert_eq!(started.iter().filter(|it| it["reused"] == false).count(), 1);
    assert_eq!(clients.chat_ids().await.len(), 1);
}

/// Every person that knows the id of such a chat may join it, so it must not follow from what everyone knows.
#[tokio::test]
async fn the_id_of_a_started_chat_cannot_be_computed() {
    let body = json!({"user_id": "alice", "client_request_id": "r1", "force_new": true});
    let (one, other) = (clients(), clients());
    let ids = [one.start(body.clone()).await, other.start(body.clone()).await];
    assert_ne!(ids[0]["chat_id"], ids[1]["chat_id"]);
    assert_eq!(one.start(body).await["chat_id"], ids[0]["chat_id"]);
}

#[tokio::test]
async fn a_start_needs_as_many_tokens_as_it_says() {
    let clients = clients();
    let needing = |tokens: i64| json!({"user_id": "alice", "required_min_tokens": tokens});
    let refused = clients.front.post(START, needing(1)).await;
    assert_eq!(refusal(&refused), (402, "Insufficient tokens".to_owned()));
    assert_eq!(refused.text_of("code"), "insufficient-tokens");
    assert_eq!(clients.chat_ids().await, [""; 0]);
    let wallet = json!({"initial_balance": 100});
    clients.api.post("/api/wallets/acme/alice/ensure", wallet).await;
    assert_eq!(clients.start(needing(100)).await["remaining_balance"], 100);
    assert_eq!(clients.front.post(START, needing(101)).await.status, 402);
    let balance = clients.get("/api/tokens/alice/balance?app_id=acme").await;
    assert_eq!(balance["remaining"], 100);
}

#[tokio::test]
async fn chats_exist_and_have_metadata_or_not() {
    let clients = clients();
    clients.create("c1", "Generator").await;
    clients.say("c1", "Hi").await;
    let artifact = json!({"ui_tool_id": "code_editor", "payload": {"code": "x"}});
    clients.api.put(&format!("{NATIVE}/c1/artifact"), artifact).await;
    let exists = clients.get("/api/chats/exists/acme/Generator/c1").await;
    assert_eq!(exists, json!({"exists": true}));
    let meta = clients.get("/api/chats/meta/acme/Generator/c1").await;
    assert_eq!((&meta["exists"], &meta["chat_id"]), (&json!(true), &json!("c1")));
    assert_eq!((&meta["status"], &meta["last_sequence"]), (&json!(1), &json!(1)));
    assert_eq!(meta["last_artifact"]["payload"], json!({"code": "x"}));
    assert_eq!(meta["has_children"], false);
    for path in ["acme/Generator/c2", "acme/Planner/c1", "other/Generator/c1"] {
        let exists = clients.get(&format!("/api/chats/exists/{path}")).await;
        assert_eq!(exists, json!({"exists": false}), "{path}");
        let meta = clients.get(&format!("/api/chats/meta/{path}")).await;
        assert_eq!(meta, json!({"exists": false}), "{path}");
    }
}

#[tokio::test]
async fn sessions_that_have_not_ended_are_found() {
    let clients = clients();
    let none = clients.get("/api/sessions/recent/acme/alice").await;
    assert_eq!((&none["found"], &none["chat_id"]), (&json!(false), &Value::Null));
    for (chat_id, workflow) in
        [("a", "Generator"), ("b", "Planner"), ("c", "Generator"), ("d", "general")]
    {
        clients.create(chat_id, workflow).await;
    }
    clients.api.poke(&format!("{NATIVE}/c/complete")).await;
    clients.api.post(&format!("{NATIVE}/b/pause"), json!({})).await;
    let artifact = json!({"ui_tool_id": "code_editor", "payload": 1});
    clients.api.put(&format!("{NATIVE}/a/artifact"), artifact).await;
    let list = clients.get("/api/sessions/list/acme/alice").await;
    let mut found: Vec<_> =
        list["sessions"].as_array().unwrap().iter().map(|it| it["chat_id"].clone()).collect();
    found.sort_by_key(ToString::to_string);
    assert_eq!((found, &list["count"]), (vec![json!("a"), json!("b")], &json!(2)));
    let oldest = clients.get("/api/sessions/oldest/acme/alice").await;
    assert_eq!((&oldest["found"], &oldest["chat_id"]), (&json!(true), &json!("a")));
    assert_eq!(oldest["last_artifact"]["ui_tool_id"], "code_editor");
    assert_eq!(oldest["workflow_name"], "Generator");
    let recent = clients.get("/api/sessions/recent/acme/alice").await;
    assert_eq!(recent["found"], true);
    assert!(["a", "b"].contains(&recent["chat_id"].as_str().unwrap()));
    assert_eq!(clients.get("/api/sessions/list/acme/bob").await["count"], 0);
    let listed = clients.get("/api/chats/acme/Generator").await;
    assert_eq!(listed, json!({"chat_ids": ["c", "a"]}));
}

#[tokio::test]
async fn general_chats_are_numbered_and_have_transcripts() {
    let clients = clients();
    for chat_id in ["g1", "g2"] {
        clients.create(chat_id, "general").await;
    }
    for n in 0..4 {
        clients.say("g2", &format!("m{n}")).await;
    }
    clients.api.delete(&format!("{NATIVE}/g2/messages/1")).await;
    let titled = json!({"title": "Ideas"});
    clients.api.patch(&format!("{NATIVE}/g1"), titled).await;
    let list = clients.get("/api/general_chats/list/acme/alice?limit=50").await;
    let shown: Vec<_> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["chat_id"].clone(), it["label"].clone(), it["sequence"].clone()))
        .collect();
    let expected = [
        (json!("g2"), json!("General Chat #2"), json!(2)),
        (json!("g1"), json!("Ideas"), json!(1)),
    ];
    assert_eq!(shown, expected);
    for (limit, count) in [("0", 1), ("-3", 1), ("1", 1), ("900", 2)] {
        let path = format!("/api/general_chats/list/acme/alice?limit={limit}");
        assert_eq!(clients.get(&path).await["count"], count, "{limit}");
    }
    let transcript = async |query: &str| {
        let path = format!("/api/general_chats/transcript/acme/g2?{query}");
        let body = clients.get(&path).await;
        let messages = body["messages"].as_array().unwrap().clone();
        let contents: Vec<_> = messages.iter().map(|it| it["content"].clone()).collect();
        (body, contents)
    };
    let (body, contents) = transcript("").await;
    assert_eq!(contents, ["m0", "m2", "m3"]);
    assert_eq!((&body["label"], &body["last_sequence"]), (&json!("General Chat #2"), &json!(4)));
    assert_eq!((&body["app_id"], &body["user_id"]), (&json!("acme"), &json!("alice")));
    let first = &body["messages"][0];
    assert_eq!((&first["agent_name"], &first["sequence"]), (&json!("user"), &json!(0)));
    assert_eq!(transcript("after_sequence=2").await.1, ["m3"]);
    assert_eq!(transcript("after_sequence=9").await.1, [""; 0]);
    assert_eq!(transcript("limit=2").await.1, ["m2", "m3"], "the newest");
    clients.create("c1", "Generator").await;
    for chat_id in ["c1", "unknown"] {
        let missing =
            clients.front.get(&format!("/api/general_chats/transcript/acme/{chat_id}")).await;
        assert_eq!(refusal(&missing), (404, "Chat not found".to_owned()));
    }
}

#[tokio::test]
async fn a_ui_tool_answers_the_question_it_shows() {
    let clients = clients();
    clients.create("c1", "Generator").await;
    let tool_call = json!({"id": "call_1", "name": "deploy", "arguments": {"to": "prod"}});
    let question = json!({"request_id": "q1", "prompt": "Go?", "tool_call": tool_call});
    clients.ask("c1", question).await;
    let data = json!({"status": "success", "data": {"ui_tool_id": "deploy"}});
    let submit = json!({"event_id": "q1", "response_data": data, "x": 1});
    for _ in 0..2 {
        let answered = clients.front.post("/api/ui-tool/submit", submit.clone()).await;
        assert_eq!(answered.status, 200, "{}", answered.text);
        assert_eq!(answered.text_of("status"), "success");
    }
    let asked = clients.question("c1", "q1").await;
    assert_eq!(asked["state"], "answered");
    assert_eq!(asked["answer"]["content"], data);
    let messages = clients.api.get(&format!("{NATIVE}/c1/messages")).await.body();
    assert_eq!(messages["last_sequence"], 1, "a repeat is stored once");
    let late = json!({"event_id": "q1", "response_data": {"status": "cancelled"}});
    let refused = clients.front.post("/api/ui-tool/submit", late).await;
    assert_eq!((refused.status, refused.text_of("code")), (404, "input-closed".to_owned()));
    let unknown = json!({"event_id": "q2", "response_data": 1});
    assert_eq!(clients.front.post("/api/ui-tool/submit", unknown).await.status, 404);
    let empty = json!({"event_id": "q1"});
    let refused = clients.front.post("/api/ui-tool/submit", empty).await;
    assert_eq!(refusal(&refused), (400, "response_data is required".to_owned()));
}

#[tokio::test]
async fn a_component_action_answers_the_question_of_its_component() {
    let clients = clients();
    clients.create("c1", "Generator").await;
    for (request_id, component) in [("q1", "other"), ("q2", "workflow_selector")] {
        let metadata = json!({"component_id": component});
        clients
            .ask("c1", json!({"request_id": request_id, "prompt": "?", "metadata": metadata}))
            .await;
    }
    let path = "/chat/acme/c1/component_action";
    let action = json!({
        "component_id": "workflow_selector", "action_type": "select", "action_data": {"n": 1},
    });
    let applied = clients.front.post(path, action.clone()).await;
    assert_eq!(applied.status, 200, "{}", applied.text);
    assert_eq!(
        (applied.text_of("status"), &applied.body()["applied"]),
        ("success".to_owned(), &json!({"n": 1}))
    );
    let asked = clients.question("c1", "q2").await;
    assert_eq!(asked["answer"]["content"], action);
    assert_eq!(clients.question("c1", "q1").await["state"], "pending");
    let refused = clients.front.post(path, action).await;
    assert_eq!((refused.status, refused.text_of("code")), (404, "input-not-found".to_owned()));
    for missing in [json!({"component_id": "", "action_type": "x"}), json!({"component_id": "x"})] {
        assert_eq!(clients.front.post(path, missing).await.status, 400);
    }
}

#[tokio::test]
async fn what_a_user_says_answers_the_pending_question_or_is_a_message() {
    let clients = clients();
    clients.create("c1", "Generator").await;
    let path = "/chat/acme/c1/alice/input";
    let body = json!({"message": "Hello", "workflow_name": "Generator", "app_id": "acme"});
    let said = clients.front.post(path, body).await;
    assert_eq!((said.status, &said.body()["sequence"]), (200, &json!(0)), "{}", said.text);
    clients.ask("c1", json!({"request_id": "q1", "prompt": "Name?"})).await;
    let submit = json!({"input_request_id": "q1", "user_input": "Todo", "x": 1});
    let answered = clients.front.post("/api/user-input/submit", submit).await;
    assert_eq!((answered.status, answered.text_of("status")), (200, "success".to_owned()));
    assert_eq!(clients.question("c1", "q1").await["answer"]["content"], "Todo");
    let empty = clients.front.post(path, json!({"message": " "})).await;
    assert_eq!(empty.status, 400);
    let gone = clients.front.post("/chat/acme/c9/alice/input", json!({"message": "x"})).await;
    assert_eq!(refusal(&gone), (404, "Chat not found".to_owned()));
}

#[tokio::test]
async fn a_person_acts_only_as_themselves() {
    let config = Config { auth: hs256(), ..config(3_600) };
    let clients = clients_with(config);
    let alice = token(&json!({"sub": "alice", "apps": ["acme"]}));
    let front = clients.front.with_token(alice.clone());
    let started = front.post(START, json!({})).await;
    assert_eq!((started.status, started.text_of("user_id")), (200, "alice".to_owned()));
    for (method, path, body) in [
        ("POST", START, json!({"user_id": "bob"})),
        ("GET", "/api/sessions/list/acme/bob", Value::Null),
        ("GET", "/api/sessions/recent/acme/bob", Value::Null),
        ("GET", "/api/sessions/oldest/acme/bob", Value::Null),
        ("GET", "/api/general_chats/list/acme/bob", Value::Null),
    ] {
        let refused = match method {
            "POST" => front.post(path, body).await,
            _ => front.get(path).await,
        };
        assert_eq!(
            (refused.status, refused.text_of("code")),
            (403, "forbidden-owner".to_owned()),
            "{path}"
        );
    }
    let other = front.post("/api/chats/other/Generator/start", json!({})).await;
    assert_eq!((other.status, other.text_of("code")), (403, "forbidden-app".to_owned()));
    assert_eq!(clients.front.get("/api/sessions/list/acme/alice").await.status, 401);
    assert_eq!(front.get("/api/sessions/list/acme/alice").await.body()["count"], 1);
}

#[tokio::test]
async fn the_listener_serves_its_own_paths_and_describes_them() {
    let clients = clients();
    let described = clients.front.get("/openapi.json").await.body();
    assert_eq!(described, clients.api.get("/mozaiks/openapi.json").await.body());
    let paths: Vec<_> = described["paths"].as_object().unwrap().keys().collect();
    assert!(paths.iter().all(|path| path.starts_with("/mozaiks/")), "{paths:?}");
    for path in ["/api/chats/acme", "/metrics", "/dashboard"] {
        let missing = clients.front.get(path).await;
        assert_eq!(
            (missing.status, missing.text_of("code")),
            (404, "no-such-route".to_owned()),
            "{path}"
        );
    }
    // The chat that is called like a part of a path is still one of the API.
    clients.create("start", "Generator").await;
    assert_eq!(clients.api.get(&format!("{NATIVE}/start")).await.status, 200);
}

/// A chat with two messages at a server, and the path of its socket there.
async fn socket_server() -> (crate::serve::Server, Client) {
    let store = Arc::new(MemoryStore::default());
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config(15));
    let path = client.create_chat("c1").await;
    for n in 0..2 {
        let message = json!({"role": "assistant", "name": "planner", "content": n});
        client.post(&format!("{path}/messages"), message).await;
    }
    (start_with(store, config(15)).await, client)
}

#[tokio::test]
async fn frames_have_the_envelope_and_the_seq_that_the_front_end_reads() {
    let adapted = format!("/mozaiks{JOIN}");
    let offered = ("sec-websocket-protocol", "mozaiks.v1");
    for (path, headers) in [(adapted.as_str(), &[][..]), (JOIN, &[offered])] {
        let (server, client) = socket_server().await;
        let mut socket = Socket::try_open(&server, path, headers).await.unwrap();
        let agreed = socket.answer.get("sec-websocket-protocol").is_some();
        assert_eq!(agreed, !headers.is_empty());
        let frames = socket.until("chat.resume_boundary").await;
        let kinds: Vec<_> = frames.iter().map(|frame| frame["type"].clone()).collect();
        assert_eq!(kinds, ["chat_meta", "chat.text", "chat.text", "chat.resume_boundary"]);
        for frame in &frames {
            let mut fields: Vec<_> =
                frame.as_object().unwrap().keys().map(String::as_str).collect();
            fields.retain(|field| *field != "seq");
            assert_eq!(fields, ["type", "timestamp", "data"]);
        }
        let seqs: Vec<_> = frames.iter().map(|frame| frame["seq"].clone()).collect();
        assert_eq!(seqs, [Value::Null, json!(0), json!(1), Value::Null]);
        let data = &frames[2]["data"];
        assert_eq!((&data["agent"], &data["content"]), (&json!("planner"), &json!(1)));
        assert_eq!((&data["index"], &data["replay"]), (&json!(1), &json!(true)));
        // With the seq of the last frame that it has, the front end misses no message and gets none twice.
        let resume = json!({"type": "client.resume", "chat_id": "c1", "lastClientIndex": 0});
        socket.send(resume).await;
        let again = socket.until("chat.resume_boundary").await;
        assert_eq!(again.iter().filter_map(|it| it["seq"].as_u64()).collect::<Vec<_>>(), [1]);
        // Fields and types that the original ignores.
        socket.send(json!({"type": "chat.switch_workflow", "chat_id": "c1"})).await;
        let input = json!({
            "type": "user.input.submit", "chat_id": "c1", "text": "Hi", "context": {"source": "x"},
        });
        socket.send(input).await;
        let frames = socket.until("chat.input_ack").await;
        assert_eq!(frames.last().unwrap()["data"]["status"], "accepted");
        socket.send(json!({"type": "ui_tool_response", "event_id": "q"})).await;
        let refused = socket.until("chat.error").await;
        let message = refused.last().unwrap()["data"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("/api/ui-tool/submit"), "{message}");
        // An edit of an old message is no gap.
        let edit = json!({"content": "changed"});
        client.patch("/api/chats/acme_corp/c1/messages/0", edit).await;
        let edited = socket.until("chat.message_updated").await;
        assert_eq!(edited.last().unwrap().get("seq"), None);
        // Without the subprotocol the frames of the API stay flat.
        let mut flat = Socket::open(&server, JOIN).await;
        assert_eq!(flat.next().await["chat_id"], "c1");
    }
}

#[tokio::test]
async fn a_token_in_the_address_of_a_socket_is_refused() {
    let (server, _) = socket_server().await;
    let path = "/mozaiks/ws/Generator/acme_corp/c1/alice?access_token=secret";
    assert_eq!(Socket::try_open(&server, path, &[]).await.err(), Some(400));
    let mut socket =
        Socket::open(&server, "/mozaiks/ws/Generator/acme_corp/c1/alice?theme=dark").await;
    assert!(matches!(socket.receive().await, Received::Frame(_)));
}

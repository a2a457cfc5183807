//! Chats in the shapes of the JSONL session store.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use persistence::memory::MemoryStore;
use records::{AppId, Clock as _, EventId, SystemClock};
use serde_json::{Value, json};
use service::{AdaptersConfig, ChatsgConfig, Config};

use crate::harness::{Answer, Client, SetClock, memory, memory_with};
use crate::tokens::{hs256, token};

const CHATS: &str = "/api/chats";
const NATIVE: &str = "/api/chats/acme";

fn config() -> Config {
    let app_id = Some(AppId::parse("acme").unwrap());
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let chatsg = ChatsgConfig { enabled: true, app_id, listen, ..ChatsgConfig::default() };
    Config { adapters: AdaptersConfig { chatsg, ..Default::default() }, ..Config::default() }
}

/// A client of the API, and the same one at the listener of the adapter.
struct Clients {
    api: Client,
    chats: Client,
}

fn clients_over(store: Arc<MemoryStore>, config: Config) -> Clients {
    let listener = config.adapter_listeners().remove(0);
    let api = Client::over(store, config);
    let app: Router = listener.router(api.app());
    Clients { chats: api.at(app), api }
}

fn clients() -> Clients {
    clients_over(Arc::new(MemoryStore::default()), config())
}

impl Clients {
    /// Creates a session, and returns its path.
    async fn session(&self, id: &str) -> String {
        let created = self.chats.post(CHATS, json!({"sessionId": id, "title": id})).await;
        assert_eq!(created.status, 200, "{}", created.text);
        format!("{CHATS}/{id}")
    }

    async fn say(&self, path: &str, messages: Value) {
        let saved =
            self.chats.post(&format!("{path}/messages"), json!({"messages": messages})).await;
        let body = saved.body();
        assert_eq!((saved.status, &body["success"]), (200, &json!(true)), "{}", saved.text);
    }

    async fn ids(&self, query: &str) -> Vec<String> {
        let listed = self.chats.get(&format!("{CHATS}?{query}")).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        texts(&listed.body()["chats"], "id")
    }

    async fn contents(&self, path: &str, query: &str) -> Vec<String> {
        let listed = self.chats.get(&format!("{path}?{query}")).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        texts(&listed.body()["messages"], "content")
    }
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().unwrap_or_else(|| panic!("{list}"));
    items.iter().map(|item| item[field].as_str().unwrap_or("null").to_owned()).collect()
}

/// Returns the status and the error.
fn error(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text_of("error"))
}

fn not_found() -> (u16, String) {
    (404, "Session not found".to_owned())
}

fn invalid() -> (u16, String) {
    (400, "Invalid request".to_owned())
}

fn said(kind: &str, content: &str) -> Value {
    json!({"type": kind, "content": content})
}

#[tokio::test]
async fn a_session_is_created_once_and_an_existing_one_is_returned_as_it_is() {
    let clients = clients();
    let new =
        json!({"sessionId": "s1", "title": "AI", "userId": "u1", "metadata": {"a": 1}, "x": 1});
    let created = clients.chats.post(CHATS, new).await;
    let session = created.body()["session"].clone();
    assert_eq!((created.status, created.text_of("sessionId")), (200, "s1".to_owned()));
    assert_eq!(created.body()["success"], true);
    assert_eq!(
        (&session["id"], &session["title"], &session["status"], &session["messageCount"]),
        (&json!("s1"), &json!("AI"), &json!("active"), &json!(0))
    );
    let native = clients.api.get(&format!("{NATIVE}/s1")).await.body();
    assert_eq!((&native["user_id"], &native["metadata"]), (&json!("u1"), &json!({"a": 1})));

    clients.say("/api/chats/s1", json!([said("user", "Hello")])).await;
    let again =
        clients.chats.post(CHATS, json!({"sessionId": "s1", "title": "Other"})).await.body();
    let session = &again["session"];
    assert_eq!((&session["title"], &session["messageCount"]), (&json!("AI"), &json!(1)));
    assert_eq!(clients.contents("/api/chats/s1/messages", "").await, ["Hello"]);

    let minted = clients.chats.post(CHATS, json!({})).await.body();
    assert_eq!(minted["session"]["title"], "New Chat");
    assert_eq!(minted["session"]["id"], minted["sessionId"]);
    assert_eq!(clients.chats.poke(CHATS).await.status, 200);
}

#[tokio::test]
async fn an_id_that_could_climb_directories_is_refused() {
    let clients = clients();
    for id in ["../../etc/passwd", "a/b", ".."] {
        let refused = clients.chats.post(CHATS, json!({"sessionId": id})).await;
        assert_eq!(error(&refused), invalid(), "{id}");
        assert!(refused.text_of("details").contains("sessionId"), "{}", refused.text);
        let refused =
            clients.chats.post("/api/chat", json!({"sessionId": id, "message": "x"})).await;
        assert_eq!(error(&refused), invalid(), "{id}");
    }
    for path in ["/api/chats/..%2f..%2fetc/messages", "/api/chats/%2e%2e/messages"] {
        assert!([400, 404].contains(&clients.chats.get(path).await.status), "{path}");
    }
    assert_eq!(clients.ids("").await, [""; 0]);
}

#[tokio::test]
async fn sessions_are_listed_by_status_the_last_active_first() {
    let clock = Arc::new(SetClock::default());
    let now = SystemClock.now().timestamp() - 1_759_399_200;
    let clients = clients_over(memory_with(&clock), config());
    for (at, id) in [(3_600, "old"), (3_000, "older"), (120, "new"), (60, "gone"), (30, "kept")] {
        clock.set(now - at);
        clients.session(id).await;
    }
    clock.set(now);
    let message = json!({"type": "assistant", "content": "x", "metadata": {"agent": "Analyst"}});
    clients.say("/api/chats/new", json!([message])).await;
    clients.chats.delete("/api/chats/gone").await;
    clients.chats.patch("/api/chats/kept", json!({"status": "archived"})).await;

    let listed = clients.chats.get(CHATS).await.body();
    assert_eq!(
        (texts(&listed["chats"], "id"), &listed["totalChats"]),
        (strings(&["new", "older", "old"]), &json!(3))
    );
    let first = &listed["chats"][0];
    assert_eq!((&first["status"], &first["messageCount"]), (&json!("active"), &json!(1)));
    assert_eq!((&first["agentType"], &first["title"]), (&json!("Analyst"), &json!("new")));
    assert!(
        first["createdAt"].is_string()
            && first["lastMessageAt"].as_str() > first["createdAt"].as_str()
    );
    assert_eq!(listed["chats"][1]["status"], "inactive");
    assert_eq!(listed["chats"][1]["agentType"], Value::Null);
    for (query, expected) in [
        ("status=active", &["new"][..]),
        ("status=inactive", &["older", "old"]),
        ("status=archived", &["kept"]),
        ("status=deleted", &["gone"]),
        ("status=active,archived", &["kept", "new"]),
        ("status=inactive,deleted", &["gone", "older", "old"]),
        ("status=active,inactive,archived,deleted", &["kept", "new", "gone", "older", "old"]),
        ("limit=1", &["new"]),
        ("limit=2&offset=1", &["older", "old"]),
        ("offset=3", &[]),
        ("other=1", &["new", "older", "old"]),
    ] {
        let mut expected = strings(expected);
        let mut found = clients.ids(query).await;
        if query.contains("active,archived") || query.contains("archived,deleted") {
            // Their order is that of the last activity, in seconds.
            expected.sort();
            found.sort();
        }
        assert_eq!(found, expected, "{query}");
    }
    let part = clients.chats.get(&format!("{CHATS}?limit=1")).await.body();
    assert_eq!(part["totalChats"], 3);
    for query in ["status=open", "limit=0", "limit=1001", "offset=-1"] {
        let refused = clients.chats.get(&format!("{CHATS}?{query}")).await;
        assert_eq!(error(&refused), invalid(), "{query}");
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn messages_are_returned_from_the_oldest_with_a_query() {
    let clients = clients();
    let path = clients.session("s1").await;
    let many: Vec<_> = (0..120).map(|number| said("user", &format!("m{number}"))).collect();
    clients.say(&path, json!(many)).await;
    let messages = format!("{path}/messages");
    let first = clients.chats.get(&messages).await.body();
    assert_eq!((&first["sessionId"], &first["totalMessages"]), (&json!("s1"), &json!(120)));
    assert_eq!(
        (first["messages"].as_array().unwrap().len(), &first["hasMore"]),
        (50, &json!(true))
    );
    for (query, from, to, has_more) in [
        ("limit=2", 0, 2, true),
        ("limit=10&offset=100", 100, 110, true),
        ("limit=20&offset=100", 100, 120, false),
        ("limit=1000", 0, 120, false),
        ("offset=119&other=1", 119, 120, false),
        ("offset=500", 120, 120, false),
    ] {
        let page = clients.chats.get(&format!("{messages}?{query}")).await.body();
        let expected: Vec<_> = (from..to).map(|number| format!("m{number}")).collect();
        assert_eq!(texts(&page["messages"], "content"), expected, "{query}");
        assert_eq!((&page["hasMore"], &page["totalMessages"]), (&json!(has_more), &json!(120)));
        let ids = page["messages"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap());
        assert!(ids.eq(from..to), "{query}");
    }
    clients.api.delete(&format!("{NATIVE}/s1/messages/1")).await;
    let page = clients.chats.get(&format!("{messages}?limit=3")).await.body();
    assert_eq!(texts(&page["messages"], "content"), ["m0", "m2"]);
    assert_eq!((&page["messages"][1]["id"], &page["totalMessages"]), (&json!(2), &json!(120)));
    for query in ["limit=0", "limit=1001", "limit=x", "offset=-1"] {
        assert_eq!(error(&clients.chats.get(&format!("{messages}?{query}")).await), invalid());
    }
    let unknown = clients.chats.get("/api/chats/nope/messages?limit=1").await;
    assert_eq!((error(&unknown), unknown.text_of("sessionId")), (not_found(), "nope".to_owned()));
}

#[tokio::test]
async fn messages_of_any_size_are_returned_in_one_answer() {
    let clients = clients();
    let path = clients.session("s1").await;
    let large = "x".repeat(1_500_000);
    for _ in 0..4 {
        clients.say(&path, json!([said("user", &large), said("user", &large)])).await;
    }
    let page = clients.chats.get(&format!("{path}/messages?limit=7")).await.body();
    assert_eq!((page["messages"].as_array().unwrap().len(), &page["hasMore"]), (7, &json!(true)));
}

#[tokio::test]
async fn a_message_comes_back_in_the_format_of_the_document() {
    let clients = clients();
    let path = clients.session("s1").await;
    let metadata = json!({"agent": "AnalyticalAgent", "confidence": 0.95, "processingTime": 150, "toolsUsed": []});
    let of_user = json!({"userId": "u1", "sessionId": "s1"});
    let messages = json!([
        {"timestamp": "2025-06-26T10:00:00Z", "type": "user", "content": "Hello", "metadata": of_user},
        {"timestamp": "2025-06-26T10:00:01Z", "type": "assistant", "content": "Hi there!", "metadata": metadata},
        {"type": "system", "content": "Be brief."},
        {"content": "again"},
    ]);
    clients.say(&path, messages).await;
    let shown = clients.chats.get(&format!("{path}/messages")).await.body()["messages"].clone();
    assert_eq!(
        shown[0],
        json!({"id": 0, "content": "Hello", "type": "user", "timestamp": "2025-06-26T10:00:00Z",
            "sender": "user", "metadata": {"userId": "u1"}})
    );
    assert_eq!(
        shown[1],
        json!({"id": 1, "content": "Hi there!", "type": "assistant", "timestamp": "2025-06-26T10:00:01Z",
            "agent": "AnalyticalAgent", "sender": "bot", "metadata": metadata})
    );
    assert_eq!((&shown[2]["type"], &shown[2]["sender"]), (&json!("system"), &json!("bot")));
    assert_eq!((&shown[3]["type"], shown[3]["timestamp"].is_string()), (&json!("user"), true));
    let native = clients.api.get(&format!("{NATIVE}/s1/messages")).await.body();
    assert_eq!(native["data"][0]["author"]["user_id"], "u1");
    assert_eq!(native["data"][1]["name"], "AnalyticalAgent");
}

#[tokio::test]
async fn each_message_that_cannot_be_saved_is_named_and_the_others_are_saved() {
    let clients = clients();
    let path = clients.session("s1").await;
    let messages = json!([
        said("user", "one"),
        {"type": "user"},
        {"type": "", "content": "x"},
        "text",
        {"content": "x", "metadata": 1},
        {"content": "x", "timestamp": 3},
        {"content": null},
        said("user", "two"),
    ]);
    let saved =
        clients.chats.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    let body = saved.body();
    assert_eq!((saved.status, &body["success"]), (200, &json!(false)), "{}", saved.text);
    assert_eq!((&body["savedMessages"], &body["totalMessages"]), (&json!(2), &json!(8)));
    let errors = body["errors"].as_array().unwrap();
    let indices: Vec<_> = errors.iter().map(|error| error["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [1, 2, 3, 4, 5, 6]);
    for (error, word) in
        errors.iter().zip(["content", "type", "object", "metadata", "timestamp", "content"])
    {
        assert!(error["error"].as_str().unwrap().contains(word), "{error}");
    }
    assert_eq!(clients.contents(&format!("{path}/messages"), "").await, ["one", "two"]);
}

#[tokio::test]
async fn a_retry_with_ids_stores_nothing_twice_and_another_body_is_named() {
    let clients = clients();
    let path = clients.session("s1").await;
    let messages = format!("{path}/messages");
    let with_id = |id: Value, content: &str| json!({"id": id, "content": content});
    let batch = json!([with_id(json!("m1"), "one"), with_id(json!("m2"), "two")]);
    clients.say(&path, batch.clone()).await;
    clients.say(&path, batch).await;
    assert_eq!(clients.contents(&messages, "").await, ["one", "two"]);

    let mixed = json!([
        with_id(json!("m2"), "other"),
        with_id(json!("m3"), "three"),
        with_id(json!("m1"), "one")
    ]);
    let saved = clients.chats.post(&messages, json!({"messages": mixed})).await.body();
    assert_eq!((&saved["savedMessages"], &saved["errors"][0]["index"]), (&json!(2), &json!(0)));
    assert!(saved["errors"][0]["error"].as_str().unwrap().contains("m2"), "{saved}");
    assert_eq!(clients.contents(&messages, "").await, ["one", "two", "three"]);

    // Numbers are positions in a page of a client.
    for _ in 0..2 {
        clients.say(&path, json!([with_id(json!(1), "four")])).await;
    }
    assert_eq!(clients.contents(&messages, "").await.len(), 5);
    let keyed = clients.chats.with_key("k1");
    let batch = json!({"messages": [said("user", "five"), said("user", "six")]});
    for _ in 0..2 {
        assert_eq!(keyed.post(&messages, batch.clone()).await.body()["savedMessages"], 2);
    }
    assert_eq!(clients.contents(&messages, "").await.len(), 7);
}

#[tokio::test]
async fn messages_need_a_list_and_a_session() {
    let clients = clients();
    let path = clients.session("s1").await;
    let messages = format!("{path}/messages");
    for body in [json!({}), json!({"messages": "x"}), json!({"messages": null})] {
        let refused = clients.chats.post(&messages, body).await;
        assert_eq!(error(&refused), invalid());
        assert!(refused.text_of("details").contains("messages"), "{}", refused.text);
    }
    for list in [json!([]), json!([said("user", "x")]), json!([{}])] {
        let unknown =
            clients.chats.post("/api/chats/nope/messages", json!({"messages": list})).await;
        assert_eq!(
            (error(&unknown), unknown.text_of("sessionId")),
            (not_found(), "nope".to_owned())
        );
    }
    let none = clients.chats.post(&messages, json!({"messages": []})).await.body();
    assert_eq!((&none["success"], &none["savedMessages"]), (&json!(true), &json!(0)));
    let too_many = json!({"messages": vec![said("user", "x"); 1_001]});
    assert!([400, 413].contains(&clients.chats.post(&messages, too_many).await.status));
}

#[tokio::test]
async fn a_deleted_session_is_kept_and_can_be_undeleted() {
    let clients = clients();
    let path = clients.session("s1").await;
    clients.say(&path, json!([said("user", "Hello")])).await;
    for id in ["s1", "s1", "never"] {
        let deleted = clients.chats.delete(&format!("{CHATS}/{id}")).await;
        assert_eq!((deleted.status, deleted.body()), (200, json!({"success": true, "chatId": id})));
    }
    assert_eq!(clients.ids("").await, [""; 0]);
    assert_eq!(error(&clients.chats.get(&format!("{path}/messages")).await), not_found());
    assert_eq!(error(&clients.chats.patch(&path, json!({"title": "x"})).await), not_found());
    let late = json!({"messages": [said("user", "late")]});
    assert_eq!(error(&clients.chats.post(&format!("{path}/messages"), late).await), not_found());
    assert_eq!(clients.chats.post(CHATS, json!({"sessionId": "s1"})).await.status, 409);
    let late = clients.chats.post("/api/chat", json!({"sessionId": "s1", "message": "late"})).await;
    assert_eq!(late.status, 409);

    for _ in 0..2 {
        let restored = clients.chats.poke(&format!("{path}/undelete")).await;
        assert_eq!(
            (restored.status, &restored.body()["session"]["status"]),
            (200, &json!("active"))
        );
    }
    assert_eq!(clients.contents(&format!("{path}/messages"), "").await, ["Hello"]);
    assert_eq!(error(&clients.chats.poke("/api/chats/never/undelete").await), not_found());
}

#[tokio::test]
async fn titles_and_statuses_are_changed() {
    let clients = clients();
    let path = clients.session("s1").await;
    let changed =
        clients.chats.patch(&path, json!({"title": " New ", "status": "archived", "x": 1})).await;
    let session = changed.body()["session"].clone();
    assert_eq!((&session["title"], &session["status"]), (&json!("New"), &json!("archived")));
    assert_eq!(clients.ids("").await, [""; 0]);
    // A new message continues the session.
    clients.say(&path, json!([said("user", "Hello")])).await;
    assert_eq!(clients.ids("status=active").await, ["s1"]);
    for refused in
        [json!({}), json!({"title": " "}), json!({"status": "inactive"}), json!({"status": "x"})]
    {
        assert_eq!(error(&clients.chats.patch(&path, refused).await), invalid());
    }
    let deleted = clients.chats.patch(&path, json!({"status": "deleted"})).await.body();
    assert_eq!(deleted["session"]["status"], "deleted");
    assert_eq!(error(&clients.chats.get(&format!("{path}/messages")).await), not_found());
}

#[tokio::test]
async fn both_sides_of_a_chat_are_recorded_and_the_session_is_made_on_the_fly() {
    let clients = clients();
    let message = "What is the difference between a tail and a segment, please?";
    let reply = json!({"content": "Age.", "agent": "AnalyticalAgent", "confidence": 0.9, "processingTime": 150, "toolsUsed": ["search"]});
    let request = json!({"sessionId": "s1", "requestId": "r1", "userId": "u1", "message": message, "reply": reply, "x": 1});
    for _ in 0..2 {
        let recorded = clients.chats.post("/api/chat", request.clone()).await;
        assert_eq!(
            (recorded.status, recorded.body()),
            (200, json!({"success": true, "sessionId": "s1", "messageCount": 2})),
        );
    }
    let listed = clients.chats.get(CHATS).await.body();
    let title: String = message.chars().take(50).chain(['…']).collect();
    assert_eq!((&listed["chats"][0]["title"], &listed["totalChats"]), (&json!(title), &json!(1)));
    assert_eq!(listed["chats"][0]["agentType"], "AnalyticalAgent");
    let shown = clients.chats.get("/api/chats/s1/messages").await.body()["messages"].clone();
    assert_eq!((&shown[0]["content"], &shown[0]["type"]), (&json!(message), &json!("user")));
    assert_eq!(
        (&shown[1]["content"], &shown[1]["agent"]),
        (&json!("Age."), &json!("AnalyticalAgent"))
    );
    let metadata = json!({"agent": "AnalyticalAgent", "confidence": 0.9, "processingTime": 150, "toolsUsed": ["search"]});
    assert_eq!(shown[1]["metadata"], metadata);

    let alone =
        clients.chats.post("/api/chat", json!({"sessionId": "s1", "message": "Thanks"})).await;
    assert_eq!(alone.body()["messageCount"], 3);
    let minted = clients.chats.post("/api/chat", json!({"message": "Hi"})).await.body();
    assert_ne!(minted["sessionId"], "s1");
    let keyed = clients.chats.with_key("k1");
    for _ in 0..2 {
        let said =
            keyed.post("/api/chat", json!({"sessionId": "s1", "message": "Bye"})).await.body();
        assert_eq!(said["messageCount"], 4);
    }
    assert_eq!(clients.contents("/api/chats/s1/messages", "offset=2").await, ["Thanks", "Bye"]);
}

#[tokio::test]
async fn a_refused_exchange_stores_nothing() {
    let clients = clients();
    let path = clients.session("s1").await;
    let other =
        json!({"sessionId": "s1", "requestId": "r1", "message": "Hi", "reply": {"content": "a"}});
    clients.chats.post("/api/chat", other).await;
    for (body, status, word) in [
        (json!({"sessionId": "s2"}), 400, "message"),
        (json!({"sessionId": "s2", "message": " "}), 400, "message"),
        (json!({"sessionId": "s2", "message": 1}), 400, "message"),
        (json!({"sessionId": "s2", "message": "x", "reply": {}}), 400, "content"),
        (
            json!({"sessionId": "s2", "message": "x", "requestId": "é".repeat(128)}),
            400,
            "requestId",
        ),
        (
            json!({"sessionId": "s1", "requestId": "r1", "message": "Hi", "reply": {"content": "b"}}),
            409,
            "requestId",
        ),
        (
            json!({"sessionId": "s1", "message": "x", "reply": {"content": "b", "agent": "\u{7}"}}),
            400,
            "reply",
        ),
    ] {
        let refused = clients.chats.post("/api/chat", body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        assert!(refused.text_of("details").contains(word), "{}", refused.text);
    }
    assert_eq!(clients.contents(&format!("{path}/messages"), "").await, ["Hi", "a"]);
    assert_eq!(clients.ids("").await, ["s1"]);
}

/// Returns the contents of a context, and what else it says.
async fn context(clients: &Clients, query: &str) -> (Vec<String>, Value) {
    let answer = clients.chats.get(&format!("/api/chats/s1/context?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut body = answer.body();
    let messages = body.as_object_mut().unwrap().remove("messages").unwrap();
    let (total, dropped) =
        (body["totalMessages"].as_u64().unwrap(), body["dropped"].as_u64().unwrap());
    assert_eq!(messages.as_array().unwrap().len() as u64, total - dropped, "{query}");
    assert_eq!(body["truncated"], dropped > 0);
    (texts(&messages, "content"), body)
}

#[tokio::test]
async fn a_context_has_the_system_prompt_and_the_newest_messages_in_their_order() {
    let clients = clients();
    clients.session("s1").await;
    clients
        .say(
            "/api/chats/s1",
            json!([
                said("system", "s0"),
                said("user", "u1"),
                said("assistant", "a2"),
                said("system", "s3"),
                said("user", "u4"),
                said("assistant", "a5"),
                said("user", "u6"),
            ]),
        )
        .await;
    let all = ["s0", "u1", "a2", "s3", "u4", "a5", "u6"];
    let (messages, told) = context(&clients, "").await;
    assert_eq!(messages, all);
    assert_eq!(
        told,
        json!({"totalMessages": 7, "truncated": false, "strategy": "sliding-window", "dropped": 0})
    );
    let prompt = json!({"system_prompt": "PROMPT"});
    assert_eq!(clients.api.patch(&format!("{NATIVE}/s1"), prompt).await.status, 200);
    for (query, expected, dropped) in [
        ("", &["PROMPT", "s0", "u1", "a2", "s3", "u4", "a5", "u6"][..], 0),
        ("max=8&reserve=0", &["PROMPT", "s0", "u1", "a2", "s3", "u4", "a5", "u6"], 0),
        ("max=5", &["PROMPT", "s0", "s3", "a5", "u6"], 3),
        ("max=5&reserve=1", &["PROMPT", "s3", "u4", "a5", "u6"], 3),
        ("max=5&reserve=0", &["PROMPT", "a2", "u4", "a5", "u6"], 3),
        ("max=3&reserve=10", &["PROMPT", "s0", "s3"], 5),
        ("max=1", &["PROMPT"], 7),
        ("max=5&strategy=truncate", &["PROMPT", "s3", "u4", "a5", "u6"], 3),
        ("max=4&strategy=truncate", &["PROMPT", "u4", "a5", "u6"], 4),
        ("system=false", &["PROMPT", "u1", "a2", "u4", "a5", "u6"], 0),
        ("system=false&max=3", &["PROMPT", "a5", "u6"], 3),
    ] {
        let (messages, told) = context(&clients, query).await;
        assert_eq!((messages, &told["dropped"]), (strings(expected), &json!(dropped)), "{query}");
    }
    clients.api.delete(&format!("{NATIVE}/s1/messages/6")).await;
    let (messages, told) = context(&clients, "max=3&strategy=truncate").await;
    assert_eq!((messages, &told["totalMessages"]), (strings(&["PROMPT", "u4", "a5"]), &json!(7)));
    for query in ["max=0", "max=1001", "strategy=summarize", "reserve=-1", "system=maybe"] {
        let refused = clients.chats.get(&format!("/api/chats/s1/context?{query}")).await;
        assert_eq!(error(&refused), invalid(), "{query}");
    }
    assert_eq!(error(&clients.chats.get("/api/chats/nope/context").await), not_found());
}

#[tokio::test]
async fn a_context_separates_no_call_from_its_result() {
    let clients = clients();
    clients.session("s1").await;
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!({"messages": [
        {"role": "user", "content": "u0"},
        {"role": "assistant", "content": "a1", "tool_calls": [call("c1"), call("c2")]},
        {"role": "tool", "content": "t2", "tool_call_id": "c1"},
        {"role": "system", "content": "s3"},
        {"role": "tool", "content": "t4", "tool_call_id": "c2"},
        {"role": "assistant", "content": "a5"},
    ]});
    assert_eq!(clients.api.post(&format!("{NATIVE}/s1/messages"), messages).await.status, 201);
    for (query, expected) in [
        ("max=5", &["a1", "t2", "s3", "t4", "a5"][..]),
        ("max=4", &["s3", "a5"]),
        ("max=3&reserve=0", &["a5"]),
        ("max=4&reserve=0", &["a1", "t2", "t4", "a5"]),
        ("max=4&strategy=truncate", &["s3", "a5"]),
        ("max=5&strategy=truncate", &["a1", "t2", "s3", "t4", "a5"]),
        ("max=2&strategy=truncate", &["a5"]),
    ] {
        assert_eq!(context(&clients, query).await.0, expected, "{query}");
    }
    let body = clients.chats.get("/api/chats/s1/context?max=5").await.body();
    assert_eq!(body["messages"][0]["tool_calls"][0]["id"], "c1");
    assert_eq!(body["messages"][1]["tool_call_id"], "c1");
}

#[tokio::test]
async fn a_context_has_at_most_a_hundred_messages_unless_settings_or_request_say_otherwise() {
    let mut config = config();
    let store = Arc::new(MemoryStore::default());
    let clients = clients_over(Arc::clone(&store), config.clone());
    clients.session("s1").await;
    let many: Vec<_> = (0..150).map(|number| said("user", &format!("m{number}"))).collect();
    clients.say("/api/chats/s1", json!(many)).await;
    let (messages, told) = context(&clients, "").await;
    assert_eq!((messages.len(), &*messages[0], &told["dropped"]), (100, "m50", &json!(50)));
    assert_eq!(context(&clients, "max=120").await.0.len(), 120);
    config.adapters.chatsg.max_context_messages = 7;
    let clients = clients_over(store, config.clone());
    assert_eq!(context(&clients, "").await.0.len(), 7);
    config.adapters.chatsg.max_context_messages = 0;
    let refused = config.check("127.0.0.1:1".parse().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("adapters.chatsg.max_context_messages"), "{refused}");
}

#[tokio::test]
async fn parallel_writers_lose_no_message_and_the_count_is_right() {
    let clients = clients();
    let path = clients.session("s1").await;
    let messages = format!("{path}/messages");
    let writers = (0..20).map(|number| {
        let message = json!({"messages": [said("user", &format!("m{number}"))]});
        let messages = &messages;
        let chats = &clients.chats;
        async move { chats.post(messages, message).await.status }
    });
    assert!(futures::future::join_all(writers).await.into_iter().all(|status| status == 200));
    let page = clients.chats.get(&messages).await.body();
    let mut contents = texts(&page["messages"], "content");
    contents.sort();
    contents.dedup();
    assert_eq!((contents.len(), &page["totalMessages"]), (20, &json!(20)));
    assert_eq!(clients.chats.get(CHATS).await.body()["chats"][0]["messageCount"], 20);
}

#[tokio::test]
async fn rights_are_those_of_the_api() {
    let clients = clients_over(memory(), Config { auth: hs256(), ..config() });
    let person =
        |user: &str| clients.chats.with_token(token(&json!({"sub": user, "apps": ["acme"]})));
    let (alice, bob) = (person("alice"), person("bob"));
    let created = alice.post(CHATS, json!({"sessionId": "s1"})).await;
    assert_eq!(created.status, 200, "{}", created.text);
    assert_eq!(alice.post(CHATS, json!({"userId": "bob"})).await.status, 403);
    let messages = "/api/chats/s1/messages";
    let hello = json!({"messages": [said("user", "Hello")]});
    assert_eq!(alice.post(messages, hello.clone()).await.status, 200);
    // A person does not speak as an agent.
    let reply = json!({"messages": [said("assistant", "Hi")]});
    assert_eq!(alice.post(messages, reply).await.status, 403);
    let reply = json!({"sessionId": "s2", "message": "Hi", "reply": {"content": "Hello"}});
    assert_eq!(alice.post("/api/chat", reply).await.status, 403);
    assert_eq!(alice.get("/api/chats/s2/messages").await.status, 404);
    for refused in [
        bob.get(messages).await,
        bob.post(messages, hello).await,
        bob.get("/api/chats/s1/context").await,
        bob.get("/api/chats/s1/tools").await,
        bob.get("/api/chats/s1/tools/stats").await,
        bob.patch("/api/chats/s1", json!({"title": "x"})).await,
        bob.poke("/api/chats/s1/undelete").await,
    ] {
        assert_eq!(error(&refused), not_found());
    }
    // The answer does not tell whether the session exists.
    assert_eq!(bob.delete("/api/chats/s1").await.status, 200);
    assert_eq!(bob.post(CHATS, json!({"sessionId": "s1"})).await.status, 409);
    assert_eq!(alice.get(messages).await.status, 200);
    for (person, expected) in [(&alice, 1), (&bob, 0)] {
        assert_eq!(person.get(CHATS).await.body()["totalChats"], expected);
    }
    alice.delete("/api/chats/s1").await;
    for (person, expected) in [(&alice, 1), (&bob, 0)] {
        let deleted = person.get(&format!("{CHATS}?status=deleted")).await.body();
        assert_eq!(deleted["totalChats"], expected);
    }
    let unauthorized = clients.chats.get(CHATS).await;
    assert_eq!(unauthorized.status, 401);
    assert!(unauthorized.text_of("error").len() > 3);
}

#[tokio::test]
async fn the_tool_log_is_listed_and_summed_up() {
    let clients = clients();
    let path = clients.session("s1").await;
    let run = |tool: &str, second: u32, error: Value| {
        json!({
            "tool_name": tool, "parameters": {"query": "rust"}, "result": {"hits": second},
            "error": error, "execution_time_ms": 100 * second,
            "started_at": format!("2025-06-26T10:00:0{second}Z"),
        })
    };
    let late = json!("late");
    let runs = [
        run("WebSearch", 1, Value::Null),
        run("Shell", 2, late.clone()),
        run("WebSearch", 3, Value::Null),
    ];
    let recorded = clients.api.post(&format!("{NATIVE}/s1/tool-runs"), json!({"runs": runs})).await;
    assert_eq!(recorded.status, 201, "{}", recorded.text);

    let listed = clients.chats.get(&format!("{path}/tools?limit=2")).await.body();
    let expected = |tool: &str, second: u32, error: Value| {
        json!({
            "timestamp": format!("2025-06-26T10:00:0{second}.000Z"), "sessionId": "s1",
            "toolName": tool, "parameters": {"query": "rust"}, "result": {"hits": second},
            "success": error.is_null(), "executionTime": 100 * second, "error": error,
        })
    };
    let newest = json!([expected("WebSearch", 3, Value::Null), expected("Shell", 2, late.clone())]);
    assert_eq!((&listed["sessionId"], &listed["tools"]), (&json!("s1"), &newest));
    let cursor = listed["nextCursor"].as_str().unwrap();
    let rest = clients.chats.get(&format!("{path}/tools?limit=2&cursor={cursor}")).await.body();
    assert_eq!(rest["tools"], json!([expected("WebSearch", 1, Value::Null)]));
    assert_eq!(rest["nextCursor"], Value::Null);
    for (query, count) in [
        ("tool=Shell", 1),
        ("success=true", 2),
        ("success=false&tool=WebSearch", 0),
        ("from=2025-06-26T10:00:02Z&before=2025-06-26T10:00:03Z", 1),
        ("unknown=1", 3),
    ] {
        let found = clients.chats.get(&format!("{path}/tools?{query}")).await.body();
        assert_eq!(found["tools"].as_array().map(Vec::len), Some(count), "{query}");
    }

    let sums = |total: u64, success: u64, average: f64| {
        json!({
            "total": total, "success": success, "failed": total - success,
            "averageExecutionTime": average,
        })
    };
    let mut all = sums(3, 2, 200.0);
    all["sessionId"] = json!("s1");
    all["byTool"] = json!({"Shell": sums(1, 0, 200.0), "WebSearch": sums(2, 2, 200.0)});
    assert_eq!(clients.chats.get(&format!("{path}/tools/stats")).await.body(), all);
    let early = clients.chats.get(&format!("{path}/tools/stats?before=2025-06-26T10:00:02Z")).await;
    assert_eq!(early.body()["total"], 1);
    for path in ["/api/chats/unknown/tools", "/api/chats/unknown/tools/stats"] {
        assert_eq!(error(&clients.chats.get(path).await), not_found());
    }
    assert_eq!(clients.chats.get(&format!("{path}/tools?limit=0")).await.status, 400);
}

#[tokio::test]
async fn the_adapter_is_described_and_off_by_default() {
    let clients = clients();
    let described = clients.chats.get("/openapi.json").await.body();
    assert!(described["paths"]["/chatsg/{app_id}/api/chats/{chat_id}/context"]["get"].is_object());
    assert_eq!(described, clients.api.get("/chatsg/openapi.json").await.body());
    // Beside the API its paths name the app.
    assert_eq!(clients.api.get("/chatsg/acme/api/chats").await.body()["totalChats"], 0);
    assert_eq!(clients.api.get(&format!("{NATIVE}?limit=1")).await.body()["data"], json!([]));
    assert_eq!(Client::open().get("/chatsg/acme/api/chats").await.status, 404);
    let malformed = clients.chats.json("POST", CHATS, Body::from("{")).await;
    assert_eq!(malformed.status, 400);
    let missing = clients.chats.get("/api/other").await;
    assert_eq!((missing.status, missing.header("content-type")), (404, "application/json"));
}

#[tokio::test]
async fn the_id_of_a_deleted_session_says_so_to_those_who_may_restore_it() {
    let clients = clients();
    let path = clients.session("s1").await;
    clients.chats.delete(&path).await;
    for (target, body) in [
        (CHATS, json!({"sessionId": "s1"})),
        ("/api/chat", json!({"sessionId": "s1", "message": "Hello"})),
    ] {
        let refused = clients.chats.post(target, body).await;
        let details = refused.text_of("details");
        assert_eq!(refused.status, 409, "{}", refused.text);
        assert!(details.contains("s1 is deleted") && details.contains("s1/undelete"), "{details}");
    }
    assert_eq!(clients.chats.poke(&format!("{path}/undelete")).await.status, 200);
    let found = clients.chats.post(CHATS, json!({"sessionId": "s1"})).await;
    assert_eq!((found.status, found.text_of("sessionId")), (200, "s1".to_owned()));
}

#[tokio::test]
async fn an_error_names_the_field_once() {
    let clients = clients();
    let path = clients.session("s1").await;
    let long = "x".repeat(129);
    let rule = "must be 1 to 128 characters";
    for (body, field) in [
        (json!({"message": "x", "userId": long}), "userId"),
        (json!({"message": "x", "requestId": long}), "requestId"),
        (
            json!({"message": "x", "sessionId": "s1", "reply": {"content": "y", "agent": long}}),
            "reply/agent",
        ),
    ] {
        let refused = clients.chats.post("/api/chat", body).await;
        assert_eq!(error(&refused), invalid());
        let details = refused.text_of("details");
        assert!(details.starts_with(&format!("{field} {rule}")), "{field}: {details}");
    }
    let messages = json!([
        {"id": long, "content": "x"},
        {"content": "x", "metadata": {"agent": long}},
        {"content": "x", "metadata": {"userId": long}},
        {"content": "x", "type": long},
    ]);
    let saved =
        clients.chats.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    let errors = saved.body()["errors"].clone();
    for (index, field) in ["/id", "/metadata/agent", "/metadata/userId", "/type"].iter().enumerate()
    {
        let text = errors[index]["error"].as_str().unwrap();
        assert!(text.starts_with(&format!("{field} {rule}")), "{field}: {text}");
    }
    let refused = clients.chats.get("/api/chats/a%20b/messages").await;
    let details = refused.text_of("details");
    assert!(details.starts_with("chat_id must be 1 to 128 of"), "{details}");
}

#[tokio::test]
async fn nobody_takes_the_id_of_a_reply_before_it_is_stored() {
    let clients = clients();
    clients.session("c1").await;
    let planted = json!({"role": "user", "content": ".", "event_id": "r1:assistant"});
    assert_eq!(clients.api.post(&format!("{NATIVE}/c1/messages"), planted).await.status, 201);
    let exchange = json!({"sessionId": "c1", "requestId": "r1", "message": "Hello", "reply": {"content": "Hi"}});
    for _ in 0..2 {
        let recorded = clients.chats.post("/api/chat", exchange.clone()).await;
        assert_eq!((recorded.status, &recorded.body()["messageCount"]), (200, &json!(3)));
    }
    let stored = clients.api.get(&format!("{NATIVE}/c1/messages")).await.body();
    let id = stored["data"][2]["event_id"].as_str().unwrap();
    assert!(EventId::parse(id).unwrap().is_derived(), "{id}");
}

#[tokio::test]
async fn what_cannot_be_saved_holds_up_none_of_the_others() {
    let clients = clients();
    let path = clients.session("c1").await;
    clients.say(&path, json!([{"id": "m1", "content": "a"}])).await;
    let mut messages: Vec<_> = (0..50).map(|n| json!({"content": n.to_string()})).collect();
    messages[7] = json!({"id": "m1", "content": "another"});
    messages[9] = json!({"id": "m2", "content": "x".repeat(5_000_000)});
    messages[11] = json!({"type": "user"});
    let saved =
        clients.chats.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    let body = saved.body();
    let named: Vec<_> =
        body["errors"].as_array().unwrap().iter().map(|it| it["index"].clone()).collect();
    assert_eq!(
        (&body["savedMessages"], named),
        (&json!(47), vec![json!(7), json!(9), json!(11)]),
        "{}",
        saved.text
    );
    let stored = clients.api.get(&format!("{NATIVE}/c1/messages?limit=100")).await.body();
    let contents = stored["data"].as_array().unwrap().iter().map(|it| it["content"].clone());
    let expected = (0..50).filter(|n| ![7, 9, 11].contains(n)).map(|n| json!(n.to_string()));
    assert!(contents.skip(1).eq(expected), "{}", stored["data"]);
}

#[tokio::test]
async fn a_context_has_only_what_a_provider_takes() {
    let clients = clients();
    let path = clients.session("c1").await;
    clients.say(&path, json!([{"content": {"a": 1}}, {"content": []}, {"content": "x"}])).await;
    let context = clients.chats.get(&format!("{path}/context")).await.body();
    let contents: Vec<_> =
        context["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
    assert_eq!(
        (contents, &context["totalMessages"]),
        (vec![&json!("{\"a\":1}"), &json!("x")], &json!(2))
    );
}

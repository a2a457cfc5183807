//! Chat sessions in the shapes of Yao.

use records::AppId;
use serde_json::{Value, json};
use service::{AdaptersConfig, Config, YaoConfig};

use crate::harness::{Answer, Client, memory};
use crate::tokens::{hs256, token};

const SESSIONS: &str = "/v1/chat/sessions";
const NATIVE: &str = "/api/chats/yao";

fn adapters() -> AdaptersConfig {
    let yao = YaoConfig {
        enabled: true,
        app_id: Some(AppId::parse("yao").unwrap()),
        ..YaoConfig::default()
    };
    AdaptersConfig { yao, ..AdaptersConfig::default() }
}

pub(crate) fn client() -> Client {
    Client::over(memory(), Config { adapters: adapters(), ..Config::default() })
}

/// Creates a chat, and returns its path in the adapter.
pub(crate) async fn session(client: &Client, chat_id: &str, fields: Value) -> String {
    let mut body =
        json!({"chat_id": chat_id, "workflow_name": "weather", "assistant_id": "weather"});
    if let Value::Object(fields) = fields {
        body.as_object_mut().unwrap().extend(fields);
    }
    let created = client.post(NATIVE, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    format!("{SESSIONS}/{chat_id}")
}

#[tokio::test]
async fn a_request_with_a_key_is_made_once() {
    let client = client().with_key("k1");
    let wanted = json!({"assistant_id": "weather"});
    let created = client.post(SESSIONS, wanted.clone()).await;
    assert_eq!((created.status, &created.body()["chat_id"]), (200, &json!("k1")));
    assert_eq!(client.post(SESSIONS, wanted).await.body(), created.body());
    let saved = async || {
        let input = json!({"role": "user", "type": "text", "props": {"content": "Rain?"}});
        let named = json!({"message_id": "m1", "role": "user", "type": "text", "props": {}});
        let body = json!({"messages": [input, named]});
        let saved = client.post(&format!("{SESSIONS}/k1/messages"), body).await;
        assert_eq!(saved.status, 200, "{}", saved.text);
        let (saved, messages) = (saved.body()["saved"].clone(), saved.body()["messages"].clone());
        (saved, [0, 1].map(|index| messages[index]["message_id"].clone()))
    };
    assert_eq!(saved().await, (json!(2), [json!("k1/0"), json!("m1")]));
    assert_eq!(saved().await, (json!(0), [json!("k1/0"), json!("m1")]));
}

#[tokio::test]
async fn a_session_is_created_once() {
    let client = client();
    let wanted = json!({"chat_id": "c1", "assistant_id": "weather", "title": "Rain?", "other": 1,
        "public": true, "sort": 3, "metadata": {"a": 1}});
    let created = client.post(SESSIONS, wanted.clone()).await;
    assert_eq!(created.status, 200, "{}", created.text);
    let shown = created.body();
    assert_eq!(
        (&shown["assistant_id"], &shown["public"], &shown["sort"], &shown["status"]),
        (&json!("weather"), &json!(true), &json!(3), &json!("active"))
    );
    assert_eq!(client.post(SESSIONS, wanted).await.body(), shown);
    let other = json!({"chat_id": "c1", "assistant_id": "weather", "title": "Snow?"});
    assert_eq!(error(&client.post(SESSIONS, other.clone()).await), (409, "conflict".to_owned()));
    client.delete(&format!("{SESSIONS}/c1")).await;
    assert_eq!(error(&client.post(SESSIONS, other).await), (409, "conflict".to_owned()));
    let minted = client.post(SESSIONS, json!({"assistant_id": "weather"})).await.body();
    assert_eq!(
        (minted["public"].clone(), minted["share"].clone()),
        (json!(false), json!("private"))
    );
    for refused in [json!({"title": "x"}), json!({"assistant_id": "weather", "share": "all"})] {
        let refused = client.post(SESSIONS, refused).await;
        assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    }
}

#[tokio::test]
async fn the_time_that_a_client_gives_a_message_stays() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let at = json!({"created_at": "2024-01-15T10:00:05Z"});
    append(&client, "c1", &[typed("M1", "text", json!({"content": "x"}), at), text("M2", "y")])
        .await;
    let shown = client.get(&format!("{path}/messages")).await.body();
    assert_eq!(shown["messages"][0]["created_at"], "2024-01-15T10:00:05Z");
    assert_ne!(shown["messages"][0]["updated_at"], "2024-01-15T10:00:05Z");
    assert!(shown["messages"][1]["created_at"].is_string());
    // Go programs send their zero if they have no time, and cannot read what is none.
    let stored_at = async |number: usize| {
        let at = [json!("0001-01-01T00:00:00Z"), json!("yesterday")][number].clone();
        let id = format!("T{number}");
        append(
            &client,
            "c1",
            &[typed(&id, "text", json!({"content": "x"}), json!({"created_at": at}))],
        )
        .await;
        let shown = client.get(&format!("{path}/messages?limit=1")).await.body();
        shown["messages"][0]["created_at"].as_str().unwrap().to_owned()
    };
    for number in 0..2 {
        let at = stored_at(number).await;
        assert!(at.starts_with("20") && at.len() > 19, "{at}");
    }
}

/// Appends typed messages to a chat.
async fn append(client: &Client, chat_id: &str, messages: &[Value]) {
    let path = format!("{NATIVE}/{chat_id}/messages?dialect=yao");
    let appended = client.post(&path, json!({"messages": messages})).await;
    assert_eq!(appended.status, 201, "{}", appended.text);
}

pub(crate) fn typed(id: &str, kind: &str, props: Value, more: Value) -> Value {
    let role = if kind == "user_input" { "user" } else { "assistant" };
    let mut message = json!({"message_id": id, "role": role, "type": kind});
    message["props"] = props;
    if let Value::Object(more) = more {
        message.as_object_mut().unwrap().extend(more);
    }
    message
}

pub(crate) fn text(id: &str, content: &str) -> Value {
    typed(id, "text", json!({"content": content}), json!({}))
}

/// Returns the error, after its status.
pub(crate) fn error(answer: &Answer) -> (u16, String) {
    assert!(answer.text_of("error_description").len() > 3, "{}", answer.text);
    (answer.status, answer.text_of("error"))
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let data =
        answer.body()["data"].as_array().unwrap_or_else(|| panic!("{}", answer.text)).clone();
    data.iter().map(|chat| chat["chat_id"].as_str().unwrap().to_owned()).collect()
}

async fn listed(client: &Client, query: &str) -> Vec<String> {
    ids(&client.get(&format!("{SESSIONS}?{query}")).await)
}

pub(crate) async fn message_ids(client: &Client, path: &str, query: &str) -> Vec<String> {
    let answer = client.get(&format!("{path}/messages?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.body();
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(body["count"], messages.len());
    messages.iter().map(|it| it["message_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_is_shown_without_an_envelope() {
    let client = client();
    let path = session(&client, "c1", json!({"title": "Rain?", "metadata": {"a": 1}})).await;
    let shown = client.get(&path).await.body();
    assert_eq!(
        (&shown["chat_id"], &shown["title"], &shown["assistant_id"], &shown["status"]),
        (&json!("c1"), &json!("Rain?"), &json!("weather"), &json!("active"))
    );
    assert_eq!(
        (&shown["public"], &shown["share"], &shown["sort"], &shown["metadata"]),
        (&json!(false), &json!("private"), &json!(0), &json!({"a": 1}))
    );
    assert_eq!(shown.get("last_message_at"), None);
    let said =
        typed("M1", "text", json!({"content": "x"}), json!({"connector": "small", "mode": "task"}));
    append(&client, "c1", &[said]).await;
    let shown = client.get(&path).await.body();
    assert_eq!((&shown["last_connector"], &shown["last_mode"]), (&json!("small"), &json!("task")));
    assert!(shown["last_message_at"].is_string());
    assert_eq!(client.get("/yao/yao/v1/chat/sessions/c1").await.body(), shown);
}

#[tokio::test]
async fn sessions_are_updated_archived_and_deleted() {
    let client = client();
    let path = session(&client, "c1", json!({"metadata": {"old": 1}})).await;
    let change = json!({"title": "New", "status": "archived", "metadata": {"b": 2}, "other": 1});
    let changed = client.put(&path, change).await;
    assert_eq!(
        (changed.status, changed.body()),
        (200, json!({"message": "Chat updated successfully", "chat_id": "c1"}))
    );
    let shown = client.get(&path).await.body();
    assert_eq!(
        (&shown["title"], &shown["status"], &shown["metadata"]),
        (&json!("New"), &json!("archived"), &json!({"b": 2}))
    );
    client.put(&path, json!({"metadata": null})).await;
    assert_eq!(client.get(&path).await.body()["metadata"], json!({}));
    for refused in [json!({}), json!({"unknown": 1}), json!({"status": "deleted"})] {
        assert_eq!(error(&client.put(&path, refused).await), (400, "invalid_request".to_owned()));
    }
    let deleted = client.delete(&path).await;
    assert_eq!(
        (deleted.status, deleted.body()),
        (200, json!({"message": "Chat deleted successfully", "chat_id": "c1"}))
    );
    let missing = (404, "resource_not_found".to_owned());
    assert_eq!(error(&client.get(&path).await), missing);
    assert_eq!(error(&client.delete(&path).await), missing);
    assert_eq!(error(&client.put(&path, json!({"title": "x"})).await), missing);
    assert_eq!(error(&client.get(&format!("{path}/messages")).await), missing);
    assert_eq!(listed(&client, "").await, [""; 0]);
}

#[tokio::test]
async fn nothing_is_saved_under_a_deleted_session() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    client.delete(&path).await;
    let native = format!("{NATIVE}/c1/messages?dialect=yao");
    let answer = client.post(&native, json!({"messages": [text("M1", "late")]})).await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}

#[tokio::test]
async fn sessions_are_filtered_by_every_parameter() {
    let client = client();
    session(&client, "a1", json!({"title": "The Weather"})).await;
    session(&client, "a2", json!({"title": "News", "assistant_id": "news"})).await;
    let third = session(&client, "b3", json!({"title": "100% weather_report"})).await;
    client.put(&third, json!({"status": "archived"})).await;
    assert_eq!(listed(&client, "order_by=created_at&order=asc").await, ["a1", "a2", "b3"]);
    for (query, expected) in [
        ("assistant_id=news", &["a2"][..]),
        ("assistant_id=weather&status=active", &["a1"]),
        ("status=archived", &["b3"]),
        ("keywords=WEATHER&order_by=title", &["a1", "b3"]),
        ("keywords=weather&status=active", &["a1"]),
        ("keywords=r_r", &["b3"]),
        ("keywords=0%25", &["b3"]),
        ("keywords=%25", &["b3"]),
        ("chat_id_prefix=a&order_by=sort", &["a1", "a2"]),
        ("start_time=2999-01-01T00:00:00Z&time_field=created_at", &[]),
        ("end_time=2999-01-01T00:00:00Z&time_field=created_at&keywords=news", &["a2"]),
        ("start_time=2000-01-01T00:00:00Z", &[]),
        ("start_time=yesterday&keywords=news", &["a2"]),
    ] {
        let mut found = listed(&client, query).await;
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    append(&client, "a2", &[text("M1", "hi")]).await;
    assert_eq!(listed(&client, "start_time=2000-01-01T00:00:00Z").await, ["a2"]);
    let at = client.get(&format!("{SESSIONS}/a2")).await.text_of("last_message_at");
    let exactly = format!("start_time={at}&end_time={at}");
    assert_eq!(listed(&client, &exactly).await, ["a2"]);
}

#[tokio::test]
async fn only_known_fields_order_a_list() {
    let client = client();
    session(&client, "c1", json!({})).await;
    for query in [
        "order_by=password",
        "order_by=title;drop",
        "order_by=updated_at",
        "time_field=x",
        "status=x",
    ] {
        let refused = client.get(&format!("{SESSIONS}?{query}")).await;
        assert_eq!(error(&refused), (400, "invalid_request".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn pages_have_totals() {
    let client = client();
    let empty = client.get(SESSIONS).await.body();
    assert_eq!(empty, json!({"data": [], "page": 1, "pagesize": 20, "pagecount": 1, "total": 0}));
    let grouped = client.get(&format!("{SESSIONS}?group_by=time")).await.body();
    assert_eq!(grouped, empty);
    for number in 0..5 {
        session(&client, &format!("c{number}"), json!({"title": format!("T{number}")})).await;
    }
    for (query, expected) in [
        ("page=2&pagesize=2", (2, 2, 3, 2)),
        ("page=3&pagesize=2", (3, 2, 3, 1)),
        ("page=4&pagesize=2", (4, 2, 3, 0)),
        ("page=0&pagesize=0", (1, 20, 1, 5)),
        ("page=x&pagesize=101", (1, 20, 1, 5)),
        ("keywords=T&pagesize=2", (1, 2, 3, 2)),
    ] {
        let answer = client.get(&format!("{SESSIONS}?{query}")).await;
        let (page, pagesize, pagecount, count) = expected;
        assert_eq!(ids(&answer).len(), count, "{query}");
        let body = answer.body();
        assert_eq!(
            (&body["page"], &body["pagesize"], &body["pagecount"], &body["total"]),
            (&json!(page), &json!(pagesize), &json!(pagecount), &json!(5)),
            "{query}"
        );
        assert_eq!(body.get("total_is_at_least"), None);
    }
    assert_eq!(listed(&client, "order_by=title&order=asc&page=2&pagesize=2").await, ["c2", "c3"]);
    let beyond = client.get(&format!("{SESSIONS}?page=1000000")).await;
    assert_eq!(error(&beyond), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn groups_replace_the_list() {
    let client = client();
    session(&client, "c1", json!({})).await;
    session(&client, "c2", json!({})).await;
    let answer = client.get(&format!("{SESSIONS}?group_by=time&tz=Europe/Berlin")).await.body();
    assert_eq!(answer.get("data"), None);
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!(groups.iter().map(|group| group["count"].as_u64().unwrap()).sum::<u64>(), 2);
    assert_eq!(
        (answer["total"].as_u64(), groups[0]["chats"][0]["status"].as_str()),
        (Some(2), Some("active"))
    );
    let label = [("today", "Today"), ("earlier", "Earlier")];
    assert!(
        label.iter().any(|(key, label)| groups[0]["key"] == *key && groups[0]["label"] == *label)
    );
}

#[tokio::test]
async fn messages_come_back_with_their_props() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let with =
        json!({"request_id": "r1", "block_id": "B1", "thread_id": "T1", "assistant_id": "weather"});
    let chart = json!({"zeta": 1, "chartType": "bar", "data": [1, {"b": 1, "a": null}]});
    let messages = [
        typed(
            "M1",
            "user_input",
            json!({"content": "hi", "role": "user"}),
            json!({"request_id": "r1"}),
        ),
        typed("M2", "chart", chart.clone(), with),
        typed("M3", "loading", json!({"message": "wait"}), json!({"metadata": {"x": 1}})),
    ];
    append(&client, "c1", &messages).await;
    let answer = client.get(&format!("{path}/messages")).await.body();
    assert_eq!((&answer["chat_id"], &answer["assistants"]), (&json!("c1"), &json!({})));
    let shown = &answer["messages"][1];
    assert_eq!(shown["props"].to_string(), chart.to_string());
    assert_eq!(
        (&shown["block_id"], &shown["thread_id"], &shown["assistant_id"], &shown["sequence"]),
        (&json!("B1"), &json!("T1"), &json!("weather"), &json!(2))
    );
    assert_eq!((&shown["chat_id"], &shown["id"]), (&json!("c1"), &json!(2)));
    assert!(shown["created_at"].is_string() && shown["updated_at"].is_string());
    for (query, expected) in [
        ("type=chart", &["M2"][..]),
        ("role=user", &["M1"]),
        ("role=assistant", &["M2", "M3"]),
        ("request_id=r1", &["M1", "M2"]),
        ("block_id=B1&thread_id=T1&request_id=r1", &["M2"]),
        ("thread_id=T2", &[]),
        ("request_id=r1&limit=1", &["M2"]),
    ] {
        assert_eq!(message_ids(&client, &path, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn messages_of_other_clients_are_shown_by_type() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "let me see", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]});
    assert_eq!(client.post(&format!("{NATIVE}/c1/messages"), messages).await.status, 201);
    let shown = client.get(&format!("{path}/messages")).await.body();
    let types: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(types, ["user_input", "text", "tool_call", "text"]);
}

/// A message with several calls is shown as several, under one number.
#[tokio::test]
async fn no_page_begins_within_a_number() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!({"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "see", "tool_calls": [call("a"), call("b"), call("c")]},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]});
    assert_eq!(client.post(&format!("{NATIVE}/c1/messages"), messages).await.status, 201);
    let all = client.get(&format!("{path}/messages")).await.body()["messages"].clone();
    let count = all.as_array().unwrap().len();
    assert!(count > 4, "{all}");
    for limit in 1..count {
        let (mut found, mut before) = (Vec::new(), String::new());
        loop {
            let query = format!("{path}/messages?limit={limit}{before}");
            let page = client.get(&query).await.body()["messages"].clone();
            let page = page.as_array().unwrap().clone();
            let Some(first) = page.first() else { break };
            before = format!("&before_id={}", first["id"]);
            found.splice(0..0, page);
        }
        assert_eq!(Value::from(found), all, "{limit}");
    }
}

#[tokio::test]
async fn a_limit_returns_the_newest_messages() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let many: Vec<_> = (1..=700).map(|number| text(&format!("M{number}"), "x")).collect();
    append(&client, "c1", &many[..350]).await;
    append(&client, "c1", &many[350..]).await;
    for (query, first, last, count) in [
        ("limit=2", "M699", "M700", 2),
        ("", "M601", "M700", 100),
        ("limit=0", "M601", "M700", 100),
        ("limit=1001", "M601", "M700", 100),
        ("limit=1000", "M1", "M700", 700),
        ("limit=3&offset=0", "M1", "M3", 3),
        ("limit=3&offset=600", "M601", "M603", 3),
        ("offset=650", "M651", "M700", 50),
        ("offset=-1&limit=1", "M700", "M700", 1),
        ("before_id=11", "M1", "M10", 10),
        ("before_id=601", "M551", "M600", 50),
        ("before_id=601&limit=2", "M599", "M600", 2),
        ("before_sequence=3", "M1", "M2", 2),
        ("type=text&limit=600", "M101", "M700", 600),
    ] {
        let found = message_ids(&client, &path, query).await;
        assert_eq!((found.len(), &*found[0], &*found[count - 1]), (count, first, last), "{query}");
    }
    assert_eq!(message_ids(&client, &path, "offset=700").await, [""; 0]);
}

#[tokio::test]
async fn a_deleted_message_is_not_shown() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    append(&client, "c1", &[text("M1", "a"), text("M2", "b")]).await;
    client.delete(&format!("{NATIVE}/c1/messages/0")).await;
    assert_eq!(message_ids(&client, &path, "").await, ["M2"]);
}

#[tokio::test]
async fn one_bad_message_is_named_and_a_repeat_stores_nothing_twice() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    let batch = [text("M1", "a"), text("M2", "b")];
    append(&client, "c1", &batch).await;
    let native = format!("{NATIVE}/c1/messages?dialect=yao");
    let again = client.post(&native, json!({"messages": batch})).await;
    assert!(again.status < 300, "{}", again.text);
    let bad = json!({"messages": [text("M3", "c"), {"role": "assistant", "type": "text", "props": null}]});
    let reported = client.post(&native, bad).await;
    assert_eq!((reported.status, reported.culprit()), (422, "/messages/1".to_owned()));
    let event = typed("M4", "event", json!({"event": "stream_end"}), json!({}));
    let dropped = client.post(&native, json!({"messages": [text("M3", "c"), event]})).await;
    assert_eq!(dropped.body()["dropped"][0]["reason"], "transient", "{}", dropped.text);
    assert_eq!(message_ids(&client, &path, "").await, ["M1", "M2", "M3"]);
}

#[tokio::test]
async fn an_edit_reaches_one_message_though_another_request_has_its_id() {
    let client = client();
    let path = session(&client, "c1", json!({})).await;
    for request in ["r1", "r2"] {
        let more = json!({"request_id": request});
        append(&client, "c1", &[typed("M1", "text", json!({"content": "a"}), more)]).await;
    }
    let stored = client.get(&format!("{NATIVE}/c1/messages")).await.body();
    let id = stored["data"][1]["event_id"].as_str().unwrap();
    let edit = json!({"content": "b"});
    let edited = client.patch(&format!("{NATIVE}/c1/messages/by-id/{id}"), edit).await;
    assert_eq!(edited.status, 200, "{}", edited.text);
    let shown = client.get(&format!("{path}/messages")).await.body();
    let contents: Vec<_> = (0..2).map(|at| &shown["messages"][at]["props"]["content"]).collect();
    assert_eq!(contents, ["a", "b"]);
    assert_ne!(shown["messages"][1]["updated_at"], Value::Null);
}

#[tokio::test]
async fn a_teammate_finds_and_reads_only_what_the_team_shares() {
    let config = Config { adapters: adapters(), auth: hs256(), ..Config::default() };
    let service = Client::over(memory(), config);
    let person = |user: &str| {
        service.with_token(token(&json!({"sub": user, "team": "blue", "apps": ["yao"]})))
    };
    let (alice, bob) = (person("alice"), person("bob"));
    let private = session(&alice, "private", json!({"user_id": "alice"})).await;
    let shared = session(
        &alice,
        "shared",
        json!({"user_id": "alice", "team_id": "blue", "visibility": "team"}),
    )
    .await;
    assert_eq!(listed(&bob, "").await, ["shared"]);
    assert_eq!(bob.get(&shared).await.body()["share"], "team");
    let missing = (404, "resource_not_found".to_owned());
    for path in [private.clone(), format!("{private}/messages")] {
        assert_eq!(error(&bob.get(&path).await), missing);
    }
    assert_eq!(error(&bob.delete(&private).await), missing);
    assert_eq!(error(&bob.put(&private, json!({"title": "x"})).await), missing);
    assert_eq!(error(&bob.delete(&shared).await), (403, "access_denied".to_owned()));
    assert_eq!(error(&service.get(&private).await).0, 401);
    assert_eq!(alice.delete(&private).await.status, 200);
}

#[tokio::test]
async fn the_adapter_is_described_and_off_by_default() {
    let client = client();
    assert_eq!(client.get(&format!("{SESSIONS}?tenant=x&page=1&page=2")).await.status, 200);
    let description = client.get("/yao/openapi.json").await.body();
    assert!(description["paths"]["/yao/{app_id}/v1/chat/sessions/{chat_id}"]["put"].is_object());
    assert_eq!(Client::open().get(SESSIONS).await.status, 404);
    assert_eq!(Client::open().get("/yao/yao/v1/chat/sessions").await.status, 404);
}

#[tokio::test]
async fn a_session_is_created_with_its_share_and_its_status() {
    let client = client();
    let path = format!("{SESSIONS}/c1");
    let shared = json!({"chat_id": "c1", "assistant_id": "weather", "public": true, "share": "team",
        "metadata": {"a": 1, "__yao_share": "x"}});
    let shown = |of: &Value| {
        (of["public"].clone(), of["share"].clone(), of["metadata"].clone(), of["status"].clone())
    };
    let expected = |metadata: Value| (json!(true), json!("team"), metadata, json!("active"));
    for _ in 0..2 {
        let created = client.post(SESSIONS, shared.clone()).await;
        assert_eq!(created.status, 200, "{}", created.text);
        assert_eq!(shown(&created.body()), expected(json!({"a": 1})));
    }
    client.put(&path, json!({"metadata": {"b": 2}})).await;
    assert_eq!(shown(&client.get(&path).await.body()), expected(json!({"b": 2})));
    client.put(&path, json!({"metadata": null})).await;
    let first = client.get(SESSIONS).await.body()["data"][0].clone();
    assert_eq!(shown(&first), expected(json!({})));

    let archived = json!({"chat_id": "c2", "assistant_id": "weather", "status": "archived"});
    for _ in 0..2 {
        let created = client.post(SESSIONS, archived.clone()).await;
        assert_eq!((created.status, created.text_of("status")), (200, "archived".to_owned()));
    }
    assert_eq!(listed(&client, "status=archived").await, ["c2"]);
    // A late repeat does not archive what was made active.
    client.put(&format!("{SESSIONS}/c2"), json!({"status": "active"})).await;
    assert_eq!(client.post(SESSIONS, archived).await.text_of("status"), "active");
    let refused =
        client.post(SESSIONS, json!({"assistant_id": "weather", "status": "deleted"})).await;
    assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    let description = refused.text_of("error_description");
    assert_eq!(description, "status must be active or archived");
}

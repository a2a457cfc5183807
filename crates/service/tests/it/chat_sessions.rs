use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

#[tokio::test]
async fn creating_a_chat_answers_with_the_chat_and_its_address() {
    let client = Client::open();
    let body = json!({
        "chat_id": "chat_abc123def456",
        "workflow_name": "Generator",
        "user_id": "user_alice_456",
        "team_id": "team_blue",
        "visibility": "team",
        "title": "A todo app",
        "metadata": {"a.b": 1, "$set": {"": null}},
    });
    let answer = client.post("/api/chats/acme_corp", body).await;
    assert_eq!(answer.header("location"), "/api/chats/acme_corp/chat_abc123def456");
    assert_json_snapshot!("create", answer.snapshot());
    let read = client.get(answer.header("location")).await;
    assert_eq!(read.body(), answer.record());
}

#[tokio::test]
async fn a_chat_id_and_a_seed_are_minted_and_derived_when_missing() {
    let client = Client::open();
    let body = json!({"workflow_name": "Generator", "chat_id": null, "cache_seed": null});
    let answer = client.post("/api/chats/acme_corp", body).await.body();
    assert_eq!(answer["chat_id"], "chat_0");
    assert!(answer["cache_seed"].is_u64());
    let body = json!({"workflow_name": "Generator", "cache_seed": 2_847_561_923_u32});
    let answer = client.post("/api/chats/acme_corp", body).await.body();
    assert_eq!(answer["cache_seed"], 2_847_561_923_u32);
}

#[tokio::test]
async fn a_creation_with_the_same_body_is_repeated() {
    let client = Client::open();
    let body = json!({"chat_id": "c1", "workflow_name": "W", "title": "T", "metadata": {"a": [1]}});
    let first = client.post("/api/chats/acme_corp", body.clone()).await;
    client.post(&format!("{}/complete", first.header("location")), json!({})).await;
    let now = client.get(first.header("location")).await.body();
    let again = client.post("/api/chats/acme_corp", body.clone()).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(again.record(), now, "the chat as it is now, unchanged");
    assert_eq!(again.header("location"), first.header("location"));
    for (field, value) in [
        ("title", json!("U")),
        ("metadata", json!({"a": [2]})),
        ("user_id", json!("alice")),
        ("cache_seed", json!(7)),
        ("visibility", json!("link")),
    ] {
        let mut other = body.clone();
        other[field] = value;
        let answer = client.post("/api/chats/acme_corp", other).await;
        assert_eq!(answer.problem(), (409, "chat-exists".to_owned()), "{field}");
    }
    let elsewhere = client.post("/api/chats/other_app", body).await;
    assert_eq!(elsewhere.problem(), (409, "chat-exists".to_owned()));
}

#[tokio::test]
async fn a_second_chat_of_one_id_is_a_conflict_in_any_app() {
    let client = Client::open();
    client.create_chat("c1").await;
    let body = json!({"chat_id": "c1", "workflow_name": "Other"});
    let answer = client.post("/api/chats/acme_corp", body.clone()).await;
    assert_json_snapshot!("create_again", answer.snapshot());
    let elsewhere = client.post("/api/chats/other_app", body).await;
    assert_eq!(elsewhere.problem(), (409, "chat-exists".to_owned()));
}

#[tokio::test]
async fn chats_are_listed_newest_first_page_by_page() {
    let client = Client::open();
    for id in ["c1", "c2", "c3", "c4", "c5"] {
        client.create_chat(id).await;
    }
    let mut path = "/api/chats/acme_corp?limit=2".to_owned();
    let mut ids = Vec::new();
    loop {
        let page = client.get(&path).await.body();
        let chats = page["data"].as_array().unwrap().clone();
        ids.extend(chats.iter().map(|chat| chat["chat_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/api/chats/acme_corp?limit=2&cursor={cursor}");
    }
    assert_eq!(ids, ["c5", "c4", "c3", "c2", "c1"]);
    let page = client.get("/api/chats/acme_corp?limit=1").await;
    let newest = client.get("/api/chats/acme_corp/c5").await.body();
    assert_eq!(page.body()["data"], json!([newest]));
    assert_json_snapshot!("list", page.snapshot(), { ".body.chats" => "[chats]" });
}

#[tokio::test]
async fn chats_are_listed_by_workflow_user_status_and_time() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let body = json!({"chat_id": "c2", "workflow_name": "Other one", "user_id": "zoë"});
    let second = client.post("/api/chats/acme_corp", body).await.body();
    client.poke(&format!("{path}/pause")).await;
    let created = second["created_at"].as_str().unwrap();
    let queries = [
        ("workflow_name=Generator".to_owned(), "c1"),
        ("workflow_name=Other%20one".to_owned(), "c2"),
        ("user_id=zo%C3%AB".to_owned(), "c2"),
        ("status=paused".to_owned(), "c1"),
        ("status=running,failed".to_owned(), "c2"),
        ("status=failed,paused".to_owned(), "c1"),
        ("order_by=active&active_from=2001-01-01T00:00:00Z&status=paused".to_owned(), "c1"),
        (format!("created_from={created}"), "c2"),
        (format!("created_before={created}"), "c1"),
    ];
    for (query, expected) in queries {
        let page = client.get(&format!("/api/chats/acme_corp?{query}")).await.body();
        let ids: Vec<_> =
            page["data"].as_array().unwrap().iter().map(|chat| chat["chat_id"].clone()).collect();
        assert_eq!(ids, [expected], "{query}");
    }
}

#[tokio::test]
async fn chats_are_listed_by_last_activity_page_by_page() {
    let client = Client::open();
    for id in ["c1", "c2", "c3"] {
        client.create_chat(id).await;
    }
    let message = json!({"role": "user", "name": "user", "content": "hello"});
    client.post("/api/chats/acme_corp/c1/messages", json!({"messages": [message]})).await;
    let page = client.get("/api/chats/acme_corp?order_by=active").await.body();
    let ids: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|chat| chat["chat_id"].clone()).collect();
    assert_eq!(ids, ["c1", "c3", "c2"]);
    let mut path = "/api/chats/acme_corp?order_by=active&limit=1".to_owned();
    let mut ids = Vec::new();
    loop {
        let page = client.get(&path).await.body();
        let chats = page["data"].as_array().unwrap().clone();
        ids.extend(chats.iter().map(|chat| chat["chat_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let other_order = client.get(&format!("/api/chats/acme_corp?cursor={cursor}")).await;
        assert_eq!((other_order.status, other_order.culprit().as_str()), (422, "cursor"));
        path = format!("/api/chats/acme_corp?order_by=active&limit=1&cursor={cursor}");
    }
    ids.sort();
    assert_eq!(ids, ["c1", "c2", "c3"]);
}

#[tokio::test]
async fn chats_are_listed_by_title_and_sort_in_both_directions() {
    let client = Client::open();
    for (chat_id, title, sort) in
        [("c1", json!("picnic t1 x"), 3), ("c2", json!("Budget"), -1), ("c3", json!(null), 0)]
    {
        let body = json!({"chat_id": chat_id, "workflow_name": "W", "title": title, "sort": sort});
        client.post("/api/chats/acme_corp", body).await;
    }
    for (query, expected) in [
        ("order_by=title", ["c2", "c1", "c3"]),
        ("order_by=title&order=desc", ["c3", "c1", "c2"]),
        ("order_by=sort", ["c2", "c3", "c1"]),
        ("order_by=sort&order=desc", ["c1", "c3", "c2"]),
        ("order_by=created&order=asc", ["c1", "c2", "c3"]),
        ("order_by=active&order=asc", ["c1", "c2", "c3"]),
    ] {
        let (mut ids, mut next) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/chats/acme_corp?{query}&limit=1{next}");
            let page = client.get(&path).await.body();
            let chats = page["data"].as_array().unwrap();
            ids.extend(chats.iter().map(|chat| chat["chat_id"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            next = format!("&cursor={cursor}");
        }
        assert_eq!(ids, expected, "{query}");
    }
}

#[tokio::test]
async fn a_list_shows_several_lifecycles() {
    let client = Client::open();
    let paths = [
        client.create_chat("c1").await,
        client.create_chat("c2").await,
        client.create_chat("c3").await,
    ];
    client.poke(&format!("{}/archive", paths[1])).await;
    client.delete(&paths[2]).await;
    for (lifecycle, expected) in [
        ("active,archived", vec!["c2", "c1"]),
        ("all", vec!["c2", "c1"]),
        ("deleted,active", vec!["c3", "c1"]),
        ("archived,deleted,active", vec!["c3", "c2", "c1"]),
    ] {
        let path = format!("/api/chats/acme_corp?lifecycle={lifecycle}");
        let page = client.get(&path).await.body();
        let ids: Vec<_> =
            page["data"].as_array().unwrap().iter().map(|chat| chat["chat_id"].clone()).collect();
        assert_eq!(ids, expected, "{lifecycle}");
    }
    for refused in ["purged", "active,", "all,active"] {
        let answer = client.get(&format!("/api/chats/acme_corp?lifecycle={refused}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, "lifecycle"), "{refused}");
    }
}

#[tokio::test]
async fn a_list_has_time_groups_where_the_request_asks_for_them() {
    let client = Client::open();
    client.create_chat("c1").await;
    client.create_chat("c2").await;
    let page = client.get("/api/chats/acme_corp?group_by=time&tz=Europe/Berlin").await.body();
    // The store of the tests has a clock of its own, which is behind.
    let groups: Vec<_> =
        page["data"].as_array().unwrap().iter().map(|chat| chat["time_group"].clone()).collect();
    assert_eq!(groups, ["earlier", "earlier"]);
    assert_eq!(page["time_groups"], json!([{"group": "earlier", "count": 2}]));
    let plain = client.get("/api/chats/acme_corp").await.body();
    assert_eq!((plain.get("time_groups"), plain["data"][0].get("time_group")), (None, None));
    for (query, name) in [
        ("group_by=day", "group_by"),
        ("group_by=time&order_by=title", "group_by"),
        ("group_by=time&tz=Berlin", "tz"),
        ("tz=UTC", "tz"),
    ] {
        let answer = client.get(&format!("/api/chats/acme_corp?{query}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, name), "{query}");
    }
}

#[tokio::test]
async fn a_list_has_summaries_of_calls_where_the_request_asks_for_them() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    client.create_chat("c2").await;
    let call = |name: &str, at: &str| {
        json!({"call_id": name, "provider": "acme", "model": name, "called_at": at,
               "prompt_tokens": 1, "completion_tokens": 1, "cost_micros_usd": 7,
               "request_id": format!("req_{name}")})
    };
    let calls = [call("new", "2025-10-02T10:00:00Z"), call("old", "2025-10-01T10:00:00Z")];
    let recorded = client.post(&format!("{path}/calls"), json!({"calls": calls})).await;
    assert_eq!(recorded.status, 201, "{:?}", recorded.body());
    let page = client.get("/api/chats/acme_corp?summary=calls").await.body();
    let nothing = json!({"provider_call_count": 0, "cost_micros_usd": 0, "last_model": null,
        "last_provider": null, "last_request_id": null});
    assert_eq!(page["data"][0]["call_summary"], nothing);
    let some = json!({"provider_call_count": 2, "cost_micros_usd": 14, "last_model": "new",
        "last_provider": "acme", "last_request_id": "req_new"});
    assert_eq!(page["data"][1]["call_summary"], some);
    let plain = client.get("/api/chats/acme_corp").await.body();
    assert_eq!(plain["data"][0].get("call_summary"), None);
}

#[tokio::test]
async fn a_list_is_counted_where_the_request_asks_for_it() {
    let client = Client::open();
    for chat_id in ["c1", "c2", "c3"] {
        client.create_chat(chat_id).await;
    }
    client.poke("/api/chats/acme_corp/c1/pause").await;
    for (query, total) in [
        ("total=true&limit=1", json!(3)),
        ("total=true&status=running", json!(2)),
        ("total=true&order_by=active&workflow_name=other", json!(0)),
        ("total=false&limit=1", json!(null)),
    ] {
        let page = client.get(&format!("/api/chats/acme_corp?{query}")).await.body();
        assert_eq!(page["total"], total, "{query}");
        assert_eq!(page.get("total_is_at_least"), None);
    }
}

#[tokio::test]
async fn a_list_that_no_index_serves_is_refused_with_those_that_are_served() {
    let client = Client::open();
    for (order_by, name, value) in [
        ("active", "created_from", "2025-10-02T10:00:00Z"),
        ("active", "created_before", "2025-10-02T10:00:00Z"),
        ("created", "active_from", "2025-10-02T10:00:00Z"),
        ("created", "active_before", "2025-10-02T10:00:00Z"),
        ("created", "assistant_id", "helper"),
        ("created", "last_turn_outcome", "failed"),
        ("created", "needs_input", "false"),
        ("created", "status", "paused,ended"),
    ] {
        let query = format!("order_by={order_by}&{name}={value}");
        let answer = client.get(&format!("/api/chats/acme_corp?{query}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, name));
    }
    let answer = client.get("/api/chats/acme_corp?needs_input=true").await;
    assert_json_snapshot!("list_unserved", answer.snapshot());
}

#[tokio::test]
async fn meta_shows_what_a_client_needs_to_join() {
    let client = Client::open();
    let path = client.create_chat("chat_abc123").await;
    let artifact = json!({"ui_tool_id": "code_editor", "payload": {"code": "x"}});
    client.put(&format!("{path}/artifact"), artifact).await;
    let answer = client.get(&format!("{path}/meta")).await;
    assert_json_snapshot!("meta", answer.snapshot());
}

#[tokio::test]
async fn a_chat_is_paused_completed_failed_and_reopened() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let created = client.get(&path).await.body();
    let reason = json!({"reason": "waits for the user"});
    let paused = client.post(&format!("{path}/pause"), reason).await;
    assert_json_snapshot!("pause", paused.changes(&created));
    let completed = client.post(&format!("{path}/complete"), json!({})).await;
    assert_json_snapshot!("complete", completed.changes(&created));
    let reopened = client.poke(&format!("{path}/reopen")).await;
    assert_json_snapshot!("reopen", reopened.changes(&created));
    let reason = json!({"reason": "out of tokens"});
    let failed = client.post(&format!("{path}/fail"), reason).await;
    assert_json_snapshot!("fail", failed.changes(&created));
    let illegal = client.poke(&format!("{path}/pause")).await;
    assert_json_snapshot!("illegal_transition", illegal.snapshot());
}

#[tokio::test]
async fn completing_twice_answers_as_the_first_time() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let first = client.poke(&format!("{path}/complete")).await;
    let second = client.poke(&format!("{path}/complete")).await;
    assert_eq!(first.text, second.text);
}

#[tokio::test]
async fn a_missing_chat_is_not_found_on_every_route() {
    let client = Client::open();
    let path = "/api/chats/acme_corp/nowhere";
    for below in ["", "/meta", "/messages", "/messages/0", "/history", "/context", "/artifact"] {
        let answer = client.get(&format!("{path}{below}")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()), "{below}");
    }
    for below in ["/complete", "/pause", "/fail", "/reopen"] {
        let answer = client.poke(&format!("{path}{below}")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()), "{below}");
    }
    for below in ["/artifact", "/messages/0"] {
        let answer = client.delete(&format!("{path}{below}")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()), "{below}");
    }
    let answer = client.get(path).await;
    assert_json_snapshot!("not_found", answer.snapshot());
}

#[tokio::test]
async fn a_status_and_its_snapshot_are_stored_in_one_call() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let snapshot = |n: u64| json!({"context_snapshot": {"n": n}});
    let paused = client.post(&format!("{chat}/pause"), snapshot(1)).await;
    assert_eq!((paused.status, paused.text_of("status")), (200, "paused".to_owned()));
    let completed = client.post(&format!("{chat}/complete"), snapshot(2)).await;
    assert_eq!((completed.status, completed.text_of("status")), (200, "completed".to_owned()));
    let again = client.post(&format!("{chat}/complete"), snapshot(2)).await;
    assert_eq!(again.body(), completed.body());
    let context = client.get(&format!("{chat}/context")).await.body();
    assert_eq!(context["context_snapshot"], json!({"n": 2}));
    // A chat that cannot take the status keeps its snapshot.
    let refused = client.post(&format!("{chat}/pause"), snapshot(3)).await;
    assert_eq!(refused.problem(), (409, "illegal-transition".to_owned()));
    assert_eq!(client.get(&format!("{chat}/context")).await.body(), context);
    let wrong = client.post(&format!("{chat}/complete"), json!({"context_snapshot": 1})).await;
    assert_eq!((wrong.problem().0, wrong.culprit()), (422, "/context_snapshot".to_owned()));
}

#[tokio::test]
async fn a_chat_is_ensured_under_its_id() {
    let client = Client::open();
    let path = "/api/chats/acme_corp/c1";
    let first = client.put(path, json!({"workflow_name": "W", "title": "T"})).await;
    assert_eq!((first.status, first.header("location")), (201, path), "{}", first.text);
    for body in [json!({"workflow_name": "W"}), json!({"workflow_name": "W", "chat_id": "c1"})] {
        let again = client.put(path, body).await;
        assert_eq!((again.status, again.record()), (200, first.record()));
        assert_eq!(again.body()["duplicate"], true);
    }
    let other = client.put(path, json!({"workflow_name": "V"})).await;
    assert_eq!(other.problem(), (409, "chat-exists".to_owned()));
    let elsewhere = client.put(path, json!({"workflow_name": "W", "chat_id": "c2"})).await;
    assert_eq!((elsewhere.problem().0, elsewhere.culprit()), (422, "/chat_id".to_owned()));
}

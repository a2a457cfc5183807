use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::Client;
use crate::tokens::{client, hs256, token};

/// Creates a chat of three messages, the second of which is a tombstone.
async fn chat(client: &Client) -> String {
    let path = client.create_chat("c1").await;
    for n in 0..3 {
        let message = json!({"event_id": format!("e{n}"), "role": "user", "content": n});
        client.post(&format!("{path}/messages"), message).await;
    }
    client.delete(&format!("{path}/messages/1")).await;
    path
}

#[tokio::test]
async fn a_fork_answers_with_the_chat_its_address_and_where_it_is_from() {
    let client = Client::open();
    let path = chat(&client).await;
    let body = json!({
        "chat_id": "c2",
        "sequence": 2,
        "title": "Another way",
        "metadata": {"$set": 1},
        "user_id": "zoë",
        "cache_seed": 7,
    });
    let answer = client.post(&format!("{path}/fork"), body).await;
    assert_eq!(answer.header("location"), "/api/chats/acme_corp/c2");
    assert_json_snapshot!("fork", answer.snapshot());
    let forked_from = json!({"chat_id": "c1", "sequence": 2});
    let fork = answer.header("location");
    for path in [fork.to_owned(), format!("{fork}/meta")] {
        assert_eq!(client.get(&path).await.body()["forked_from"], forked_from);
    }
    let listed = client.get("/api/chats/acme_corp").await.body();
    assert_eq!(listed["data"][0]["forked_from"], forked_from);
    assert_eq!(listed["data"][1]["forked_from"], Value::Null);

    let messages = async |path: &str| client.get(&format!("{path}/messages")).await.body();
    let (source, taken) = (messages(&path).await, messages(fork).await);
    assert_eq!(taken["data"].as_array().unwrap(), &source["data"].as_array().unwrap()[..2]);
    let message = json!({"role": "user", "content": "on it goes"});
    let append = client.post(&format!("{fork}/messages"), message).await.body();
    assert_eq!(append["messages"][0]["sequence"], 2);
    assert_eq!(messages(&path).await, source);
}

#[tokio::test]
async fn all_messages_are_shared_by_default() {
    let client = Client::open();
    let path = chat(&client).await;
    client.poke(&format!("{path}/complete")).await;
    let fork = client.post(&format!("{path}/fork"), json!({})).await.body();
    assert_eq!((&fork["last_sequence"], &fork["status"]), (&json!(3), &json!("running")));
    assert_eq!(fork["forked_from"], json!({"chat_id": "c1", "sequence": 3}));
}

#[tokio::test]
async fn a_sequence_beyond_the_counter_is_refused_with_the_limit() {
    let client = Client::open();
    let path = format!("{}/fork", chat(&client).await);
    let answer = client.post(&path, json!({"sequence": 4})).await;
    assert_json_snapshot!("fork_beyond", answer.snapshot());
    for (body, pointer) in [
        (json!({"sequence": -1}), "/sequence"),
        (json!({"sequence": 1.5}), "/sequence"),
        (json!({"cache_seed": "x"}), "/cache_seed"),
        (json!({"title": "x".repeat(513)}), "/title"),
        (json!({"workflow_name": "Other"}), "/workflow_name"),
    ] {
        let answer = client.post(&path, body).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, pointer));
    }
    let large = client.post(&path, json!({"metadata": {"x": "y".repeat(20_000)}})).await;
    assert_eq!(large.problem(), (413, "metadata-too-large".to_owned()));
    assert_eq!(client.get("/api/chats/acme_corp").await.body()["data"][1], Value::Null);
}

#[tokio::test]
async fn a_fork_is_repeated_and_another_under_its_id_is_a_conflict() {
    let client = Client::open();
    let path = format!("{}/fork", chat(&client).await);
    let first = client.post(&path, json!({"chat_id": "c2"})).await;
    let again = client.post(&path, json!({"chat_id": "c2"})).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(again.record(), first.record());
    assert_eq!(again.header("location"), first.header("location"));
    let other = client.post(&path, json!({"chat_id": "c2", "title": "another"})).await;
    assert_eq!(other.problem(), (409, "chat-exists".to_owned()));
    let answer = client.post(&path, json!({"chat_id": "c1"})).await;
    assert_eq!(answer.problem(), (409, "chat-exists".to_owned()));
}

#[tokio::test]
async fn a_user_forks_visible_chats_for_themselves() {
    let unauthenticated = client(hs256());
    let service = json!({"sub": "orchestrator", "role": "service", "apps": ["*"]});
    let service = unauthenticated.with_token(token(&service));
    let bob = unauthenticated.with_token(token(&json!({"sub": "bob", "team": "blue"})));
    for (visibility, status) in [("app", 201), ("team", 201), ("private", 404)] {
        let chat = json!({
            "chat_id": visibility, "workflow_name": "Generator", "visibility": visibility,
            "user_id": "alice", "team_id": "blue",
        });
        service.post("/api/chats/acme_corp", chat).await;
        let path = format!("/api/chats/acme_corp/{visibility}/fork");
        let answer = bob.post(&path, json!({})).await;
        assert_eq!(answer.status, status, "{visibility}");
        if status == 201 {
            let fork = answer.body();
            let owned = ["user_id", "team_id", "visibility"].map(|field| fork[field].clone());
            assert_eq!(owned, [json!("bob"), json!("blue"), json!(visibility)]);
            let other = bob.post(&path, json!({"user_id": "alice"})).await;
            assert_eq!(other.problem(), (403, "forbidden-owner".to_owned()));
        }
    }
}

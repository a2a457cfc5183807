use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

async fn conversation(client: &Client) -> String {
    let path = client.create_chat("c1").await;
    let messages = json!({"messages": [
        {"role": "user", "content": "Create a todo app"},
        {"role": "system", "name": "rules", "content": "Be brief"},
        {"role": "assistant", "name": "inter viewer", "content": "What features?"},
        {"role": "assistant", "name": "planner", "content": null},
        {"role": "assistant", "name": "planner", "content": {"plan": [1]}},
    ]});
    client.post(&format!("{path}/messages"), messages).await;
    path
}

#[tokio::test]
async fn history_is_strict_and_says_what_it_dropped() {
    let client = Client::open();
    let path = conversation(&client).await;
    let answer = client.get(&format!("{path}/history")).await;
    assert_json_snapshot!("ag2", answer.snapshot());
    let named = client.get(&format!("{path}/history?dialect=ag2")).await;
    assert_eq!(named.text, answer.text);
}

#[tokio::test]
async fn another_dialect_says_what_it_repaired() {
    let client = Client::open();
    let path = conversation(&client).await;
    let answer = client.get(&format!("{path}/history?dialect=openai")).await;
    assert_json_snapshot!("openai", answer.snapshot());
}

#[tokio::test]
async fn history_may_be_windowed_and_its_nameless_users_named() {
    let client = Client::open();
    let path = conversation(&client).await;
    let window = client.get(&format!("{path}/history?newest=2")).await.body();
    let newest = json!([{"role": "assistant", "name": "planner", "content": {"plan": [1]}}]);
    assert_eq!(window["messages"], newest);
    let named = client.get(&format!("{path}/history?default_user_name=alice")).await;
    assert_eq!(named.body()["messages"][0]["name"], "alice");
}

#[tokio::test]
async fn an_unknown_dialect_is_answered_with_the_known_ones() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let answer = client.get(&format!("{path}/history?dialect=klingon")).await;
    assert_json_snapshot!("unknown_dialect", answer.snapshot());
    for query in ["newest=0", "newest=-1", "default_user_name=", "default_user_name=a%0ab"] {
        let answer = client.get(&format!("{path}/history?{query}")).await;
        assert_eq!(answer.status, 422, "{query}");
    }
}

#[tokio::test]
async fn an_empty_chat_has_an_empty_history() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let answer = client.get(&format!("{path}/history")).await.body();
    let empty = json!({"chat_id": "c1", "dialect": "ag2", "messages": [], "dropped": []});
    assert_eq!(answer, empty);
}

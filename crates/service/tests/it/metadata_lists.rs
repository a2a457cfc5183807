//! Lists of chats by a value of their metadata.

use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::Client;

const CHATS: &str = "/api/chats/acme_corp";

async fn declare(client: &Client, keys: Value) {
    client.put("/api/apps/acme_corp", json!({})).await;
    let settings = json!({"settings": {"metadata_keys": keys}});
    let declared = client.patch("/api/apps/acme_corp", settings).await;
    assert_eq!(declared.status, 200, "{}", declared.text);
}

async fn create(client: &Client, chat_id: &str, metadata: Value) {
    let chat = json!({"chat_id": chat_id, "workflow_name": "Generator", "metadata": metadata});
    assert_eq!(client.post(CHATS, chat).await.status, 201);
}

/// Returns the ids of a page.
fn ids(page: &Value) -> Vec<&str> {
    let chats = page["data"].as_array().unwrap();
    chats.iter().map(|chat| chat["chat_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn chats_are_listed_by_a_declared_key_of_their_metadata() {
    let client = Client::open();
    declare(&client, json!(["customer", "a:b"])).await;
    create(&client, "c1", json!({"customer": "acme & sons", "a:b": 5})).await;
    create(&client, "c2", json!({"customer": "acme & sons"})).await;
    create(&client, "c3", json!({"customer": "acme"})).await;
    let acme = format!("{CHATS}?metadata=customer:acme%20%26%20sons&order=asc");
    let first = client.get(&format!("{acme}&limit=1&total=true")).await.body();
    assert_eq!((ids(&first), &first["total"]), (vec!["c1"], &json!(2)));
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("{acme}&limit=1&cursor={cursor}")).await.body();
    assert_eq!((ids(&second), &second["next_cursor"]), (vec!["c2"], &Value::Null));
    let escaped = client.get(&format!("{CHATS}?metadata=a%5C:b:5")).await.body();
    assert_eq!(ids(&escaped), ["c1"]);
    client.patch(&format!("{CHATS}/c3"), json!({"metadata": {"a:b": 5}})).await;
    let escaped = client.get(&format!("{CHATS}?metadata=a%5C:b:5&order=asc")).await.body();
    assert_eq!(ids(&escaped), ["c1", "c3"]);
}

#[tokio::test]
async fn a_list_by_metadata_that_is_not_served_says_what_is() {
    let client = Client::open();
    declare(&client, json!(["region", "customer"])).await;
    let undeclared = client.get(&format!("{CHATS}?metadata=stage:test")).await;
    assert_json_snapshot!("undeclared_key", undeclared.snapshot());
    for query in [
        "metadata=customer",
        "metadata=",
        "metadata=customer:acme&order_by=active",
        "metadata=customer:acme&scope=app",
        "metadata=customer:acme&metadata=region:eu",
    ] {
        let refused = client.get(&format!("{CHATS}?{query}")).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{query}");
        assert_eq!(refused.culprit(), "metadata", "{query}");
    }
    let long = "a".repeat(1_025);
    let refused = client.get(&format!("{CHATS}?metadata=customer:{long}")).await;
    assert_eq!((refused.status, &*refused.culprit()), (422, "metadata"));
}

//! Messages by their ids and by their fields.

use axum::body::Body;
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

/// Sends a request with a header.
async fn with_header(
    client: &Client,
    (method, path): (&str, &str),
    (header, value): (&str, &str),
    body: &Value,
) -> Answer {
    let request = client.request(method, path).header(header, value);
    let request = request.header("content-type", "application/json");
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Creates a chat with the messages `evt_0` to `evt_9`, of two types.
async fn chat(client: &Client) -> String {
    let path = client.create_chat("c1").await;
    let message = |n: usize| {
        let (role, kind) =
            if n.is_multiple_of(2) { ("user", "text") } else { ("assistant", "image") };
        json!({"event_id": format!("evt_{n}"), "role": role, "content": n, "type": kind, "thread_id": format!("t{}", n % 3)})
    };
    let messages: Vec<_> = (0..10).map(message).collect();
    let answer = client.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    path
}

#[tokio::test]
async fn a_message_is_read_edited_and_deleted_by_its_id() {
    let client = Client::open();
    let messages = format!("{}/messages", chat(&client).await);
    let (by_id, by_sequence) = (format!("{messages}/by-id/evt_3"), format!("{messages}/3"));
    let read = client.get(&by_id).await;
    assert_eq!(read.body(), client.get(&by_sequence).await.body());
    let tag = read.header("etag").to_owned();
    assert_eq!(tag, client.get(&by_sequence).await.header("etag"));
    let edited = client.patch(&by_id, json!({"content": "changed"})).await;
    assert_eq!((edited.status, &edited.body()["content"]), (200, &json!("changed")));
    assert_eq!(edited.body(), client.get(&by_sequence).await.body());
    let edit = json!({"content": "late"});
    let late = with_header(&client, ("PATCH", &by_id), ("if-match", &tag), &edit).await;
    assert_eq!(late.problem(), (412, "precondition-failed".to_owned()));
    let expecting = client.delete(&format!("{by_id}?expected_last_sequence=9")).await;
    assert_eq!(expecting.problem(), (409, "sequence-conflict".to_owned()));
    let fenced = with_header(&client, ("PATCH", &by_id), ("fencing-token", "7"), &edit).await;
    assert_eq!(fenced.problem(), (409, "fenced".to_owned()));
    let deleted = client.delete(&format!("{by_id}?expected_last_sequence=10")).await;
    assert_eq!((deleted.status, &deleted.body()["content"]), (200, &Value::Null));
    assert_eq!(client.delete(&by_id).await.body(), deleted.body());
    assert_eq!(client.get(&by_id).await.body(), deleted.body());
    let gone = client.patch(&by_id, edit).await;
    assert_eq!(gone.problem(), (404, "message-not-found".to_owned()));
}

#[tokio::test]
async fn an_unknown_id_is_not_found() {
    let client = Client::open();
    let path = chat(&client).await;
    let by_id = format!("{path}/messages/by-id/evt_10");
    let answer = client.get(&by_id).await;
    assert_json_snapshot!("id_not_found", answer.snapshot());
    let edit = client.patch(&by_id, json!({"content": 1})).await;
    assert_eq!(edit.problem(), (404, "message-not-found".to_owned()));
    assert_eq!(client.delete(&by_id).await.problem(), edit.problem());
    let odd = client.get(&format!("{path}/messages/by-id/%E2%80%8B")).await;
    assert_eq!((odd.status, odd.culprit().as_str()), (422, "event_id"));
    let message = json!({"event_id": "a/b c", "role": "user", "content": 1});
    client.post(&format!("{path}/messages"), message).await;
    let found = client.get(&format!("{path}/messages/by-id/a%2Fb%20c")).await;
    assert_eq!((found.status, &found.body()["sequence"]), (200, &json!(10)));
}

#[tokio::test]
async fn several_messages_are_deleted_by_their_ids() {
    let client = Client::open();
    let path = chat(&client).await;
    let delete = format!("{path}/messages/delete");
    let ids = json!({"event_ids": ["evt_7", "nobody", "evt_2"]});
    let refused = client.post(&format!("{delete}?expected_last_sequence=3"), ids.clone()).await;
    assert_eq!(refused.problem(), (409, "sequence-conflict".to_owned()));
    let fenced = with_header(&client, ("POST", &delete), ("fencing-token", "7"), &ids).await;
    assert_eq!(fenced.problem(), (409, "fenced".to_owned()));
    let answer = client.post(&delete, ids.clone()).await;
    assert_json_snapshot!("deleted_several", answer.snapshot());
    assert_eq!(client.post(&delete, ids.clone()).await.body(), answer.body(), "a repeat");
    let tag = with_header(&client, ("POST", &delete), ("if-match", "\"x\""), &ids).await;
    assert_eq!((tag.status, tag.culprit().as_str()), (422, "If-Match"));
    let too_many: Vec<_> = (0..101).map(|n| format!("evt_{n}")).collect();
    let too_many = client.post(&delete, json!({"event_ids": too_many})).await;
    assert_eq!(too_many.problem(), (413, "batch-too-large".to_owned()));
    assert_eq!(client.post(&delete, json!({"event_ids": []})).await.status, 200);
    let wrong = client.post(&delete, json!({"event_ids": [1]})).await;
    assert_eq!((wrong.status, wrong.culprit().as_str()), (422, "/event_ids/0"));
    let listed = client.get(&format!("{path}/messages")).await.body();
    let is_deleted = |message: &&Value| message.get("deleted_at").is_some();
    assert_eq!(listed["data"].as_array().unwrap().iter().filter(is_deleted).count(), 2);
}

#[tokio::test]
async fn messages_are_selected_by_their_fields() {
    let client = Client::open();
    let path = format!("{}/messages", chat(&client).await);
    let select = async |query: &str| {
        let page = client.get(&format!("{path}?{query}")).await.body();
        let messages = page["data"].as_array().unwrap().iter();
        let sequences: Vec<_> = messages.map(|it| it["sequence"].as_u64().unwrap()).collect();
        assert_eq!(page["last_sequence"], 10);
        (sequences, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(select("role=assistant").await, (vec![1, 3, 5, 7, 9], None));
    assert_eq!(select("type=image&thread_id=t0").await, (vec![3, 9], None));
    assert_eq!(select("type=image&after=3&before=9").await, (vec![5, 7], None));
    assert_eq!(select("block_id=none").await, (vec![], None));
    assert_eq!(select("request_id=none").await, (vec![], None));
    let (first, cursor) = select("type=image&limit=2").await;
    let cursor = cursor.unwrap();
    assert_eq!(first, [1, 3]);
    let (next, _) = select(&format!("type=image&limit=2&cursor={cursor}")).await;
    assert_eq!(next, [5, 7]);
    let (newest, cursor) = select("type=image&newest=2").await;
    let cursor = cursor.unwrap();
    assert_eq!(newest, [7, 9]);
    assert_eq!(select(&format!("type=image&newest=2&cursor={cursor}")).await.0, [3, 5]);
    for field in ["role", "request_id", "block_id", "thread_id", "type"] {
        for wrong in ["", &"x".repeat(129)] {
            let refused = client.get(&format!("{path}?{field}={wrong}")).await;
            assert_eq!((refused.status, refused.culprit().as_str()), (422, field));
        }
    }
}

#[tokio::test]
async fn all_messages_of_a_chat_are_cleared() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    for batch in 0..3 {
        let messages: Vec<_> = (0..90)
            .map(|n| json!({"event_id": format!("e{batch}-{n}"), "role": "assistant", "content": "x"}))
            .collect();
        assert_eq!(
            client.post(&format!("{chat}/messages"), json!({"messages": messages})).await.status,
            201
        );
    }
    assert_eq!(client.delete(&format!("{chat}/messages/5")).await.status, 200);
    let elsewhere = format!("{chat}/messages/clear?expected_last_sequence=7");
    let refused = client.poke(&elsewhere).await;
    assert_eq!(refused.problem(), (409, "sequence-conflict".to_owned()));
    for _ in 0..2 {
        let cleared = client.poke(&format!("{chat}/messages/clear")).await;
        let expected = json!({"chat_id": "c1", "deleted": 270, "has_more": false});
        assert_eq!(cleared.body(), expected, "{}", cleared.text);
    }
    let page = client.get(&format!("{chat}/messages?after=-1&limit=100")).await.body();
    let messages = page["data"].as_array().unwrap();
    assert!(messages.iter().all(|message| message["deleted_at"].is_string()));
    let said =
        client.post(&format!("{chat}/messages"), json!({"role": "user", "content": "y"})).await;
    assert_eq!(said.body()["messages"][0]["sequence"], json!(270), "{}", said.text);
}

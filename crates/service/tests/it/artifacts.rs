use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

#[tokio::test]
async fn an_artifact_is_put_read_and_removed() {
    let client = Client::open();
    let path = format!("{}/artifact", client.create_chat("c1").await);
    assert_json_snapshot!("none", client.get(&path).await.snapshot());
    let artifact = json!({
        "ui_tool_id": "code_editor",
        "event_id": "evt_xyz789",
        "display": "artifact",
        "workflow_name": "Generator",
        "payload": {"language": "python", "$code": ["print('Hello')"]},
        "updated_at": "2025-10-02T12:14:00.123456+02:00",
    });
    let put = client.put(&path, artifact).await;
    assert_json_snapshot!("put", put.snapshot());
    assert_eq!(client.get(&path).await.text, put.text);
    for _ in 0..2 {
        let deleted = client.delete(&path).await;
        assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    }
    assert_json_snapshot!("none", client.get(&path).await.snapshot());
}

#[tokio::test]
async fn unknown_fields_of_an_artifact_are_refused_by_name() {
    let client = Client::open();
    let path = format!("{}/artifact", client.create_chat("c1").await);
    let answer = client.put(&path, json!({"payload": 1, "app_id": "other"})).await;
    assert_json_snapshot!("unknown_field", answer.snapshot());
    for (field, value) in [
        ("updated_at", json!("2025-10-02T10:14:00")),
        ("updated_at", json!(1_759_399_200)),
        ("display", json!("x".repeat(257))),
        ("ui_tool_id", json!({"$ne": null})),
    ] {
        let answer = client.put(&path, json!({field: value})).await;
        assert_eq!((answer.status, answer.culprit()), (422, format!("/{field}")));
    }
}

#[tokio::test]
async fn a_payload_beyond_its_limit_is_too_large() {
    let client = Client::open();
    let path = format!("{}/artifact", client.create_chat("c1").await);
    let answer = client.put(&path, json!({"payload": "y".repeat(9 << 20)})).await;
    assert_eq!(answer.problem(), (413, "artifact-too-large".to_owned()));
    assert_eq!(answer.culprit(), "/payload");
}

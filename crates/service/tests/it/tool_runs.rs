use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::Client;

fn run(id: &str) -> Value {
    json!({
        "run_id": id,
        "tool_name": "WebSearch",
        "agent": "researcher",
        "tool_call_id": "call_1",
        "parameters": {"query": "todo apps"},
        "result": {"hits": 3},
        "execution_time_ms": 250,
        "metadata": {"attempt": 1},
        "started_at": "2025-10-02T10:00:05.000Z",
    })
}

#[tokio::test]
async fn a_run_is_recorded_once_and_listed() {
    let client = Client::open();
    let path = format!("{}/tool-runs", client.create_chat("c1").await);
    let recorded = client.post(&path, run("run_1")).await;
    assert_eq!(recorded.status, 201);
    assert_json_snapshot!("recorded", without_time(recorded.body(), "runs"));
    let again = client.post(&path, run("run_1")).await;
    assert_eq!((again.status, &again.body()["runs"][0]["duplicate"]), (200, &json!(true)));
    let started_at = "2025-10-02T10:00:07Z";
    let failed = json!({"tool_name": "Shell", "error": "exit code 1", "started_at": started_at});
    let several = json!({"runs": [failed, run("run_1")]});
    let recorded = client.post(&path, several).await;
    assert_eq!((recorded.status, &recorded.body()["runs"][0]["is_success"]), (201, &json!(false)));

    let first = client.get(&format!("{path}?limit=1")).await.body();
    assert_eq!(first["data"][0]["tool_name"], "Shell");
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = client.get(&format!("{path}?limit=1&cursor={cursor}")).await.body();
    assert_json_snapshot!("listed", without_time(second, "data"));
    for (filter, count) in [
        ("tool=WebSearch", 1),
        ("tool=web", 0),
        ("success=false", 1),
        ("success=true&tool=Shell", 0),
        ("before=2025-10-02T10:00:05Z", 0),
        ("from=2025-10-02T10:00:05Z&before=2025-10-02T10:00:06Z", 1),
    ] {
        let listed = client.get(&format!("{path}?{filter}")).await.body();
        assert_eq!(listed["data"].as_array().unwrap().len(), count, "{filter}");
    }
}

/// Leaves out the time at which each run was recorded.
fn without_time(mut body: Value, list: &str) -> Value {
    for run in body[list].as_array_mut().unwrap() {
        run.as_object_mut().unwrap().shift_remove("recorded_at").unwrap();
    }
    body
}

#[tokio::test]
async fn runs_are_summed_up_for_a_chat_and_an_app() {
    let client = Client::open();
    let path = format!("{}/tool-runs", client.create_chat("c1").await);
    assert_json_snapshot!("no_sums", client.get(&format!("{path}/stats")).await.body());
    let mut slow = run("run_2");
    slow["execution_time_ms"] = json!(350);
    slow["error"] = json!("late");
    let runs = json!({"runs": [run("run_1"), slow]});
    client.post(&path, runs).await;
    let sums = client.get(&format!("{path}/stats")).await.body();
    assert_json_snapshot!("sums", sums);
    let other = format!("{}/tool-runs", client.create_chat("c2").await);
    client.post(&other, run("run_1")).await;
    let of_app = "/api/tool-stats/acme_corp";
    assert_eq!(client.get(of_app).await.body()["total"]["runs"], 3);
    for range in ["before=2025-10-02T10:00:05Z", "from=2025-10-02T10:00:06Z"] {
        assert_eq!(client.get(&format!("{of_app}?{range}")).await.body()["total"]["runs"], 0);
        let of_chat = client.get(&format!("{path}/stats?{range}")).await.body();
        assert_eq!(of_chat["total"]["runs"], 0);
    }
    let turned = format!("{of_app}?from=2025-01-02T00:00:00Z&before=2025-01-01T00:00:00Z");
    assert_eq!(client.get(&turned).await.culprit(), "from");
}

#[tokio::test]
async fn another_run_under_the_same_id_is_a_conflict() {
    let client = Client::open();
    let path = format!("{}/tool-runs", client.create_chat("c1").await);
    client.post(&path, run("run_1")).await;
    let mut other = run("run_1");
    other["result"] = json!(null);
    let conflict = client.post(&path, other.clone()).await;
    assert_eq!(conflict.problem(), (409, "tool-run-conflict".to_owned()));
    assert_eq!(conflict.culprit(), "/run_id");
    let batch = client.post(&path, json!({"runs": [run("run_2"), other]})).await;
    assert_eq!(batch.culprit(), "/runs/1/run_id");
    let listed = client.get(&path).await.body();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_invalid_run_is_refused_by_its_field() {
    let client = Client::open();
    let path = format!("{}/tool-runs", client.create_chat("c1").await);
    let large = json!("x".repeat(257 << 10));
    for (field, value, status) in [
        ("tool_name", json!(""), 422),
        ("tool_name", json!(null), 422),
        ("execution_time_ms", json!(-1), 422),
        ("execution_time_ms", json!(1_000_000_001), 422),
        ("started_at", json!("yesterday"), 422),
        ("metadata", json!([]), 422),
        ("success", json!(true), 422),
        ("result", large.clone(), 413),
        ("parameters", large.clone(), 413),
        ("error", json!("x".repeat(17 << 10)), 413),
        ("metadata", json!({ "large": large }), 413),
    ] {
        let mut wrong = run("run_1");
        wrong[field] = value;
        let answer = client.post(&path, wrong).await;
        assert_eq!((answer.status, answer.culprit()), (status, format!("/{field}")));
    }
    let none = client.post(&path, json!({"runs": []})).await;
    assert_eq!((none.status, none.culprit()), (422, "/runs".to_owned()));
    let many = client.post(&path, json!({"runs": vec![json!({"tool_name": "a"}); 1_001]})).await;
    assert_eq!(many.problem(), (413, "batch-too-large".to_owned()));
    for filter in ["success=1", "limit=0", "cursor=x", "tools=a", "from=today"] {
        let refused = client.get(&format!("{path}?{filter}")).await;
        assert_eq!(refused.status, 422, "{filter}: {}", refused.text);
    }
    assert_eq!(client.get(&path).await.body()["data"], json!([]));
}

#[tokio::test]
async fn runs_of_an_unknown_chat_are_not_found() {
    let client = Client::open();
    client.create_chat("c1").await;
    for path in ["/api/chats/acme_corp/unknown/tool-runs", "/api/chats/other/c1/tool-runs"] {
        let answer = client.post(path, run("run_1")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
        for path in [path, &format!("{path}/stats")] {
            assert_eq!(client.get(path).await.problem(), (404, "chat-not-found".to_owned()));
        }
    }
}

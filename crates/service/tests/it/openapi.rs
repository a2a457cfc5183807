use insta::assert_json_snapshot;
use serde_json::Value;

use crate::harness::Client;

/// Returns the description of the API.
pub(crate) async fn document() -> Value {
    let answer = Client::open().get("/openapi.json").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/json");
    answer.body()
}

/// Returns the paths, methods and operations described.
pub(crate) fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (path, method, operation))
    })
}

/// Returns a path that is described with names in it, in an app.
pub(crate) fn filled(path: &str, app_id: &str) -> String {
    path.replace("{app_id}", app_id)
        .replace("{chat_id}", "c1")
        .replace("{user_id}", "alice")
        .replace("{workflow_name}", "Generator")
        .replace("{sequence}", "0")
        .replace("{version}", "1")
        .replace("{fencing_token}", "1")
        .replace("{stack_id}", "stk_1")
        .replace("{call_id}", "call_1")
        .replace("{request_id}", "q1")
}

#[tokio::test]
async fn the_api_is_described_as_it_is() {
    let document = document().await;
    assert_json_snapshot!("document", document, { ".info.version" => "[version]" });
}

#[tokio::test]
async fn every_operation_has_a_text_a_name_and_its_problems() {
    let document = document().await;
    for (path, method, operation) in operations(&document) {
        let place = format!("{method} {path}");
        assert!(operation["summary"].is_string(), "{place}");
        assert!(operation["operationId"].is_string(), "{place}");
        if path.starts_with("/api/chats") || path.starts_with("/api/wallets") {
            for status in ["400", "401", "422", "500", "503"] {
                assert!(operation["responses"][status].is_object(), "{place}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn every_reference_in_the_description_leads_somewhere() {
    let document = document().await;
    let text = document.to_string();
    for rest in text.split("\"$ref\":\"#").skip(1) {
        let pointer = rest.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn every_route_described_is_served() {
    let client = Client::open();
    let document = document().await;
    for (path, method, _) in operations(&document) {
        let path = filled(path, "acme_corp");
        let answer = client.json(&method.to_uppercase(), &path, "").await;
        assert!(!answer.text.contains("no-such-route"), "{method} {path}");
        assert_ne!(answer.status, 405, "{method} {path}");
    }
}

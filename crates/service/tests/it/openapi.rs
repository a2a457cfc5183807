use std::collections::BTreeSet;

use axum::body::Body;
use insta::assert_json_snapshot;
use resume::dialect::{self, Dialect};
use serde_json::{Value, json};

use crate::harness::Client;
use crate::rights;

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
        .replace("{event_id}", "evt_1")
        .replace("{version}", "1")
        .replace("{fencing_token}", "1")
        .replace("{stack_id}", "stk_1")
        .replace("{stream_id}", "s1")
        .replace("{pseudonym}", &"0".repeat(64))
        .replace("{call_id}", "call_1")
        .replace("{request_id}", "q1")
}

#[tokio::test]
async fn the_api_is_described_as_it_is() {
    let document = document().await;
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Dialect"]["enum"], json!(dialect::names().collect::<Vec<_>>()));
    let stored: Vec<_> = dialect::parsed().map(Dialect::name).collect();
    assert_eq!(schemas["StoredDialect"]["enum"], json!(stored));
    assert_json_snapshot!("document", document, {
        ".info.version" => "[version]",
        ".components.schemas.Dialect.enum" => "[dialects]",
        ".components.schemas.StoredDialect.enum" => "[dialects]",
    });
}

#[tokio::test]
async fn every_operation_says_what_it_does_and_what_it_answers() {
    let document = document().await;
    let tags: Vec<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let place = format!("{method} {path}");
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{place}");
        assert!(tags.contains(&&operation["tags"][0]), "{place}");
        for text in ["summary", "description"] {
            assert!(!operation[text].as_str().unwrap().is_empty(), "{place}: {text}");
        }
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.as_str() < "400"), "{place}");
        for (status, response) in responses {
            assert!(!response["description"].as_str().unwrap().is_empty(), "{place}: {status}");
        }
        let is_problem = |it: &Value| it["content"]["application/problem+json"].is_object();
        assert!(responses.values().any(is_problem), "{place}");
        if path.starts_with("/api/chats") || path.starts_with("/api/wallets") {
            for status in ["400", "401", "422", "500", "503"] {
                assert!(is_problem(&responses[status]), "{place}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn every_body_has_an_example_that_the_service_accepts() {
    let client = Client::open();
    let document = document().await;
    let described = rights::operations(&client).await;
    for mut operation in described.into_iter().filter(|operation| !operation.body.is_null()) {
        let method = operation.method.as_str().to_lowercase();
        let example = example_of_body(&document, &document["paths"][&operation.path][method]);
        operation.body = example.unwrap_or_else(|| panic!("{} has no example", operation.id));
        let client = Client::open();
        rights::chat_of_alice(&client, &client, "private").await;
        let answer = rights::call(&client, &operation, "alice", "c1").await;
        let (id, text) = (&operation.id, &answer.text);
        assert!(
            answer.status < 500 && ![400, 413, 415, 422].contains(&answer.status),
            "{id}: {text}"
        );
    }
}

/// Returns the example of an operation's body.
pub(crate) fn example_of_body(document: &Value, operation: &Value) -> Option<Value> {
    let content = &operation["requestBody"]["content"]["application/json"];
    example(document, resolved(document, &content["schema"]))
}

/// Returns a schema, or the one it refers to.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str();
    pointer.map_or(schema, |pointer| document.pointer(&pointer[1..]).unwrap())
}

/// Returns the example of a schema; of a union, that of its first member.
fn example(document: &Value, schema: &Value) -> Option<Value> {
    let of_member = |union: &str| example(document, resolved(document, schema.get(union)?.get(0)?));
    let own = schema.get("example").or_else(|| schema.get("examples")?.get(0));
    own.cloned().or_else(|| of_member("oneOf")).or_else(|| of_member("anyOf"))
}

#[tokio::test]
async fn whatever_is_one_of_several_tells_which() {
    let document = document().await;
    let mut unions = Vec::new();
    collect_unions(&document, &mut unions);
    assert!(unions.len() > 1);
    for union in unions {
        let members = union["oneOf"].as_array().unwrap();
        let members: Vec<_> = members.iter().map(|member| resolved(&document, member)).collect();
        for (index, member) in members.iter().enumerate() {
            for other in &members[index + 1..] {
                let is_told = union.get("discriminator").is_some()
                    || member["type"] != other["type"]
                    || differs(member, other)
                    || differs(other, member);
                assert!(is_told, "{member} and {other}");
            }
        }
    }
}

/// Returns whether an object must have a field that another one may not have.
fn differs(object: &Value, other: &Value) -> bool {
    let required = object["required"].as_array();
    let has = |field: &Value| other["properties"].get(field.as_str().unwrap()).is_some();
    other["additionalProperties"] == false && required.is_some_and(|it| !it.iter().all(has))
}

fn collect_unions<'a>(value: &'a Value, unions: &mut Vec<&'a Value>) {
    if value["oneOf"].is_array() {
        unions.push(value);
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|value| collect_unions(value, unions)),
        Value::Array(items) => items.iter().for_each(|value| collect_unions(value, unions)),
        _ => {}
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
        let request = client.request(&method.to_uppercase(), &path);
        let request = request.header("content-type", "application/json").body(Body::empty());
        let answer = client.send_without_stream(request.unwrap()).await;
        assert!(!answer.text.contains("no-such-route"), "{method} {path}");
        assert_ne!(answer.status, 405, "{method} {path}");
    }
}

/// The problems of requests that reach no operation.
const OF_NO_OPERATION: [&str; 4] =
    ["invalid-transfer-encoding", "invalid-host", "no-such-route", "method-not-allowed"];

#[tokio::test]
async fn every_kind_of_problem_belongs_to_an_operation() {
    let document = document().await;
    let described = document["components"]["examples"].as_object().unwrap();
    let codes = document["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    let codes = codes.iter().map(|code| code.as_str().unwrap());
    let unused: Vec<_> = codes.filter(|code| !described.contains_key(*code)).collect();
    assert_eq!(unused, OF_NO_OPERATION);
}

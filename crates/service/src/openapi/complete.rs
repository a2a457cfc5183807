//! Completes the collected description with what holds for every operation, so that no route has to say it.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use crate::problem::examples;

/// Returns the whole document.
pub(crate) fn complete(document: &OpenApi) -> Value {
    // Plain structs always serialize.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    for operation in items(&mut document["paths"]).flat_map(items) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            parameter["schema"] = never_null(parameter["schema"].take());
        }
        for content in operation.pointer_mut("/requestBody/content").into_iter().flat_map(items) {
            content["schema"] = never_null(content["schema"].take());
        }
        for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
            add_headers(status, response);
        }
    }
    open_objects(&mut document);
    let used = document.to_string();
    let is_used = |code: &str| used.contains(&format!("\"#/components/examples/{code}\""));
    document["components"]["examples"] = examples(is_used);
    document["components"]["headers"] = headers();
    document["servers"] = json!([{"url": "/"}]);
    document
}

/// Says of each object without named fields that it may have any: generators take it for one without fields.
fn open_objects(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_object = fields
                .get("type")
                .is_some_and(|kind| *kind == "object" || *kind == json!(["object", "null"]));
            if is_object
                && !["properties", "additionalProperties"].iter().any(|it| fields.contains_key(*it))
            {
                fields.insert("additionalProperties".to_owned(), true.into());
            }
            fields.values_mut().for_each(open_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        _ => {}
    }
}

/// Returns the values of an object.
fn items(object: &mut Value) -> impl Iterator<Item = &mut Value> {
    object.as_object_mut().into_iter().flat_map(Map::values_mut)
}

/// Removes null from the schema of a parameter or of a body: it is missing, and never null.
fn never_null(mut schema: Value) -> Value {
    let is_null = |kind: &Value| *kind == "null" || kind["type"] == "null";
    for union in ["type", "oneOf"] {
        let Some(kinds) = schema.get_mut(union).and_then(Value::as_array_mut) else { continue };
        kinds.retain(|kind| !is_null(kind));
        let only = if kinds.len() == 1 { kinds.pop() } else { None };
        match only {
            Some(kind) if union == "type" => schema["type"] = kind,
            Some(kind) => return kind,
            None => {}
        }
    }
    schema
}

/// Adds the headers that responses of a status have.
fn add_headers(status: &str, response: &mut Value) {
    let names: &[&str] = match status {
        "303" => &["Location", "Set-Cookie"],
        "401" => &["WWW-Authenticate"],
        "408" | "503" | "504" => &["Retry-After"],
        "429" => &["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
        _ => &[],
    };
    for name in names {
        response["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
    }
}

fn headers() -> Value {
    let number = |description: &str| json!({"description": description, "schema": {"type": "integer", "minimum": 0}});
    let text =
        |description: &str| json!({"description": description, "schema": {"type": "string"}});
    json!({
        "Location": text("Where the browser goes"),
        "Set-Cookie": text("What the browser keeps until it is signed in, or while it is"),
        "WWW-Authenticate": {
            "description": "The scheme of the token", "required": true,
            "schema": {"type": "string", "const": "Bearer"},
        },
        "Retry-After": number("After how many seconds to try again"),
        "RateLimit-Limit": number("How many may come at once"),
        "RateLimit-Remaining": number("What is left of the quota"),
        "RateLimit-Reset": number("After how many seconds the quota is whole again"),
    })
}

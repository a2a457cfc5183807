//! Bodies of JSON, sent to every operation that takes one.

use serde_json::Value;

use super::Target;
use crate::input;
use crate::world::{App, OPERATIONS, Operation, World, operation};

pub(super) const TARGET: Target = Target { name: "bodies", check, seeds };

/// The first line is the id of the operation, the rest the body.
fn check(bytes: &[u8]) {
    let (id, body) = input::line(bytes);
    let Some(operation) = operation(id).filter(|it| it.example.is_some()) else { return };
    World::lend(|app| {
        let chat = app.fill();
        let path = app.path_of(operation, None);
        let answer = app.call(operation.method.as_str(), &path, body);
        answer.check(operation.is_foreign);
        if answer.status.is_success() {
            check_stored(app, operation, &chat, body);
        } else if !operation.is_foreign && serde_json::from_slice::<Value>(body).is_err() {
            assert!(answer.status.is_client_error(), "a text that is not JSON is refused");
        }
    });
}

/// Checks that what was stored is returned as it was sent, and that nothing breaks a read.
fn check_stored(app: &App<'_>, operation: &Operation, chat: &str, body: &[u8]) {
    let sent: Value = serde_json::from_slice(body).unwrap_or_default();
    match operation.id.as_str() {
        "append_messages" => {
            let stored = app.call("GET", &format!("{chat}/messages?after=1"), b"").json();
            let stored = stored["data"].as_array().unwrap();
            let one = std::slice::from_ref(&sent);
            let sent = sent.get("messages").and_then(Value::as_array).map_or(one, Vec::as_slice);
            // There are fewer if some were stored before.
            if sent.len() == stored.len() {
                for (sent, stored) in sent.iter().zip(stored) {
                    assert_eq!(
                        sent["content"], stored["content"],
                        "a content comes back as it was"
                    );
                }
            }
        }
        "replace_context" => {
            let stored = app.call("GET", &format!("{chat}/context"), b"").json();
            assert_eq!(stored["context_snapshot"], sent, "a context comes back as it was");
        }
        "put_artifact" => {
            let stored = app.call("GET", &format!("{chat}/artifact"), b"").json();
            assert_eq!(
                stored["last_artifact"]["payload"], sent["payload"],
                "a payload comes back as it was"
            );
        }
        _ => {}
    }
    for part in
        ["", "/messages", "/history?dialect=openai", "/resume", "/input-requests", "/streams"]
    {
        app.call("GET", &format!("{chat}{part}"), b"").check(false);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let with_body = OPERATIONS.iter().filter_map(|it| Some((it, it.example.as_ref()?)));
    with_body.map(|(it, example)| format!("{}\n{example}", it.id).into_bytes()).collect()
}

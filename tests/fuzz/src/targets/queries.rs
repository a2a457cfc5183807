//! Query strings and parameters of paths, of every operation.

use axum::body::Body;
use axum::http::{Request, Uri};

use super::Target;
use crate::input;
use crate::world::{self, OPERATIONS, World, operation};

pub(super) const TARGET: Target = Target { name: "queries", check, seeds };

/// The first line is the id of the operation, the second one the query, the third, if there is one, the last parameter of the path.
fn check(bytes: &[u8]) {
    let (id, rest) = input::line(bytes);
    let (query, last) = input::line(rest);
    let Some(operation) = operation(id) else { return };
    // This one waits, if it is asked to.
    if operation.id == "get_input_request" && query.windows(4).any(|part| part == b"wait") {
        return;
    }
    World::lend(|app| {
        app.fill();
        let path = app.path_of(operation, (!last.is_empty()).then_some(last));
        let address = format!("{path}?{}", world::query(query));
        let Ok(uri) = address.parse::<Uri>() else { return };
        let mut request = Request::builder().method(operation.method.clone()).uri(uri);
        let body = operation.example.as_ref().map(ToString::to_string);
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let answer =
            app.world().send(request.body(body.map_or(Body::empty(), Body::from)).unwrap());
        answer.check(operation.is_foreign);
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let values = ["1", "true", "alice", "2026-01-02T03:04:05Z", "openai", "a:b", "-1", "MTIgYw"];
    let of = |operation: &'static world::Operation| {
        let numbered = operation.parameters.iter().enumerate();
        let pairs =
            numbered.map(|(number, name)| format!("{name}={}", values[number % values.len()]));
        let each = pairs.clone().map(|pair| format!("{}\n{pair}", operation.id));
        let all = format!("{}\n{}", operation.id, pairs.collect::<Vec<_>>().join("&"));
        let of_path = format!("{}\n\nx%/é", operation.id);
        each.chain([all, of_path]).map(String::into_bytes).collect::<Vec<_>>()
    };
    OPERATIONS.iter().flat_map(of).collect()
}

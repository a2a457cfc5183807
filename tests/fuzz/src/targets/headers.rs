//! Headers: ranges, conditions, idempotency keys, fencing tokens, media types, cookies and all others.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::json;

use super::Target;
use crate::input;
use crate::world::{self, Answer, App, World, operation};

pub(super) const TARGET: Target = Target { name: "headers", check, seeds };

/// What the document holds.
const CONTENT: &[u8] = b"[1,2,3]";

/// The first line is the id of the operation, each other line a header.
fn check(bytes: &[u8]) {
    let (id, rest) = input::line(bytes);
    let Some(operation) = operation(id) else { return };
    let headers: Vec<_> = rest.split(|it| *it == b'\n').filter_map(world::header).collect();
    World::lend(|app| {
        app.fill();
        let path = app.path_of(operation, None);
        let mut request = Request::builder().method(operation.method.clone()).uri(path);
        let body = operation
            .example
            .clone()
            .or_else(|| operation.path.contains("documents").then(|| json!("x")));
        let names_type = headers.iter().any(|(name, _)| name == "content-type");
        if body.is_some() && !names_type && operation.method != "GET" {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let body = body.filter(|_| operation.method != "GET").map(|it| it.to_string());
        let answer =
            app.world().send(request.body(body.map_or(Body::empty(), Body::from)).unwrap());
        answer.check(operation.is_foreign);
        if operation.id == "get_document" {
            check_document(app, &answer);
        }
    });
}

/// Checks that the part of a document is the part that the response says.
fn check_document(app: &App<'_>, answer: &Answer) {
    match answer.status {
        StatusCode::OK => assert_eq!(&answer.body[..], CONTENT),
        StatusCode::NOT_MODIFIED => assert!(answer.body.is_empty()),
        StatusCode::PARTIAL_CONTENT => {
            let text = answer.headers["content-range"].to_str().unwrap();
            let (range, size) = text.strip_prefix("bytes ").unwrap().split_once('/').unwrap();
            let (first, last) = range.split_once('-').unwrap();
            assert_eq!(size, CONTENT.len().to_string());
            let range = first.parse().unwrap()..=last.parse::<usize>().unwrap();
            assert_eq!(&answer.body[..], &CONTENT[range]);
        }
        _ => {}
    }
    let document = format!("/api/documents/{}/notes/a", app.id);
    assert_eq!(&app.call("GET", &document, b"").body[..], CONTENT, "a read changes nothing");
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "get_document\nRange: bytes=1-3",
        "get_document\nRange: bytes=-2",
        "get_document\nRange: bytes=4-",
        "get_document\nIf-None-Match: W/\"1\", \"x\"",
        "get_document\nIf-None-Match: *\nRange: bytes=0-0",
        "put_document\nIf-Match: \"1\", *\nContent-Type: text/plain; charset=utf-8",
        "put_document\nIf-None-Match: *\nContent-Type: application/octet-stream",
        "append_document\nIdempotency-Key: k1",
        "append_messages\nIdempotency-Key: \"k1\"\nFencing-Token: 1",
        "replace_context\nIf-Match: *\nFencing-Token: 18446744073709551615",
        "get_history\nAccept: application/x-ndjson;q=0.5, application/json;q=0.1, */*;q=0",
        "list_messages\nAccept: text/csv",
        "get_resume\nPrefer: wait=1",
        "list_chats\nAuthorization: Bearer x.y.z\nCookie: a=b; __Host-reprise=x",
        "list_chats\nX-Request-Id: req_1\nX-Forwarded-For: 10.0.0.1, ::1\nForwarded: for=x",
        "list_chats\nOrigin: https://example.org\nAccess-Control-Request-Method: PUT",
        "list_chats\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate: a=b",
        "create_chat\nContent-Type: application/json; charset=utf-8\nContent-Encoding: identity\nContent-Length: 5",
        "join\nUpgrade: websocket\nConnection: upgrade\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\nSec-WebSocket-Version: 13\nSec-WebSocket-Protocol: reprise.v1, mozaiks.v1",
        "listen\nLast-Event-ID: 41.3",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

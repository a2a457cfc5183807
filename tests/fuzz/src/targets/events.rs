//! Positions in the live events of a chat: every message behind a position is sent once and in order.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::Target;
use crate::input;
use crate::world::{self, App, World};

pub(super) const TARGET: Target = Target { name: "events", check, seeds };

const MESSAGES: u64 = 5;

/// The first line is the `Last-Event-ID`, the second one the query.
fn check(bytes: &[u8]) {
    let (id, query) = input::line(bytes);
    let Ok(id) = HeaderValue::from_bytes(id) else { return };
    World::lend(|app| {
        let chat = app.create_chat();
        let message = |number| json!({"role": "user", "content": number});
        let messages: Vec<Value> = (0..MESSAGES).map(message).collect();
        app.must("POST", &format!("{chat}/messages"), &json!({"messages": messages}));
        app.must("PATCH", &format!("{chat}/messages/1"), &json!({"content": "edited"}));
        let uri = format!("{chat}/events?{}", world::query(query));
        let mut request = Request::builder().uri(uri);
        if !id.is_empty() {
            request = request.header("last-event-id", &id);
        }
        let Ok(request) = request.body(Body::empty()) else { return };
        if let Some(sent) = listen(app, request) {
            check_sent(&sent, (!id.is_empty()).then_some(&id));
        }
    });
}

/// Returns the names and ids of the events up to the one that says that the client has caught up; `None` if it is refused.
fn listen(app: &App<'_>, request: Request<Body>) -> Option<Vec<(String, String)>> {
    app.world().runtime().block_on(async {
        let response = app.world().router().oneshot(request).await.unwrap();
        if response.status() != StatusCode::OK {
            assert!(response.status().is_client_error(), "{response:?}");
            return None;
        }
        let mut body = response.into_body().into_data_stream();
        let (mut text, mut events) = (String::new(), Vec::new());
        loop {
            let part = timeout(Duration::from_secs(5), body.next()).await.expect("it catches up");
            let part = part.expect("the stream goes on").unwrap();
            text.push_str(str::from_utf8(&part).expect("events are text"));
            while let Some((event, rest)) = text.split_once("\n\n") {
                let field = |name: &str| {
                    let mut fields = event.lines().filter_map(|line| line.strip_prefix(name));
                    fields.next().unwrap_or("").to_owned()
                };
                let data: Value = serde_json::from_str(&field("data: ")).expect("data is JSON");
                assert!(data.is_object());
                events.push((field("event: "), field("id: ")));
                text = rest.to_owned();
            }
            if events.iter().any(|(name, _)| name == "caught-up") {
                return Some(events);
            }
        }
    })
}

fn check_sent(events: &[(String, String)], id: Option<&HeaderValue>) {
    let number = |id: &str| id.split('.').next().unwrap().parse::<i64>().unwrap();
    let messages = events.iter().filter(|(name, _)| name == "message" || name == "message-deleted");
    let numbers: Vec<i64> = messages.map(|(_, id)| number(id)).collect();
    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "in order and once: {numbers:?}");
    let Some(id) = id else { return };
    let last = number(id.to_str().expect("an accepted position is text"));
    let expected: Vec<i64> = (last.saturating_add(1)..MESSAGES.cast_signed()).collect();
    assert_eq!(numbers, expected, "everything behind {last}");
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "-1\n",
        "2\n",
        "1.1\n",
        "41.3\n",
        "\nafter=3",
        "\nafter=1.0",
        "0\nafter=4&ticket=x",
        "01\n",
        "9223372036854775807.9223372036854775807\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

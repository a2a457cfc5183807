//! Properties of every request, on every route.

use axum::body::Body;
use insta::assert_json_snapshot;
use serde_json::json;

use crate::harness::Client;

#[tokio::test]
async fn unknown_routes_and_wrong_methods_are_problems() {
    let client = Client::open();
    for path in ["/api", "/api/chats", "/api/chats/", "/api/chats/a/b/c/d/e", "/robots.txt"] {
        let answer = client.get(path).await;
        assert_eq!(answer.problem(), (404, "no-such-route".to_owned()), "{path}");
    }
    assert_json_snapshot!("no_such_route", client.get("/nowhere").await.snapshot());
    let wrong = client.put("/api/chats/acme_corp", json!({})).await;
    assert_json_snapshot!("method_not_allowed", wrong.snapshot());
    assert_eq!(wrong.header("allow"), "GET,HEAD,POST");
}

#[tokio::test]
async fn the_type_of_a_problem_is_the_address_of_a_page_about_it() {
    let client = Client::open();
    let missing = client.get("/api/chats/acme_corp/none").await;
    let page = client.get(&missing.text_of("type")).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains("<code>chat-not-found</code>"), "{}", page.text);
    let all = client.get("/problems").await;
    assert!(all.text.contains(r#"id="chat-not-found""#) && all.text.contains(r#"id="busy""#));
    assert_eq!(client.get("/problems/none").await.problem(), (404, "no-such-route".to_owned()));
    for answer in [missing, page, client.get("/api/health/live").await] {
        assert_eq!(answer.header("reprise-version"), env!("CARGO_PKG_VERSION"));
    }
}

#[tokio::test]
async fn a_request_id_is_kept_only_when_it_is_well_formed() {
    let client = Client::open();
    let longest = "x".repeat(64);
    for (given, is_kept) in [
        ("a-Z_09", true),
        (longest.as_str(), true),
        ("", false),
        ("a b", false),
        ("a;b", false),
        (&"x".repeat(65), false),
        ("\u{1b}[31m", false),
    ] {
        let mut request = client.request("GET", "/nowhere").body(Body::empty()).unwrap();
        let value = axum::http::HeaderValue::from_bytes(given.as_bytes());
        let Ok(value) = value else { continue };
        request.headers_mut().insert("x-request-id", value);
        let answer = client.send(request).await;
        let echoed = answer.header("x-request-id");
        assert_eq!(echoed == given, is_kept, "{given:?}");
        assert_eq!(answer.body()["http_request_id"], echoed);
        assert!(is_kept || echoed.starts_with("req_"), "{echoed}");
    }
}

#[tokio::test]
async fn no_response_can_be_rendered_as_a_page() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let script = json!({"role": "user", "content": "<script>alert(1)</script>"});
    client.post(&format!("{path}/messages"), script).await;
    for below in ["/messages", "/history", "/nowhere", ""] {
        let answer = client.get(&format!("{path}{below}")).await;
        let media_type = answer.header("content-type");
        assert!(["application/json", "application/problem+json"].contains(&media_type));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        let policy = "default-src 'none'; frame-ancestors 'none'";
        assert_eq!(answer.header("content-security-policy"), policy);
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn other_sites_get_no_permission_to_read() {
    let client = Client::open();
    let request = client
        .request("OPTIONS", "/api/chats/acme_corp")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .body(Body::empty());
    let answer = client.send(request.unwrap()).await;
    assert_eq!(answer.problem(), (405, "method-not-allowed".to_owned()));
    assert_eq!(answer.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn head_answers_like_get_without_a_body() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let request = client.request("HEAD", &path).body(Body::empty()).unwrap();
    let answer = client.send(request).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, ""));
}

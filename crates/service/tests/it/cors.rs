//! Requests by pages of other origins.

use axum::body::Body;
use service::AuthConfig;

use crate::harness::{Answer, Client};
use crate::tokens::{client, hs256, token};

const ALLOWED: &str = "https://app.example";
const CHATS: &str = "/api/chats/acme_corp";

fn with_origins(origins: &[&str]) -> Client {
    let allowed_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    client(AuthConfig { allowed_origins, ..hs256() })
}

async fn preflight(client: &Client, origin: &str) -> Answer {
    let request = client.request("OPTIONS", CHATS).header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    let request = request.header("access-control-request-headers", "authorization,content-type");
    client.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn preflights_of_allowed_origins_are_answered_without_a_token() {
    let client = with_origins(&["https://App.Example"]);
    let answer = preflight(&client, ALLOWED).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), ALLOWED);
    assert_eq!(answer.header("access-control-allow-credentials"), "", "tokens are no cookies");
    assert!(answer.header("access-control-allow-methods").contains("PATCH"));
    assert!(answer.header("access-control-allow-headers").contains("authorization"));
    assert!(answer.header("vary").contains("origin"));
}

#[tokio::test]
async fn only_exact_origins_may_read_responses() {
    let client = with_origins(&[ALLOWED]).with_token(token(&serde_json::json!({})));
    for (origin, allowed) in [
        (ALLOWED, ALLOWED),
        ("http://app.example", ""),
        ("https://app.example:8443", ""),
        ("https://app.example.evil.example", ""),
        ("https://evil.example", ""),
        ("null", ""),
        ("*", ""),
    ] {
        assert_eq!(preflight(&client, origin).await.header("access-control-allow-origin"), allowed);
        for path in [CHATS, "/no/such/route"] {
            let request = client.request("GET", path).header("origin", origin);
            let answer = client.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.header("access-control-allow-origin"), allowed, "{origin} {path}");
        }
    }
}

#[tokio::test]
async fn without_allowed_origins_no_page_elsewhere_is_answered() {
    let answer = preflight(&with_origins(&[]), ALLOWED).await;
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_page_elsewhere_reads_a_document_in_parts() {
    let client = with_origins(&[ALLOWED]);
    assert!(
        preflight(&client, ALLOWED).await.header("access-control-allow-headers").contains("range")
    );
    let request = client.request("GET", CHATS).header("origin", ALLOWED);
    let answer = client.send(request.body(Body::empty()).unwrap()).await;
    let exposed = answer.header("access-control-expose-headers").to_lowercase();
    assert!(exposed.split(',').any(|header| header.trim() == "content-range"), "{exposed}");
}

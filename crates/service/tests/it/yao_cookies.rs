//! The token of a page of Yao, in a cookie.

use records::AppId;
use serde_json::{Value, json};
use service::{AdaptersConfig, AuthConfig, Config, YaoConfig};

use crate::harness::{Answer, Client, memory};
use crate::tokens::{hs256, limits, token};
use crate::yao::error;

const ASSISTANTS: &str = "/yao/acme_corp/v1/agent/assistants";
const ALLOWED: &str = "https://app.example";

fn client() -> Client {
    let yao =
        YaoConfig { enabled: true, app_id: AppId::parse("acme_corp").ok(), ..YaoConfig::default() };
    let adapters = AdaptersConfig { yao, ..AdaptersConfig::default() };
    let auth = AuthConfig { allowed_origins: vec![ALLOWED.to_owned()], ..hs256() };
    Client::over(memory(), Config { adapters, auth, limits: limits(), ..Config::default() })
}

/// Sends a request of a page with this cookie.
async fn send(client: &Client, target: &str, cookie: &str, origin: Option<&str>) -> Answer {
    let (method, path) = target.split_once(' ').unwrap();
    let request = client.request(method, path).header("host", "chat.example");
    let request = request.header("cookie", cookie).header("content-type", "application/json");
    let request = match origin {
        Some(origin) => request.header("origin", origin),
        None => request,
    };
    let body =
        if method == "GET" { Value::Null } else { json!({"assistant_id": "a", "name": "A"}) };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.send(request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_token_in_a_cookie_identifies_a_page_of_the_service_or_an_allowed_one() {
    let client = client();
    let of_ann = token(&json!({"sub": "ann"}));
    for (name, scheme) in [
        ("__Host-access_token", ""),
        ("__Secure-access_token", "Bearer%20"),
        ("__Host-access_token", "Bearer "),
    ] {
        let cookie = format!("theme=dark; {name}={scheme}{of_ann}");
        for origin in ["https://chat.example", ALLOWED] {
            let saved = send(&client, &format!("POST {ASSISTANTS}"), &cookie, Some(origin)).await;
            assert_eq!(saved.status, 200, "{name} {origin} {}", saved.text);
        }
        for path in [ASSISTANTS, "/v1/agent/assistants"] {
            let listed = send(&client, &format!("GET {path}"), &cookie, None).await;
            assert_eq!((listed.status, &listed.body()["total"]), (200, &json!(1)), "{name}");
        }
    }
    let native = client.with_token(of_ann).get("/api/assistants/acme_corp/a").await.body();
    assert_eq!((&native["user_id"], &native["version"]), (&json!("ann"), &json!(1)));
}

#[tokio::test]
async fn pages_of_other_sites_cannot_use_the_cookie() {
    let client = client();
    let cookie = format!("__Host-access_token={}", token(&json!({"sub": "ann"})));
    let denied = (403, "access_denied".to_owned());
    for target in [format!("GET {ASSISTANTS}"), format!("POST {ASSISTANTS}")] {
        for origin in ["https://evil.example", "null", "https://chat.example.evil.example"] {
            let refused = send(&client, &target, &cookie, Some(origin)).await;
            assert_eq!(error(&refused), denied, "{target} {origin}");
        }
    }
    let unnamed = send(&client, &format!("POST {ASSISTANTS}"), &cookie, None).await;
    assert_eq!(error(&unnamed), denied);
    let listed = send(&client, &format!("GET {ASSISTANTS}"), &cookie, None).await;
    assert_eq!(listed.body()["total"], 0);
}

#[tokio::test]
async fn the_cookie_counts_nowhere_else_and_never_beside_a_header() {
    let client = client();
    let cookie = format!("__Host-access_token={}", token(&json!({"sub": "ann"})));
    let native = send(&client, "GET /api/assistants/acme_corp", &cookie, None).await;
    assert_eq!(native.problem(), (401, "unauthenticated".to_owned()));
    let unauthenticated = (401, "invalid_token".to_owned());
    for cookie in ["__Host-access_token=", "__Host-access_token=x", &format!("{cookie}; {cookie}")]
    {
        let refused = send(&client, &format!("GET {ASSISTANTS}"), cookie, None).await;
        assert_eq!(error(&refused), unauthenticated, "{cookie}");
    }
    let wrong = client.with_token("wrong");
    let refused = send(&wrong, &format!("GET {ASSISTANTS}"), &cookie, None).await;
    assert_eq!(error(&refused), unauthenticated);
}

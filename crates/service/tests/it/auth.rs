//! Which tokens are accepted.

use axum::body::Body;
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use service::AuthConfig;

use crate::harness::Client;
use crate::signing::sign;
use crate::tokens::{SECRET, claims, client, hs256, seconds, status, token};

const CHATS: &str = "/api/chats/acme_corp";

#[tokio::test]
async fn a_valid_token_is_accepted_and_a_missing_one_refused() {
    let client = client(hs256());
    assert_eq!(status(&client, &token(&json!({}))).await, 200);
    let without = client.get(CHATS).await;
    assert_json_snapshot!("no_token", without.snapshot());
    assert_eq!(without.header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn everything_but_health_signing_in_and_the_description_needs_a_token() {
    let client = client(hs256());
    let document = client.get("/openapi.json").await.body();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let answer = client.json(&method.to_uppercase(), path, "{}").await;
            let open = ["/api/health", "/api/sign-", "/api/session"];
            let is_open = open.iter().any(|open| path.starts_with(open));
            assert_eq!(answer.status == 401, !is_open, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn other_schemes_and_repeated_headers_are_refused() {
    let client = client(hs256());
    let good = token(&json!({}));
    for headers in [
        vec![format!("Basic {good}")],
        vec![good.clone()],
        vec!["Bearer".to_owned()],
        vec![format!("Bearer {good}"), format!("Bearer {good}")],
    ] {
        let mut request = client.request("GET", CHATS);
        for header in headers {
            request = request.header("authorization", header);
        }
        let answer = client.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 401);
    }
    let in_query = client.get(&format!("{CHATS}?access_token={good}")).await;
    assert_eq!(in_query.status, 401);
}

#[tokio::test]
async fn times_are_checked_with_the_leeway_configured() {
    let lenient = client(AuthConfig { leeway_sec: 60, ..hs256() });
    let strict = client(AuthConfig { leeway_sec: 0, ..hs256() });
    for (changes, with_leeway, without) in [
        (json!({"exp": seconds(-30)}), 200, 401),
        (json!({"exp": seconds(-120)}), 401, 401),
        (json!({"nbf": seconds(30)}), 200, 401),
        (json!({"nbf": seconds(120)}), 401, 401),
        (json!({"nbf": seconds(-1)}), 200, 200),
        (json!({"exp": null}), 401, 401),
        (json!({"exp": "never"}), 401, 401),
    ] {
        let token = token(&changes);
        assert_eq!(status(&lenient, &token).await, with_leeway, "{changes}");
        assert_eq!(status(&strict, &token).await, without, "{changes}");
    }
    let expired = lenient.with_token(token(&json!({"exp": seconds(-120)})));
    assert_json_snapshot!("expired", expired.get(CHATS).await.snapshot());
}

#[tokio::test]
async fn the_default_leeway_is_a_few_seconds() {
    let client = client(hs256());
    for changes in [json!({"exp": seconds(-10)}), json!({"nbf": seconds(60)})] {
        assert_eq!(status(&client, &token(&changes)).await, 401, "{changes}");
    }
    assert_eq!(status(&client, &token(&json!({"nbf": seconds(3)}))).await, 200);
}

/// An ID token tells a client program who has signed in; it is no permission to call a service.
#[tokio::test]
async fn only_access_tokens_are_accepted() {
    let client = client(hs256());
    for (typ, expected) in [
        (Value::Null, 200),
        (json!("JWT"), 200),
        (json!("jwt"), 200),
        (json!("at+jwt"), 200),
        (json!("application/at+jwt"), 200),
        (json!("id_token+jwt"), 401),
        (json!("ID_TOKEN+JWT"), 401),
        (json!("application/id_token+jwt"), 401),
        (json!("dpop+jwt"), 401),
        (json!("logout+jwt"), 401),
        (json!("JWT "), 401),
        (json!(""), 401),
        (json!(["JWT"]), 401),
    ] {
        let mut header = json!({"alg": "HS256"});
        if !typ.is_null() {
            header["typ"] = typ.clone();
        }
        let token = sign(&header, &claims(&json!({})).to_string(), SECRET);
        assert_eq!(status(&client, &token).await, expected, "{typ}");
    }
}

#[tokio::test]
async fn issuer_and_audience_are_required_when_configured() {
    let client = client(AuthConfig {
        issuer: Some("https://login.example".to_owned()),
        audience: Some("reprise".to_owned()),
        ..hs256()
    });
    let right = json!({"iss": "https://login.example", "aud": "reprise"});
    for (name, value, expected) in [
        ("iss", json!("https://login.example"), 200),
        ("iss", json!("https://evil.example"), 401),
        ("iss", Value::Null, 401),
        ("aud", json!(["other", "reprise"]), 200),
        ("aud", json!("other"), 401),
        ("aud", Value::Null, 401),
    ] {
        let mut changes = right.clone();
        changes[name] = value;
        assert_eq!(status(&client, &token(&changes)).await, expected, "{changes}");
    }
}

#[tokio::test]
async fn an_audience_is_ignored_when_none_is_configured() {
    let changes = json!({"aud": "somebody", "iss": "unauthenticated"});
    assert_eq!(status(&client(hs256()), &token(&changes)).await, 200);
}

#[tokio::test]
async fn subjects_and_teams_must_be_names() {
    let client = client(hs256());
    for changes in [
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": "a\nb"}),
        json!({"sub": {"$ne": null}}),
        json!({"team": ["t"]}),
        json!({"apps": "acme_corp"}),
        json!({"apps": {"*": null}}),
    ] {
        assert_eq!(status(&client, &token(&changes)).await, 401, "{changes}");
    }
}

#[tokio::test]
async fn a_token_beyond_8_kib_is_refused_unread() {
    let client = client(hs256());
    let large = token(&json!({"padding": "x".repeat(8 << 10)}));
    let answer = client.with_token(large).get(CHATS).await;
    assert_json_snapshot!("large_token", answer.snapshot());
    let fits = token(&json!({"padding": "x".repeat(4 << 10)}));
    assert_eq!(status(&client, &fits).await, 200);
}

#[tokio::test]
async fn claims_given_twice_are_refused() {
    let client = client(hs256());
    let exp = seconds(600);
    let payload = format!(r#"{{"sub":"alice","sub":"bob","apps":["*"],"exp":{exp}}}"#);
    let token = sign(&json!({"alg": "HS256", "typ": "JWT"}), &payload, SECRET);
    assert_eq!(status(&client, &token).await, 401);
}

#[tokio::test]
async fn only_the_token_identifies_the_caller() {
    let client = client(hs256());
    let mut request = client.request("GET", CHATS);
    for (name, value) in [
        ("x-user-id", "alice"),
        ("x-forwarded-user", "alice"),
        ("x-forwarded-for", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1"),
        ("cookie", "token=x"),
    ] {
        request = request.header(name, value);
    }
    let answer = client.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 401);
}

/// A page from elsewhere reaches a service on this machine through the browser: as the `Origin` of
/// its requests, or as the `Host` after its name was pointed here.
#[tokio::test]
async fn in_open_mode_a_page_of_another_origin_is_refused_and_changes_nothing() {
    let client = Client::open();
    let chat = client.create_chat("chat_1").await;
    let foreign = [("host", "evil.example"), ("origin", "http://evil.example"), ("origin", "null")];
    for (name, value) in foreign {
        for (method, path) in [("GET", chat.clone()), ("POST", format!("{chat}/complete"))] {
            let request = client.request(method, &path).header(name, value);
            let answer = client.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 403, "{name}: {value}");
            assert_eq!(answer.body()["code"], "forbidden-origin");
        }
    }
    let local = client.request("GET", &chat).header("host", "localhost:8080");
    let answer =
        client.send(local.header("origin", "http://127.0.0.1:3000").body(Body::empty()).unwrap());
    assert_eq!(answer.await.body()["status"], "running");
}

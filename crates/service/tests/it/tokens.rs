//! Valid and invalid tokens, and services with authentication.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use service::{Algorithm as Pinned, AuthConfig, AuthMode, Config, LimitsConfig};

use crate::harness::{Client, memory};
use crate::signing::sign;

pub(crate) const SECRET: &str = "a secret of at least thirty-two bytes";
pub(crate) const RSA: &str = include_str!("keys/rsa.pem");
pub(crate) const RSA_PUBLIC: &str = include_str!("keys/rsa.pub.pem");
pub(crate) const EC: &str = include_str!("keys/ec.pem");
pub(crate) const EC_PUBLIC: &str = include_str!("keys/ec.pub.pem");

/// Returns the seconds since 1970, moved by `offset`.
pub(crate) fn seconds(offset: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap() + offset
}

/// Returns the claims of a user of `acme_corp`, with some changed, or removed by a null.
pub(crate) fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "sub": "alice",
        "apps": ["acme_corp"],
        "exp": seconds(600),
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

/// Signs such claims with the shared secret.
pub(crate) fn token(changes: &Value) -> String {
    sign(&json!({"alg": "HS256"}), &claims(changes).to_string(), SECRET)
}

/// Signs claims with a private key, under a `kid`.
pub(crate) fn token_of(algorithm: &str, pem: &str, kid: Option<&str>) -> String {
    let mut header = json!({"alg": algorithm});
    if let Some(kid) = kid {
        header["kid"] = json!(kid);
    }
    sign(&header, &claims(&json!({})).to_string(), pem)
}

/// Settings that require tokens signed with the shared secret.
pub(crate) fn hs256() -> AuthConfig {
    AuthConfig {
        mode: AuthMode::Jwt,
        algorithm: Some(Pinned::HS256),
        secret: Some(SECRET.into()),
        ..AuthConfig::default()
    }
}

/// Returns the default limits without the quotas of users.
pub(crate) fn limits() -> LimitsConfig {
    LimitsConfig {
        requests_per_sec_per_user: 0,
        new_chats_per_min_per_user: 0,
        ..LimitsConfig::default()
    }
}

/// Returns a client of a service with these settings and without quotas of users.
pub(crate) fn client(auth: AuthConfig) -> Client {
    let config = Config { auth, limits: limits(), ..Config::default() };
    Client::over(memory(), config)
}

/// Returns the status of a request that lists chats.
pub(crate) async fn status(client: &Client, token: &str) -> u16 {
    let answer = client.with_token(token).get("/api/chats/acme_corp").await;
    if answer.status == 401 {
        assert_eq!(answer.problem(), (401, "unauthenticated".to_owned()));
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        assert!(token.is_empty() || !answer.text.contains(token));
    }
    answer.status
}

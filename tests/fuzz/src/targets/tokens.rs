//! Tokens: only what the key has signed, for this algorithm and this app and not expired, is accepted.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::Value;
use service::{Algorithm, AuthConfig, AuthMode, Config};

use super::Target;
use crate::input;
use crate::world::World;

pub(super) const TARGET: Target = Target { name: "tokens", check, seeds };

const SECRET: &str = "a secret of at least thirty-two bytes";
/// The tolerated difference between the clocks, in seconds.
const LEEWAY: f64 = 60.0;

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// The first byte chooses what the rest is: a whole header `Authorization`, a cookie, or two lines with the head and the claims of a
/// token, which is signed with the secret or with another one.
fn check(bytes: &[u8]) {
    let (kind, rest) = input::byte(bytes);
    let (head, claims) = input::line(rest);
    let (header, value) = match kind % 4 {
        0 => ("authorization", rest.to_vec()),
        1 => ("cookie", rest.to_vec()),
        2 => ("authorization", signed(head, claims, SECRET)),
        _ => ("authorization", signed(head, claims, "another secret of at least 32 bytes")),
    };
    let Ok(value) = HeaderValue::from_bytes(&value) else { return };
    WORLD.with_borrow_mut(|world| {
        let world = world.get_or_insert_with(|| World::new(config()));
        let request = Request::builder().uri("/api/chats/acme_corp").header(header, value);
        let answer = world.send(request.body(Body::empty()).unwrap());
        answer.check(false);
        if kind % 4 != 2 {
            assert_eq!(answer.status.as_u16(), 401, "only the secret opens the service");
        } else if answer.status.is_success() {
            check_claims(head, claims);
        }
    });
}

fn config() -> Config {
    let auth = AuthConfig {
        mode: AuthMode::Jwt,
        algorithm: Some(Algorithm::HS256),
        secret: Some(SECRET.into()),
        ..AuthConfig::default()
    };
    Config { auth, ..World::config() }
}

fn signed(head: &[u8], claims: &[u8], secret: &str) -> Vec<u8> {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
    format!("Bearer {message}.{signature}").into_bytes()
}

fn check_claims(head: &[u8], claims: &[u8]) {
    let head: Value = serde_json::from_slice(head).expect("an accepted head is JSON");
    assert_eq!(head["alg"], "HS256");
    // A claim that means nothing to the service may have any bytes in its text.
    let claims = String::from_utf8_lossy(claims);
    let claims: Value = serde_json::from_str(&claims).expect("accepted claims are JSON");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(claims["exp"].as_f64().expect("an accepted token expires") > now - LEEWAY);
    assert!(claims.get("nbf").and_then(Value::as_f64).is_none_or(|nbf| nbf < now + LEEWAY));
    let is_all = claims["apps"] == "*";
    let named = claims["apps"].as_array().into_iter().flatten();
    assert!(is_all || named.into_iter().any(|app| app == "acme_corp" || app == "*"), "{claims}");
    assert!(claims["sub"].as_str().is_some_and(|sub| !sub.is_empty()));
}

fn seeds() -> Vec<Vec<u8>> {
    let claims = r#"{"sub": "alice", "apps": ["acme_corp"], "exp": 4102444800, "nbf": 1, "iat": 1.5, "jti": "t1", "team": "blue"}"#;
    let heads = [
        r#"{"alg": "HS256"}"#,
        r#"{"alg": "HS256", "typ": "at+jwt", "kid": "k"}"#,
        r#"{"alg": "none"}"#,
        r#"{"alg": "HS512"}"#,
    ];
    let mut seeds: Vec<Vec<u8>> = heads
        .iter()
        .flat_map(|head| {
            ["\u{2}", "\u{3}"].map(|kind| format!("{kind}{head}\n{claims}").into_bytes())
        })
        .collect();
    let service = r#"{"sub": "bot", "apps": "*", "role": "service", "exp": 4102444800.5}"#;
    seeds.push(format!("\u{2}{}\n{service}", heads[0]).into_bytes());
    let texts = [
        "\0Bearer x.y.z",
        "\0Basic YTpi",
        "\0bearer rk_0123456789abcdef",
        "\u{1}__Host-reprise_session=x; a=\"b\"",
        "\u{1}token=eyJhbGciOiJIUzI1NiJ9.e30.x",
    ];
    seeds.extend(texts.map(|text| text.as_bytes().to_vec()));
    seeds
}

//! Which signatures are accepted, by which keys.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use service::{Algorithm, AuthConfig};
use tempfile::TempDir;

use crate::harness::Client;
use crate::signing::{jwk, sign};
use crate::tokens::{
    EC, EC_PUBLIC, RSA, RSA_PUBLIC, SECRET, claims, client, hs256, status, token, token_of,
};

fn with_key_file(algorithm: Algorithm, path: PathBuf) -> Client {
    client(AuthConfig { secret: None, algorithm: Some(algorithm), key_file: Some(path), ..hs256() })
}

#[tokio::test]
async fn an_unsigned_token_is_refused() {
    let client = client(hs256());
    let payload = URL_SAFE_NO_PAD.encode(claims(&json!({})).to_string());
    let signature = token(&json!({})).rsplit('.').next().unwrap().to_owned();
    for algorithm in ["none", "None", "NONE", "HS256"] {
        let header = json!({"alg": algorithm, "typ": "JWT"}).to_string();
        let header = URL_SAFE_NO_PAD.encode(header);
        for forged in [
            format!("{header}.{payload}."),
            format!("{header}.{payload}"),
            format!("{header}.{payload}.{}", &signature[1..]),
        ] {
            assert_eq!(status(&client, &forged).await, 401, "{algorithm}");
        }
    }
}

#[tokio::test]
async fn a_public_key_does_not_pass_for_a_shared_secret() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("public.pem");
    fs::write(&path, RSA_PUBLIC).unwrap();
    let client = with_key_file(Algorithm::RS256, path);
    assert_eq!(status(&client, &token_of("RS256", RSA, None)).await, 200);
    let forged = sign(&json!({"alg": "HS256"}), &claims(&json!({})).to_string(), RSA_PUBLIC);
    assert_eq!(status(&client, &forged).await, 401);
    let other_hash = token_of("RS512", RSA, None);
    assert_eq!(status(&client, &other_hash).await, 401);
}

#[tokio::test]
async fn a_private_key_of_another_kind_is_refused() {
    let client = client(hs256());
    for (algorithm, pem) in [("RS256", RSA), ("ES256", EC)] {
        assert_eq!(status(&client, &token_of(algorithm, pem, None)).await, 401);
    }
    let hs512 = sign(&json!({"alg": "HS512"}), &claims(&json!({})).to_string(), SECRET);
    assert_eq!(status(&client, &hs512).await, 401);
}

#[tokio::test]
async fn a_kid_only_looks_up_what_is_configured() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("jwks.json");
    let keys = [jwk("ES256", EC, "ec-1"), jwk("ES256", EC, "ec-2"), jwk("RS256", RSA, "rsa-1")];
    fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
    let client = with_key_file(Algorithm::ES256, path.clone());
    for (kid, expected) in [
        (Some("ec-1"), 200),
        (Some("ec-2"), 200),
        (Some("rsa-1"), 401),
        (Some("../../../../dev/null"), 401),
        (Some("' OR 1=1 --"), 401),
        (Some(path.to_str().unwrap()), 401),
        (Some(""), 401),
        (None, 401),
    ] {
        let token = token_of("ES256", EC, kid);
        assert_eq!(status(&client, &token).await, expected, "{kid:?}");
    }
    let wrong_family = token_of("RS256", RSA, Some("ec-1"));
    assert_eq!(status(&client, &wrong_family).await, 401);
    let only_one = with_key_file(Algorithm::RS256, path);
    assert_eq!(status(&only_one, &token_of("RS256", RSA, None)).await, 200);
}

#[tokio::test]
async fn keys_inside_a_token_are_ignored() {
    let client = client(hs256());
    let header = json!({
        "alg": "RS256",
        "jwk": jwk("RS256", RSA, "mine"),
        "jku": "https://evil.example/jwks.json",
        "x5u": "https://evil.example/cert.pem",
    });
    let forged = sign(&header, &claims(&json!({})).to_string(), RSA);
    assert_eq!(status(&client, &forged).await, 401);
}

#[tokio::test]
async fn an_unknown_critical_extension_is_refused() {
    let client = client(hs256());
    let header = json!({"alg": "HS256", "crit": ["exp"]});
    let forged = sign(&header, &claims(&json!({})).to_string(), SECRET);
    assert_eq!(status(&client, &forged).await, 401);
}

#[tokio::test]
async fn a_single_key_verifies_tokens_with_any_kid() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("public.pem");
    fs::write(&path, EC_PUBLIC).unwrap();
    let client = with_key_file(Algorithm::ES256, path);
    for kid in [None, Some("anything")] {
        assert_eq!(status(&client, &token_of("ES256", EC, kid)).await, 200);
    }
    assert_eq!(status(&client, &token_of("RS256", RSA, None)).await, 401);
}

#[tokio::test]
async fn leading_zeros_of_a_modulus_do_not_matter() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("jwks.json");
    let mut key = jwk("RS256", RSA, "rsa-1");
    let modulus = URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap();
    key["n"] = json!(URL_SAFE_NO_PAD.encode([&[0], modulus.as_slice()].concat()));
    fs::write(&path, json!({"keys": [key]}).to_string()).unwrap();
    let client = with_key_file(Algorithm::RS256, path);
    assert_eq!(status(&client, &token_of("RS256", RSA, Some("rsa-1"))).await, 200);
}

#[tokio::test]
async fn a_signature_of_other_content_is_refused() {
    let directory = TempDir::new().unwrap();
    for (algorithm, pinned, private, public) in
        [("RS256", Algorithm::RS256, RSA, RSA_PUBLIC), ("ES256", Algorithm::ES256, EC, EC_PUBLIC)]
    {
        let path = directory.path().join(algorithm);
        fs::write(&path, public).unwrap();
        let client = with_key_file(pinned, path);
        let good = token_of(algorithm, private, None);
        let (message, signature) = good.rsplit_once('.').unwrap();
        let header = message.split_once('.').unwrap().0;
        let payload = URL_SAFE_NO_PAD.encode(claims(&json!({"sub": "bob"})).to_string());
        assert_eq!(status(&client, &good).await, 200);
        assert_eq!(status(&client, &format!("{header}.{payload}.{signature}")).await, 401);
        assert_eq!(status(&client, &format!("{message}.")).await, 401);
    }
}

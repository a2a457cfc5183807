//! Which signatures are accepted, by which keys.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm as Signature, EncodingKey, Header, encode};
use serde_json::json;
use service::{Algorithm, AuthConfig};
use tempfile::TempDir;

use crate::harness::Client;
use crate::tokens::{
    EC, EC_PUBLIC, RSA, RSA_PUBLIC, SECRET, claims, client, hs256, status, token, token_of,
};

fn with_key_file(algorithm: Algorithm, path: PathBuf) -> Client {
    client(AuthConfig { secret: None, algorithm: Some(algorithm), key_file: Some(path), ..hs256() })
}

fn jwk(algorithm: Signature, pem: &str, kid: &str) -> Jwk {
    let key = match algorithm {
        Signature::ES256 => EncodingKey::from_ec_pem(pem.as_bytes()),
        _ => EncodingKey::from_rsa_pem(pem.as_bytes()),
    };
    let mut jwk = Jwk::from_encoding_key(&key.unwrap(), algorithm).unwrap();
    jwk.common.key_id = Some(kid.to_owned());
    jwk
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
    assert_eq!(status(&client, &token_of(Signature::RS256, RSA, None)).await, 200);
    let confused = EncodingKey::from_secret(RSA_PUBLIC.as_bytes());
    let forged = encode(&Header::new(Signature::HS256), &claims(&json!({})), &confused);
    assert_eq!(status(&client, &forged.unwrap()).await, 401);
    let other_hash = token_of(Signature::RS512, RSA, None);
    assert_eq!(status(&client, &other_hash).await, 401);
}

#[tokio::test]
async fn a_private_key_of_another_kind_is_refused() {
    let client = client(hs256());
    for (algorithm, pem) in [(Signature::RS256, RSA), (Signature::ES256, EC)] {
        assert_eq!(status(&client, &token_of(algorithm, pem, None)).await, 401);
    }
    let short = EncodingKey::from_secret(SECRET.as_bytes());
    let hs512 = encode(&Header::new(Signature::HS512), &claims(&json!({})), &short);
    assert_eq!(status(&client, &hs512.unwrap()).await, 401);
}

#[tokio::test]
async fn a_kid_only_looks_up_what_is_configured() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("jwks.json");
    let keys = [
        jwk(Signature::ES256, EC, "ec-1"),
        jwk(Signature::ES256, EC, "ec-2"),
        jwk(Signature::RS256, RSA, "rsa-1"),
    ];
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
        let token = token_of(Signature::ES256, EC, kid);
        assert_eq!(status(&client, &token).await, expected, "{kid:?}");
    }
    let wrong_family = token_of(Signature::RS256, RSA, Some("ec-1"));
    assert_eq!(status(&client, &wrong_family).await, 401);
    let only_one = with_key_file(Algorithm::RS256, path);
    assert_eq!(status(&only_one, &token_of(Signature::RS256, RSA, None)).await, 200);
}

#[tokio::test]
async fn keys_inside_a_token_are_ignored() {
    let client = client(hs256());
    let mut header = Header::new(Signature::RS256);
    header.jwk = Some(jwk(Signature::RS256, RSA, "mine"));
    header.jku = Some("https://evil.example/jwks.json".to_owned());
    header.x5u = Some("https://evil.example/cert.pem".to_owned());
    let key = EncodingKey::from_rsa_pem(RSA.as_bytes()).unwrap();
    let forged = encode(&header, &claims(&json!({})), &key).unwrap();
    assert_eq!(status(&client, &forged).await, 401);
}

#[tokio::test]
async fn an_unknown_critical_extension_is_refused() {
    let client = client(hs256());
    let mut header = Header::new(Signature::HS256);
    header.crit = Some(vec!["exp".to_owned()]);
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let forged = encode(&header, &claims(&json!({})), &key).unwrap();
    assert_eq!(status(&client, &forged).await, 401);
}

#[tokio::test]
async fn a_single_key_verifies_tokens_with_any_kid() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("public.pem");
    fs::write(&path, EC_PUBLIC).unwrap();
    let client = with_key_file(Algorithm::ES256, path);
    for kid in [None, Some("anything")] {
        assert_eq!(status(&client, &token_of(Signature::ES256, EC, kid)).await, 200);
    }
    assert_eq!(status(&client, &token_of(Signature::RS256, RSA, None)).await, 401);
}

//! Signs tokens, as an issuer does.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair, UnparsedPublicKey,
};
use serde_json::{Value, json};

/// Signs a token as the `alg` of its header says, with a shared secret or a private key as PEM.
pub(crate) fn sign(header: &Value, payload: &str, key: &str) -> String {
    let header_part = URL_SAFE_NO_PAD.encode(header.to_string());
    let message = format!("{header_part}.{}", URL_SAFE_NO_PAD.encode(payload));
    let signature = signature(header["alg"].as_str().unwrap(), key, message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Returns the public half of a private key, as a JWK.
pub(crate) fn jwk(algorithm: &str, pem: &str, kid: &str) -> Value {
    let encode = |number: &[u8]| URL_SAFE_NO_PAD.encode(number);
    if algorithm == "ES256" {
        let pair = ec(pem);
        // The first byte says that both coordinates follow.
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "alg": algorithm,
            "x": encode(x), "y": encode(y)})
    } else {
        let PublicKeyComponents::<Vec<u8>> { n, e } = rsa(pem).public().into();
        json!({"kty": "RSA", "kid": kid, "alg": algorithm, "n": encode(&n), "e": encode(&e)})
    }
}

fn signature(algorithm: &str, key: &str, message: &[u8]) -> Vec<u8> {
    match algorithm {
        "HS256" => mac(hmac::HMAC_SHA256, key, message),
        "HS512" => mac(hmac::HMAC_SHA512, key, message),
        "RS256" => rsa_signature(&RSA_PKCS1_SHA256, key, message),
        "RS512" => rsa_signature(&RSA_PKCS1_SHA512, key, message),
        "ES256" => ec(key).sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
        _ => panic!("{algorithm}"),
    }
}

fn mac(algorithm: hmac::Algorithm, secret: &str, message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(algorithm, secret.as_bytes()), message).as_ref().to_vec()
}

fn rsa_signature(encoding: &'static dyn RsaEncoding, pem: &str, message: &[u8]) -> Vec<u8> {
    let pair = rsa(pem);
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), message, &mut signature).unwrap();
    signature
}

fn rsa(pem: &str) -> RsaKeyPair {
    RsaKeyPair::from_pkcs8(&der(pem)).unwrap()
}

fn ec(pem: &str) -> EcdsaKeyPair {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    EcdsaKeyPair::from_pkcs8(algorithm, &der(pem), &SystemRandom::new()).unwrap()
}

fn der(pem: &str) -> Vec<u8> {
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    STANDARD.decode(lines.collect::<String>()).unwrap()
}

/// Returns the header and the content of a JSON Web Signature of an Ed25519 key.
pub(crate) fn verified(signed: &str, public: &[u8]) -> [Value; 2] {
    let (message, signature) = signed.rsplit_once('.').unwrap();
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    UnparsedPublicKey::new(&ED25519, public)
        .verify(message.as_bytes(), &decode(signature))
        .unwrap();
    let (header, content) = message.split_once('.').unwrap();
    [header, content].map(|part| serde_json::from_slice(&decode(part)).unwrap())
}

/// Returns a new private Ed25519 key as OpenSSL writes it, without its public half, and that half.
pub(crate) fn new_ed_key() -> (String, Vec<u8>) {
    let seed: [u8; 32] = ring::rand::generate(&SystemRandom::new()).unwrap().expose();
    let public = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap().public_key().as_ref().to_vec();
    let head = hex::decode("302e020100300506032b657004220420").unwrap();
    (pem(&[head.as_slice(), &seed].concat()), public)
}

/// Returns a new private key of ES256, as PEM.
pub(crate) fn new_ec_key() -> String {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    pem(key.as_ref())
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}

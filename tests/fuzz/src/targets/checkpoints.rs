//! Signed checkpoints: only what a key has signed is read.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use persistence::{Checkpoint, IntegrityKeys};
use ring::signature::Ed25519KeyPair;
use serde_json::Value;

use super::Target;
use crate::input;

pub(super) const TARGET: Target = Target { name: "checkpoints", check, seeds };

/// The head that checkpoints have.
const HEAD: &str = r#"{"alg":"EdDSA","typ":"reprise-checkpoint"}"#;
const PAYLOAD: &str = r#"{"app_id":"acme_corp","chat_id":"c1","commitments":3,"messages":2,"revision":1,"root":"0000000000000000000000000000000000000000000000000000000000000000","closed":"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff","signed_at":"2026-01-02T03:04:05.678Z"}"#;

/// A private key in PKCS#8, without its public half: thirty-two bytes 7.
static KEY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut key = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    key.extend([7; 32]);
    key
});
static KEYS: LazyLock<IntegrityKeys> = LazyLock::new(|| IntegrityKeys::new(&KEY, &[]).unwrap());

/// The first byte says whether the rest is a whole checkpoint, or a payload that the key signs.
fn check(bytes: &[u8]) {
    let (kind, rest) = input::byte(bytes);
    if kind % 2 == 0 {
        let Ok(text) = str::from_utf8(rest) else { return };
        let is_own = text == signed(PAYLOAD.as_bytes());
        assert_eq!(Checkpoint::verified(&KEYS, text).is_some(), is_own, "{text}");
        return;
    }
    let text = signed(rest);
    let Some(checkpoint) = Checkpoint::verified(&KEYS, &text) else { return };
    let payload: Value = serde_json::from_slice(rest).expect("an accepted payload is JSON");
    assert_eq!(payload["chat_id"], checkpoint.chat_id.as_str());
    assert_eq!(payload["app_id"], checkpoint.app_id.as_str());
    assert_eq!(payload["commitments"], checkpoint.commitments);
    assert_eq!(payload["root"].as_str().unwrap().to_lowercase(), checkpoint.root_hex());
    assert_eq!(checkpoint.signed, text);
}

fn signed(payload: &[u8]) -> String {
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&KEY).unwrap();
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(HEAD), URL_SAFE_NO_PAD.encode(payload));
    let signature = URL_SAFE_NO_PAD.encode(pair.sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn seeds() -> Vec<Vec<u8>> {
    let whole = format!("\0{}", signed(PAYLOAD.as_bytes()));
    let payload = format!("\u{1}{PAYLOAD}");
    vec![whole.into_bytes(), payload.into_bytes()]
}

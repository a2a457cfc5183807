//! Files of keys: PEM and JWKS. What is no key is refused with the name of the file.

use std::fs;

use service::{Algorithm, AuthConfig, AuthMode, Config, ErasureConfig, IntegrityConfig, TlsConfig};

use super::Target;
use crate::world::World;
use crate::{fixtures, input};

pub(super) const TARGET: Target = Target { name: "keys", check, seeds };

/// The first byte chooses what the key is for, the rest is the file.
fn check(bytes: &[u8]) {
    let (kind, text) = input::byte(bytes);
    let file = std::env::temp_dir().join(format!("fuzz-key-{}", std::process::id()));
    fs::write(&file, text).unwrap();
    let path = Some(file.clone());
    let jwt = |algorithm| AuthConfig {
        mode: AuthMode::Jwt,
        algorithm: Some(algorithm),
        key_file: path.clone(),
        ..AuthConfig::default()
    };
    let mut config = Config::default();
    match kind % 5 {
        0 => config.auth = jwt(Algorithm::RS256),
        1 => config.auth = jwt(Algorithm::ES256),
        2 => {
            config.integrity =
                IntegrityConfig { key_file: path.clone(), ..IntegrityConfig::default() }
        }
        3 => config.erasure = ErasureConfig { signing_key_file: path.clone() },
        _ => {
            config.server.tls = TlsConfig {
                cert_file: path.clone(),
                key_file: path.clone(),
                client_ca_file: path.clone(),
            }
        }
    }
    if let Err(error) = config.check(config.server.listen) {
        let text = error.to_string();
        let is_named = text.contains(&*file.to_string_lossy()) || text.contains("server.tls.");
        assert!(is_named, "it names the file or the setting: {text}");
    } else if kind % 5 != 4 {
        World::new(config);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = "crates/service/tests/it/keys";
    let mut seeds = Vec::new();
    for entry in fs::read_dir(fixtures::path(folder)).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        seeds.extend((0..5_u8).map(|kind| [&[kind], &text[..]].concat()));
    }
    let jwks = r#"{"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "alg": "ES256", "use": "sig", "x": "AQ", "y": "Ag"}, {"kty": "RSA", "kid": "r", "n": "AQAB", "e": "AQAB"}]}"#;
    seeds.extend(["\0", "\u{1}"].map(|kind| format!("{kind}{jwks}").into_bytes()));
    seeds
}

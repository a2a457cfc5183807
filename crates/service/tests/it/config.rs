//! The settings that the service refuses, and its messages.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crate::tokens::hs256;
use insta::assert_snapshot;
use records::AppId;
use serde_json::json;
use service::{
    AdaptersConfig, Algorithm, AuthConfig, AuthMode, Config, ConfigError, ErasureConfig,
    LimitsConfig, SignInConfig, YaoConfig, router,
};
use tempfile::TempDir;

use crate::harness::memory;
use crate::tokens::{RSA_PUBLIC, SECRET};

fn refusal(config: Config) -> String {
    router(memory(), config).unwrap_err().to_string()
}

fn jwt(auth: AuthConfig) -> Config {
    let auth = AuthConfig { mode: AuthMode::Jwt, ..auth };
    Config { auth, ..Config::default() }
}

#[test]
fn without_authentication_only_a_loopback_address_is_accepted() {
    let config = Config::default();
    for local in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        let listen: SocketAddr = local.parse().unwrap();
        assert!(config.check(listen).is_ok(), "{local}");
    }
    for open in ["0.0.0.0:1", "[::]:1", "192.168.1.7:1", "[::ffff:10.0.0.1]:1"] {
        let listen: SocketAddr = open.parse().unwrap();
        let error = config.check(listen).unwrap_err();
        assert!(matches!(error, ConfigError::OpenToTheNetwork { .. }), "{open}");
    }
    let error = config.check("0.0.0.0:8080".parse().unwrap()).unwrap_err();
    assert_snapshot!("open_to_the_network", error);
}

#[test]
fn the_listener_of_an_adapter_needs_an_app_and_a_loopback_address() {
    let main = "127.0.0.1:1".parse().unwrap();
    let of = |listen: &str, app_id: Option<&str>| {
        let listen = Some(listen.parse().unwrap());
        let app_id = app_id.map(|app_id| AppId::parse(app_id).unwrap());
        let yao = YaoConfig { enabled: true, app_id, listen };
        Config { adapters: AdaptersConfig { yao, ..Default::default() }, ..Config::default() }
    };
    let error = of("127.0.0.1:2", None).check(main).unwrap_err();
    assert_snapshot!("listener_without_app", error);
    assert_eq!(refusal(of("127.0.0.1:2", None)), error.to_string());
    assert!(of("127.0.0.1:2", Some("acme")).check(main).is_ok());
    let error = of("0.0.0.0:2", Some("acme")).check(main).unwrap_err();
    assert!(matches!(error, ConfigError::OpenToTheNetwork { .. }), "{error}");
}

#[test]
fn with_authentication_any_address_is_accepted() {
    let (algorithm, secret) = (Some(Algorithm::HS256), Some(SECRET.into()));
    let config = jwt(AuthConfig { algorithm, secret, ..AuthConfig::default() });
    assert!(config.check("0.0.0.0:8080".parse().unwrap()).is_ok());
}

#[test]
fn a_key_that_cannot_sign_receipts_is_refused() {
    let (key, _) = crate::signing::new_ed_key();
    let file = tempfile::NamedTempFile::new().unwrap();
    let of = |path: &Path| Config {
        erasure: ErasureConfig { signing_key_file: Some(path.to_owned()) },
        ..Config::default()
    };
    let listen = "127.0.0.1:0".parse().unwrap();
    for unusable in [
        "",
        "no key",
        include_str!("keys/rsa-1024.pub.pem"),
        &key[..60],
        &crate::signing::new_ec_key(),
    ] {
        std::fs::write(file.path(), unusable).unwrap();
        let error = of(file.path()).check(listen).unwrap_err();
        assert!(matches!(error, ConfigError::SigningKey { .. }), "{unusable}: {error}");
    }
    std::fs::write(file.path(), key).unwrap();
    of(file.path()).check(listen).unwrap();
    let error = of("/nowhere/receipts.pem".as_ref()).check(listen).unwrap_err();
    assert_snapshot!("no_signing_key_file", error);
}

#[test]
fn tokens_of_every_issuer_and_audience_are_warned_about() {
    let named = |name: &str| Some(name.to_owned());
    let open = Config::default();
    let any = jwt(AuthConfig::default());
    let issued =
        jwt(AuthConfig { issuer: named("https://login.example"), ..AuthConfig::default() });
    let meant = jwt(AuthConfig { audience: named("reprise"), ..AuthConfig::default() });
    let warnings = [open, any, issued, meant].map(|config| config.warnings().len());
    assert_eq!(warnings, [0, 1, 0, 0]);
}

#[test]
fn a_missing_or_weak_key_is_refused_with_what_to_do() {
    let hs256 = AuthConfig { algorithm: Some(Algorithm::HS256), ..AuthConfig::default() };
    let rs256 = AuthConfig { algorithm: Some(Algorithm::RS256), ..AuthConfig::default() };
    let refusals = [
        AuthConfig::default(),
        hs256.clone(),
        AuthConfig { secret: Some("too short".into()), ..hs256.clone() },
        AuthConfig { secret: Some(SECRET.into()), leeway_sec: 61, ..hs256.clone() },
        AuthConfig { key_file: Some("key.pem".into()), secret: Some(SECRET.into()), ..hs256 },
        rs256.clone(),
        AuthConfig { key_file: Some("/nowhere/key.pem".into()), ..rs256.clone() },
        AuthConfig { secret: Some(SECRET.into()), ..rs256 },
    ];
    let refusals = refusals.map(|auth| {
        let checked = jwt(auth.clone()).check("127.0.0.1:1".parse().unwrap()).unwrap_err();
        assert_eq!(checked.to_string(), refusal(jwt(auth)), "the check finds what the start finds");
        checked.to_string()
    });
    assert_snapshot!("refusals", refusals.join("\n"));
}

#[test]
fn a_key_of_another_kind_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("key");
    for content in [RSA_PUBLIC, "nonsense", "", "{\"keys\": []}", "{}"] {
        fs::write(&path, content).unwrap();
        let error = router(
            memory(),
            jwt(AuthConfig {
                algorithm: Some(Algorithm::ES256),
                key_file: Some(path.clone()),
                ..AuthConfig::default()
            }),
        )
        .unwrap_err();
        assert!(matches!(error, ConfigError::Key { .. }), "{content}: {error}");
    }
}

#[test]
fn the_address_of_keys_is_https_or_this_machine() {
    let named = |url: &str| {
        let (algorithm, jwks_url) = (Some(Algorithm::ES256), Some(url.to_owned()));
        jwt(AuthConfig { algorithm, jwks_url, ..AuthConfig::default() })
    };
    let listen = "127.0.0.1:1".parse().unwrap();
    for url in ["https://login.example/keys", "http://127.0.0.1:1/k", "http://[::1]/k"] {
        assert!(named(url).check(listen).is_ok(), "{url}");
    }
    for url in ["http://login.example/k", "ftp://a/k", "/k", "https://me:secret@a/k", "https://"] {
        let error = named(url).check(listen).unwrap_err();
        assert!(matches!(error, ConfigError::JwksUrl { .. }), "{url}: {error}");
        assert!(!error.to_string().contains("secret"));
    }
    let auth = AuthConfig { key_file: Some("key.pem".into()), ..named("https://a/k").auth };
    assert!(matches!(jwt(auth.clone()).check(listen), Err(ConfigError::TwoKeySources)));
    let auth = AuthConfig { key_file: None, jwks_refresh_sec: 0, ..auth };
    assert!(matches!(jwt(auth).check(listen), Err(ConfigError::Refresh { .. })));
}

#[test]
fn a_sign_in_that_cannot_work_is_refused() {
    let good = SignInConfig {
        issuer: Some("https://login.example".to_owned()),
        client_id: "reprise".to_owned(),
        public_url: "https://chats.example".to_owned(),
        ..SignInConfig::default()
    };
    let listen = "127.0.0.1:1".parse().unwrap();
    let with = |sign_in| Config { auth: AuthConfig { sign_in, ..hs256() }, ..Config::default() };
    assert!(with(good.clone()).check(listen).is_ok());
    let text = |text: &str| text.to_owned();
    for (sign_in, name) in [
        (SignInConfig { issuer: Some(text("http://login.example")), ..good.clone() }, "issuer"),
        (SignInConfig { client_id: text(""), ..good.clone() }, "client_id"),
        (SignInConfig { algorithm: Algorithm::HS256, ..good.clone() }, "algorithm"),
        (SignInConfig { public_url: text(""), ..good.clone() }, "public_url"),
        (SignInConfig { public_url: text("http://chats.example"), ..good.clone() }, "public_url"),
        (
            SignInConfig { public_url: text("https://a.example/chats"), ..good.clone() },
            "public_url",
        ),
        (SignInConfig { session_minutes: 0, ..good.clone() }, "session_minutes"),
        (SignInConfig { session_minutes: 43_201, ..good.clone() }, "session_minutes"),
    ] {
        let error = with(sign_in).check(listen).unwrap_err();
        assert!(matches!(error, ConfigError::SignIn { name: it, .. } if it == name), "{error}");
    }
    let open = AuthConfig { sign_in: good, ..AuthConfig::default() };
    let error = Config { auth: open, ..Config::default() }.check(listen).unwrap_err();
    assert!(error.to_string().contains("auth.mode"), "{error}");
}

#[test]
fn an_rsa_key_below_2048_bits_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("key");
    let jwks = json!({"keys": [{"kty": "RSA", "n": "w".repeat(170), "e": "AQAB"}]}).to_string();
    for content in [include_str!("keys/rsa-1024.pub.pem"), &jwks] {
        fs::write(&path, content).unwrap();
        let auth = AuthConfig {
            algorithm: Some(Algorithm::RS256),
            key_file: Some(path.clone()),
            ..AuthConfig::default()
        };
        let refusal = refusal(jwt(auth));
        assert!(refusal.ends_with("bits; at least 2048 are needed"), "{refusal}");
    }
}

#[test]
fn limits_of_zero_are_refused() {
    let limits = [
        LimitsConfig { body_bytes: 0, ..LimitsConfig::default() },
        LimitsConfig { request_timeout_ms: 0, ..LimitsConfig::default() },
        LimitsConfig { write_timeout_ms: 0, ..LimitsConfig::default() },
        LimitsConfig { list_default: 101, ..LimitsConfig::default() },
        LimitsConfig { messages_max: 10, ..LimitsConfig::default() },
    ];
    let refusals = limits.map(|limits| refusal(Config { limits, ..Config::default() }));
    assert_snapshot!("limits", refusals.join("\n"));
}

#[test]
fn unknown_settings_are_refused_and_missing_ones_have_defaults() {
    let config: Config = serde_json::from_str(
        r#"{"auth": {"mode": "jwt", "algorithm": "ES256"}, "limits": {"list_max": 7}}"#,
    )
    .unwrap();
    assert_eq!(config.auth.mode, AuthMode::Jwt);
    assert_eq!(config.limits.messages_default, 100);
    let empty = r#"{"auth": {"secret": "", "key_file": "", "issuer": "", "audience": ""}}"#;
    let config: Config = serde_json::from_str(empty).unwrap();
    assert!(config.auth.secret.is_none() && config.auth.key_file.is_none());
    assert!(config.auth.issuer.is_none() && config.auth.audience.is_none());
    for text in [
        r#"{"auht": {}}"#,
        r#"{"auth": {"modus": "jwt"}}"#,
        r#"{"auth": {"mode": "nobody"}}"#,
        r#"{"auth": {"algorithm": "none"}}"#,
        r#"{"limits": {"x": 1}}"#,
    ] {
        assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
    }
}

#[test]
fn a_secret_does_not_show_in_debug_output() {
    let config = jwt(AuthConfig { secret: Some(SECRET.into()), ..AuthConfig::default() });
    assert!(!format!("{config:?}").contains(SECRET));
}

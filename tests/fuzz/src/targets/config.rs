//! The settings of the service, as TOML.

use service::Config;

use super::Target;
use crate::fixtures;

pub(super) const TARGET: Target = Target { name: "config", check, seeds };

fn check(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    // The check reads the files that are named, and reading a device may never end.
    if text.contains("/dev") {
        return;
    }
    let Ok(config) = toml::from_str::<Config>(text) else { return };
    let _ = config.check(config.server.listen);
    for warning in config.warnings() {
        assert!(!warning.is_empty());
    }
    let written = toml::to_string(&config).expect("settings can be shown");
    let written: toml::Table = toml::from_str(&written).expect("they are settings");
    for (table, secret) in [("auth", "sekret"), ("webhooks", "whsec_")] {
        let shown = written[table].get("secret").map(ToString::to_string).unwrap_or_default();
        assert!(!shown.contains(secret), "a secret is never shown: {written}");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let defaults = fixtures::file("deploy/config.default.toml");
    let text = String::from_utf8(defaults).unwrap();
    // The service reads these tables; the command reads the others.
    let tables = text.split("\n[").map(|table| format!("[{}", table.trim_start_matches('[')));
    let own: Vec<Vec<u8>> =
        tables.filter(|it| toml::from_str::<Config>(it).is_ok()).map(String::into_bytes).collect();
    let whole = own.concat();
    let secrets = "[auth]\nmode = \"jwt\"\nalgorithm = \"HS256\"\nsecret = \"sekret-sekret-sekret-sekret-sekret\"\n\
        [webhooks]\nurl = \"https://hooks.example/x\"\nsecret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\"\n";
    own.into_iter().chain([whole, secrets.as_bytes().to_vec()]).collect()
}

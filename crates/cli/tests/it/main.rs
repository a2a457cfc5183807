//! The command line: exit codes, and errors that say what to do.
//!
//! The `tests` crate tests what the commands do; it needs the binary that cargo builds
//! for this test.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::process::{Command, Output};

fn reprise(arguments: &[&str]) -> Output {
    reprise_with(&[], arguments)
}

fn reprise_with(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reprise"));
    command.args(arguments).env_clear().env("COLUMNS", "100").envs(variables.iter().copied());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_command_that_is_not_there_is_a_usage_error() {
    let output = reprise(&["resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--help"));
}

#[test]
fn a_missing_configuration_file_is_named() {
    let output = reprise(&["--config", "nowhere.toml", "check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nowhere.toml does not exist"));
}

#[test]
fn a_directory_is_no_configuration_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = reprise(&["--config", folder.path().to_str().unwrap(), "serve"]);
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    let expected = format!("{} is a directory: --config takes a file", folder.path().display());
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn an_unknown_setting_is_named_and_no_stack_trace_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reprise.toml");
    std::fs::write(&path, "[server]\nlisten_to = \"127.0.0.1:1\"\n").unwrap();
    let output = reprise(&["--config", path.to_str().unwrap(), "check"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("listen_to") && stderr.starts_with("reprise: "), "{stderr}");
    assert!(!stderr.contains("backtrace"), "{stderr}");
}

#[test]
fn an_address_of_the_network_needs_tokens() {
    let output = reprise(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("auth.mode"), "{}", text(&output.stderr));
}

#[test]
fn config_prints_the_defaults_and_what_is_in_force() {
    let defaults = text(&reprise(&["config", "--defaults"]).stdout);
    assert_eq!(defaults, include_str!("../../../../deploy/config.default.toml"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reprise.toml");
    let path = path.to_str().unwrap();
    std::fs::write(path, &defaults).unwrap();
    let in_force = text(&reprise(&["config"]).stdout);
    assert_eq!(text(&reprise(&["config", "--config", path]).stdout), in_force);

    // What is in force is a file that has the same meaning.
    let variables = [
        ("REPRISE__SERVER__LISTEN", "localhost:9000"),
        ("REPRISE__MONGO__DEADLINE_MS", "5000"),
        ("REPRISE__APPS__DEFAULT_VISIBILITY", "link"),
        ("REPRISE__METRICS__APPS", "acme_corp,globex"),
    ];
    let changed = text(&reprise_with(&variables, &["config", "--config", path]).stdout);
    for line in [
        "listen = \"127.0.0.1:9000\"",
        "deadline_ms = 5000",
        "default_visibility = \"link\"",
        "apps = [\"acme_corp\", \"globex\"]",
    ] {
        assert!(changed.lines().any(|found| found == line), "{line} is not in {changed}");
    }
    std::fs::write(path, &changed).unwrap();
    assert_eq!(text(&reprise(&["config", "--config", path]).stdout), changed);
}

#[test]
fn config_prints_no_secret() {
    let variables = [
        ("REPRISE__AUTH__SECRET", "canary0 canary0 canary0 canary0 canary0"),
        ("REPRISE__AUTH__SIGN_IN__CLIENT_SECRET", "canary1"),
        ("REPRISE__MONGO__URI", "mongodb://user:canary2@db.example.org/?tlsCAFile=canary3"),
        ("REPRISE__AUTH__JWKS_URL", "https://login.example.org/keys?token=canary4"),
    ];
    let output = reprise_with(&variables, &["config"]);
    let printed = text(&output.stdout);
    assert!(output.status.success() && !printed.contains("canary"), "{printed}");
    for line in ["secret = \"********\"", "jwks_url = \"https://login.example.org/keys?********\""]
    {
        assert!(printed.contains(line), "{printed}");
    }
}

#[test]
fn an_address_to_listen_on_may_be_localhost() {
    let used = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("localhost:{}", used.local_addr().unwrap().port());
    let output = reprise(&["serve", "--listen", &listen]);
    assert!(text(&output.stderr).contains("cannot listen on 127.0.0.1:"), "{output:?}");
    let output = reprise(&["serve", "--listen", "db.example.org"]);
    assert!(text(&output.stderr).contains("such as 127.0.0.1:8080"), "{output:?}");
}

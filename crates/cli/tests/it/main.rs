//! The command line: exit codes, and errors that say what to do.
//!
//! The `tests` crate tests what the commands do; it needs the binary that cargo builds
//! for this test.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::process::{Command, Output};

fn reprise(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reprise"));
    command.args(arguments).env_clear().env("COLUMNS", "100").output().unwrap()
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

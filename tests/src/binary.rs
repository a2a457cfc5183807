//! The `reprise` binary, built from the sources beside these tests.

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use tokio::sync::OnceCell;

use crate::settings::Settings;

static BINARY: OnceCell<PathBuf> = OnceCell::const_new();

/// Returns the path of the binary, after bringing it up to date.
///
/// Cargo passes the path of a binary only to the tests of its own package. `cargo test --workspace`
/// has built the binary for those tests; `cargo test -p tests` has not, or has left an old one. So if
/// a source is newer than the binary, this runs cargo, once for each process. Cargo has released its
/// locks by the time it runs tests, so this cannot deadlock.
pub async fn reprise() -> Result<&'static Path> {
    let build = async || tokio::task::spawn_blocking(build).await?;
    Ok(BINARY.get_or_try_init(build).await?)
}

/// Prepares a run of the binary that ignores settings in the environment of the tests.
pub async fn command(arguments: &[&str]) -> Result<tokio::process::Command> {
    let mut command = tokio::process::Command::new(reprise().await?);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    for name in variables("REPRISE__") {
        command.env_remove(name);
    }
    // The width to which clap wraps its help without a terminal.
    command.env("COLUMNS", "100");
    Ok(command)
}

/// Runs a command of the binary with settings, until it exits.
pub async fn run(arguments: &[&str], settings: &Settings) -> Result<Output> {
    let mut command = command(arguments).await?;
    settings.apply(&mut command);
    Ok(command.output().await?)
}

/// Returns the output of a command that succeeded without warnings.
pub fn told(output: &Output) -> Result<String> {
    ensure!(output.stderr.is_empty(), String::from_utf8_lossy(&output.stderr).into_owned());
    Ok(String::from_utf8(output.stdout.clone())?)
}

/// The environment variables whose names have this prefix.
fn variables(prefix: &str) -> impl Iterator<Item = OsString> {
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(move |name| name.to_string_lossy().starts_with(prefix))
}

/// Builds with the profile and into the target directory that this test was built with.
fn build() -> Result<PathBuf> {
    let this_test = env::current_exe()?;
    let in_profile = this_test.ancestors().find(|path| !is_below_profile(path));
    let profile_dir = in_profile.context("the tests lie in no target directory")?;
    let binary = profile_dir.join(format!("reprise{EXE_SUFFIX}"));
    if is_fresh(&binary)? {
        return Ok(binary);
    }
    let target_dir = profile_dir.parent().context("the target directory has no parent")?;
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => anyhow::bail!("the profile of {} is unknown", this_test.display()),
    };
    let mut command = Command::new(env!("CARGO"));
    // Builds as tests/build.sh does, and without cargo's variables about the package under test: otherwise
    // dependencies would be built again.
    command.args(["build", "--workspace", "--bin", "reprise", "--examples", "--profile", profile]);
    command.arg("--target-dir").arg(target_dir).current_dir(env!("CARGO_MANIFEST_DIR"));
    for name in variables("CARGO_PKG_").chain(variables("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    let status = command.status().context("failed to run cargo")?;
    ensure!(status.success(), "failed to build the reprise binary");
    Ok(binary)
}

/// Returns whether the binary exists and none of its sources is newer.
fn is_fresh(binary: &Path) -> Result<bool> {
    let Ok(built) = binary.metadata().and_then(|metadata| metadata.modified()) else {
        return Ok(false);
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("crates"), root.join("deploy"), root.join("fixtures")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.metadata()?.modified()? > built {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Tests lie in `target/<profile>/deps`, other binaries in `target/<profile>`.
fn is_below_profile(path: &Path) -> bool {
    path.is_file() || path.ends_with("deps")
}

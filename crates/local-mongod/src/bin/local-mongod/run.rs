//! `local-mongod run`: a server for as long as a command runs.

use std::ffi::OsString;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, Result};
use clap::Args;
use local_mongod::LocalMongod;
use tokio::process::Command;

use crate::server_arguments::ServerArguments;
use crate::signals::Signals;

/// Run a command with a server of its own
///
/// The command finds the server's URI in `MONGODB_URI`. Exits with the command's exit code. SIGTERM and SIGINT go to the command; the server stops
/// when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    server: ServerArguments,

    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

pub(crate) async fn run(arguments: Run) -> Result<ExitCode> {
    let server = LocalMongod::start(arguments.server.options()).await?;
    let outcome = run_command(&arguments.command, server.uri()).await;
    server.stop().await;
    outcome
}

async fn run_command(command: &[OsString], uri: &str) -> Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env("MONGODB_URI", uri)
        .spawn()
        .with_context(|| format!("could not run {}", command[0].display()))?;
    loop {
        tokio::select! {
            status = child.wait() => return Ok(exit_code(status?)),
            signal = signals.next() => signal.forward(child.id())?,
        }
    }
}

/// The command's exit code, or 128 + n after signal n, as shells have it.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;

    let code = status.code().or_else(|| Some(128 + signal?));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Stdio;

use anyhow::Context as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// An agent that runs as a child, and is killed when it is dropped.
pub(super) struct AgentProcess {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

impl AgentProcess {
    /// Starts an agent.
    pub(super) fn start(program: &OsStr, arguments: &[OsString]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // The settings may hold secrets, which are not for the agent.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("REPRISE__") {
                command.env_remove(name);
            }
        }
        let started = command.spawn();
        let mut child = started.with_context(|| format!("cannot start {}", program.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).context("the agent has no pipes")?;
        Ok(Self { child, stdin, stdout })
    }
}

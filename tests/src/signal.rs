//! Signals to child processes.

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

/// Sends a signal to a process that has not been waited for.
pub fn send(child: &Child, signal: Signal) -> Result<()> {
    let pid = child.id().context("the process has ended")?;
    let pid = Pid::from_raw(i32::try_from(pid)?).context("not a process id")?;
    Ok(kill_process(pid, signal)?)
}

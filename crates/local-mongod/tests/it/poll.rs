//! Waiting for an event, with a deadline.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::time::sleep;

/// Waits until `happened` answers true, for at most 20 seconds.
pub(crate) async fn until(awaited: &str, mut happened: impl FnMut() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !happened() {
        ensure!(begin.elapsed() < Duration::from_secs(20), "waited too long for {awaited}");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Waits until there is no process with this id.
pub(crate) async fn until_gone(pid: u32) -> Result<()> {
    until(&format!("the end of process {pid}"), || !runs(pid)).await
}

pub(crate) fn runs(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

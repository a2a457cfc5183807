use std::time::Duration;

use anyhow::{Context as _, Result};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// The CPU time of a process.
#[derive(Debug)]
pub(crate) struct CpuTime(Pid);

impl CpuTime {
    pub(crate) fn of(pid: u32) -> Self {
        Self(Pid::from_u32(pid))
    }

    /// Returns what it has used since an earlier reading.
    pub(crate) fn used_since(&self, earlier: Duration) -> Result<Duration> {
        Ok(self.used()?.saturating_sub(earlier))
    }

    /// Returns what it has used since its start, on all cores together.
    pub(crate) fn used(&self) -> Result<Duration> {
        let mut system = System::new();
        let cpu = ProcessRefreshKind::nothing().with_cpu();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.0]), true, cpu);
        let process = system.process(self.0).context("the process has ended")?;
        Ok(Duration::from_millis(process.accumulated_cpu_time()))
    }
}

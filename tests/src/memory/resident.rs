use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;

/// The resident set of a process.
#[derive(Debug)]
pub(super) struct Resident {
    pid: u32,
}

/// The resident set during a phase, in megabytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Memory {
    /// At the beginning.
    pub before: f64,
    /// The peak.
    pub peak: f64,
    /// At the end.
    pub after: f64,
}

impl Memory {
    /// The growth up to the peak.
    pub fn growth(&self) -> f64 {
        self.peak - self.before
    }
}

impl Resident {
    pub(super) fn of(pid: u32) -> Self {
        Self { pid }
    }

    /// Measures it during an operation.
    pub(super) async fn during<T>(
        &self,
        happening: impl Future<Output = Result<T>>,
    ) -> Result<(T, Memory)> {
        // The kernel tracks the peak by itself, from the moment of the last reset.
        fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?;
        let before = self.field("VmRSS:")?;
        let outcome = happening.await?;
        let peak = self.field("VmHWM:")?;
        let after = self.field("VmRSS:")?;
        Ok((outcome, Memory { before, peak, after }))
    }

    /// Returns the peak since the process began, in megabytes.
    pub(super) fn peak(&self) -> Result<f64> {
        self.field("VmHWM:")
    }

    /// Reads a size, in megabytes.
    fn field(&self, name: &str) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let text = line.with_context(|| format!("the process has no {name}"))?;
        let kibibytes: f64 = text.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes * 1_024.0 / 1e6)
    }
}

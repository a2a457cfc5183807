use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::resident::Memory;

/// The memory of a service.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The messages in the chat.
    pub messages: usize,
    /// The phases, in order; each has a newly started service.
    pub phases: Vec<Phase>,
}

/// A phase of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// The name of the phase.
    pub what: String,
    /// The amount of data written or read.
    pub megabytes: usize,
    /// The duration.
    pub seconds: f64,
    /// The resident set of the service, in megabytes.
    #[serde(rename = "resident_mb")]
    pub memory: Memory,
}

impl Report {
    /// The largest growth of the resident set of a service, in megabytes.
    pub fn growth_mb(&self) -> f64 {
        self.phases.iter().map(|phase| phase.memory.growth()).fold(0.0, f64::max)
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} messages; the resident set of a fresh service, in MB\n", self.messages)?;
        let what = "phase";
        writeln!(f, "| {what:<28} |   MB |     s | before |  peak | after | growth |")?;
        writeln!(f, "|{:-<30}|-----:|------:|-------:|------:|------:|-------:|", "")?;
        for Phase { what, megabytes, seconds, memory } in &self.phases {
            let Memory { before, peak, after } = memory;
            let growth = memory.growth();
            writeln!(
                f,
                "| {what:<28} | {megabytes:>4} | {seconds:>5.1} | {before:>6.1} | \
                 {peak:>5.1} | {after:>5.1} | {growth:>6.1} |",
            )?;
        }
        Ok(())
    }
}

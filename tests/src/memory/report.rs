use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::resident::Memory;

/// What a service took.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The messages in the chat.
    pub messages: usize,
    /// The resident set before anything was asked of the service, in megabytes.
    pub idle_mb: f64,
    /// What was asked of it, in order.
    pub phases: Vec<Phase>,
}

/// Something that was asked of the service.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What it was.
    pub what: String,
    /// How much was written or read.
    pub megabytes: usize,
    /// How long it took.
    pub seconds: f64,
    /// What it did to the resident set of the service, in megabytes.
    #[serde(rename = "resident_mb")]
    pub memory: Memory,
}

impl Report {
    /// How far the resident set ever grew beyond that of the idle service, in megabytes.
    pub fn growth_mb(&self) -> f64 {
        let peaks = self.phases.iter().map(|phase| phase.memory.peak);
        peaks.fold(0.0, f64::max) - self.idle_mb
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (messages, idle) = (self.messages, self.idle_mb);
        writeln!(f, "{messages} messages; the idle service takes {idle:.1} MB\n")?;
        let what = "phase";
        writeln!(f, "| {what:<34} |   MB |     s | before | peak | after | growth |")?;
        writeln!(f, "|{:-<36}|-----:|------:|-------:|-----:|------:|-------:|", "")?;
        for Phase { what, megabytes, seconds, memory } in &self.phases {
            let Memory { before, peak, after } = memory;
            let growth = peak - idle;
            writeln!(
                f,
                "| {what:<34} | {megabytes:>4} | {seconds:>5.1} | {before:>6.1} | \
                 {peak:>4.1} | {after:>5.1} | {growth:>6.1} |",
            )?;
        }
        Ok(())
    }
}

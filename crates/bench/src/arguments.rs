use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, ValueEnum as _};

use crate::scenarios::Scenario;
use crate::stage::{Plan, Size};

/// Measure what Reprise costs, beside the MongoDB driver alone.
///
/// Starts a private mongod, runs each scenario in short rounds that alternate with its floor,
/// and prints one table. Targets are reported, not enforced.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
pub(crate) struct Arguments {
    /// The scenarios to measure [default: all]
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<Scenario>,

    /// Run at the smallest size, to show that everything works; the numbers mean nothing.
    #[arg(long)]
    quick: bool,

    /// Rounds of each comparison [default: 40, with --quick 2]
    #[arg(long, value_name = "COUNT")]
    rounds: Option<NonZeroUsize>,

    /// Sessions of `lists-million`, and chats of `purge` [default: what the scenario states]
    #[arg(long, value_name = "COUNT")]
    sessions: Option<NonZeroUsize>,

    /// The seed of the generated messages.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write all measurements to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write the table to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Run as a service over a database, for scenarios that need a second process.
    #[arg(long, hide = true, num_args = 2, value_names = ["URI", "DATABASE"])]
    pub(crate) serve: Vec<String>,
}

impl Arguments {
    /// Returns the scenarios to run, in the order of the table.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        let all = Scenario::value_variants().iter().copied();
        all.filter(|it| self.scenarios.is_empty() || self.scenarios.contains(it)).collect()
    }

    pub(crate) fn plan(&self) -> Plan {
        let (size, rounds) = if self.quick { (Size::Quick, 2) } else { (Size::Full, 40) };
        let rounds = self.rounds.map_or(rounds, NonZeroUsize::get);
        let sessions = self.sessions.map(NonZeroUsize::get);
        Plan { seed: self.seed, rounds, size, sessions }
    }
}

//! What a run found, for people and for programs.

mod machine;
mod table;

use anyhow::Result;
use serde::Serialize;

pub(crate) use machine::Machine;
pub(crate) use table::{markdown, text};

use crate::measure::Comparison;

/// What a run found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) seed: u64,
    pub(crate) rounds: usize,
    pub(crate) scenarios: Vec<Played>,
}

/// What came of a scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Played {
    pub(crate) name: String,
    pub(crate) seconds: u64,
    pub(crate) comparisons: Vec<Comparison>,
}

impl Report {
    /// Returns all of it as JSON.
    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

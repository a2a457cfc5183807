//! The report of a run, for people and for programs.

mod machine;
mod table;

use anyhow::Result;
use serde::Serialize;

pub(crate) use machine::Machine;
pub(crate) use table::{markdown, text};

use crate::measure::Comparison;

/// The report of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) seed: u64,
    pub(crate) rounds: usize,
    pub(crate) scenarios: Vec<Played>,
}

/// A scenario with its results.
#[derive(Debug, Serialize)]
pub(crate) struct Played {
    pub(crate) name: String,
    pub(crate) seconds: u64,
    #[serde(flatten)]
    pub(crate) findings: Findings,
}

/// The results of a scenario.
#[derive(Debug, Serialize)]
pub(crate) struct Findings {
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) figures: Vec<Figure>,
}

impl From<Vec<Comparison>> for Findings {
    fn from(comparisons: Vec<Comparison>) -> Self {
        Self { comparisons, figures: Vec::new() }
    }
}

/// A number that is compared with its target only.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// The target, an upper bound.
    pub(crate) at_most: Option<f64>,
}

impl Report {
    /// Returns all of it as JSON.
    pub(crate) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

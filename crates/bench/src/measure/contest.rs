use std::sync::Arc;

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::lane::{Delivering, Lane, Reading, Writing};
use super::{Comparison, Deliver, Lap, Load, Measure, Read, Write};
use crate::stage::Stage;

/// Lanes that take turns.
pub(crate) struct Contest<'a> {
    stage: &'a Stage,
    lanes: Vec<(String, Box<dyn Lane>)>,
    rounds: usize,
    warm_up: usize,
    progress: Option<ProgressBar>,
}

/// The laps of one lane, by round.
#[derive(Debug)]
pub(crate) struct Laps {
    name: String,
    laps: Vec<Lap>,
}

/// The laps of all lanes.
#[derive(Debug)]
pub(crate) struct Outcome(Vec<Laps>);

impl<'a> Contest<'a> {
    /// A contest with the rounds of the run, after a few rounds to warm up.
    pub(crate) fn new(stage: &'a Stage) -> Self {
        let rounds = stage.rounds;
        Self { stage, lanes: Vec::new(), rounds, warm_up: rounds.div_ceil(10), progress: None }
    }

    /// The same without a warm-up, for operations that happen only once.
    pub(crate) fn cold(stage: &'a Stage) -> Self {
        Self { warm_up: 0, ..Self::new(stage) }
    }

    /// The same without a progress bar, for one of many contests.
    pub(crate) fn without_progress(self) -> Self {
        Self { progress: Some(ProgressBar::hidden()), ..self }
    }

    /// Adds a lane that writes.
    pub(crate) fn writing(
        mut self,
        name: impl Into<String>,
        load: Load,
        write: impl Write,
    ) -> Self {
        self.lanes.push((name.into(), Box::new(Writing { write: Arc::new(write), load })));
        self
    }

    /// Adds a lane with the given number of reads in each lap.
    pub(crate) fn reading(
        mut self,
        name: impl Into<String>,
        reads: usize,
        read: impl Read,
    ) -> Self {
        self.lanes.push((name.into(), Box::new(Reading { read, reads })));
        self
    }

    /// Adds a lane with the given number of deliveries in each lap.
    pub(crate) fn delivering(
        mut self,
        name: impl Into<String>,
        deliveries: usize,
        deliver: impl Deliver,
    ) -> Self {
        self.lanes.push((name.into(), Box::new(Delivering { deliver, deliveries })));
        self
    }

    /// Runs all rounds.
    pub(crate) async fn run(self) -> Result<Outcome> {
        let messages = self.lanes.iter().map(|(_, lane)| lane.messages()).max().unwrap_or(0);
        let names = self.lanes.iter().map(|(name, _)| name.clone());
        let mut outcome: Vec<_> = names.map(|name| Laps { name, laps: Vec::new() }).collect();
        let total = self.warm_up + self.rounds;
        let shown = || self.stage.progress("measuring", total);
        let progress = self.progress.clone().unwrap_or_else(shown);
        for round in 0..total {
            let messages = self.stage.source.take(messages);
            for index in turns(self.lanes.len(), round) {
                let (name, lane) = &self.lanes[index];
                let lap = lane.lap(&messages).await;
                let lap = lap.with_context(|| format!("lane {name:?}"))?;
                if round >= self.warm_up {
                    outcome[index].laps.push(lap);
                }
            }
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok(Outcome(outcome))
    }
}

/// The order of the lanes in a round: each lane goes first equally often, and runs before each
/// neighbour as often as after it.
fn turns(lanes: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..lanes).collect();
    order.rotate_left(round / 2 % lanes);
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    order
}

impl Outcome {
    /// Returns the laps of a lane.
    pub(crate) fn laps(&self, name: &str) -> Result<&Laps> {
        let found = self.0.iter().find(|laps| laps.name == name);
        found.with_context(|| format!("there is no lane {name:?}"))
    }

    /// Compares a lane with its floor.
    pub(crate) fn compare(&self, ours: &str, floor: &str, measure: Measure) -> Result<Comparison> {
        Ok(self.laps(ours)?.compare(self.laps(floor)?, measure))
    }
}

impl Laps {
    /// Compares these laps with those of the floor, round by round.
    pub(crate) fn compare(&self, floor: &Self, measure: Measure) -> Comparison {
        Comparison::new(measure, (&self.name, &self.laps), (&floor.name, &floor.laps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_take_turns_in_beginning() {
        let orders: Vec<_> = (0..4).map(|round| turns(2, round)).collect();
        assert_eq!(orders, [[0, 1], [1, 0], [1, 0], [0, 1]]);
        for lanes in 1..=5 {
            let mut first = vec![0; lanes];
            for round in 0..2 * lanes {
                first[turns(lanes, round)[0]] += 1;
            }
            assert_eq!(first, vec![2; lanes]);
        }
    }
}

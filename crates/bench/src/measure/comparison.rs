use serde::Serialize;

use super::Lap;
use super::lap::milliseconds;
use super::quantiles::quantile;

/// Two lanes side by side.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Comparison {
    /// The measure that is compared.
    pub(crate) measure: Measure,
    pub(crate) ours: Summary,
    pub(crate) floor: Summary,
    /// Our value divided by the floor's, over the rounds.
    pub(crate) ratio: Spread,
    /// Our p50 minus the floor's in milliseconds, over the rounds.
    pub(crate) difference_ms: Spread,
    /// The target, if there is one.
    pub(crate) target: Option<Target>,
}

/// A measure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Measure {
    /// The p50 of the latencies; less is better.
    Latency,
    /// The mean of the latencies; less is better. For operations of which some do more than the others.
    Mean,
    /// Messages a second; more is better.
    Throughput,
}

/// A target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// The ratio is at most this.
    RatioAtMost(f64),
    /// The ratio is at least this.
    RatioAtLeast(f64),
    /// The ratio is certainly below this: the upper end of its 95 % interval is.
    RatioSurelyBelow(f64),
    /// The difference is at most this, in milliseconds.
    DifferenceAtMost(f64),
}

/// The results of a lane over all rounds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) operations: usize,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) per_second: f64,
}

/// The distribution of a number over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lower_quartile: f64,
    pub(crate) upper_quartile: f64,
    /// The upper end of the 95 % interval of the median, by rank; it assumes nothing about the distribution.
    pub(crate) upper_bound: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Comparison {
    /// Compares the laps of two lanes round by round.
    pub(super) fn new(measure: Measure, ours: (&str, &[Lap]), floor: (&str, &[Lap])) -> Self {
        let value = |lap: &Lap| match measure {
            Measure::Latency => lap.p50_ms(),
            Measure::Mean => lap.mean_ms(),
            Measure::Throughput => lap.per_second(),
        };
        let rounds = || ours.1.iter().zip(floor.1);
        Self {
            measure,
            ours: Summary::of(ours.0, ours.1),
            floor: Summary::of(floor.0, floor.1),
            ratio: Spread::of(rounds().map(|(ours, floor)| value(ours) / value(floor))),
            difference_ms: Spread::of(rounds().map(|(ours, floor)| ours.p50_ms() - floor.p50_ms())),
            target: None,
        }
    }

    /// Sets the target.
    pub(crate) fn aiming_at(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Returns whether the target was reached; `None` without a target.
    pub(crate) fn is_met(&self) -> Option<bool> {
        self.target.map(|target| match target {
            Target::RatioAtMost(bound) => self.ratio.median <= bound,
            Target::RatioAtLeast(bound) => self.ratio.median >= bound,
            Target::RatioSurelyBelow(bound) => self.ratio.upper_bound < bound,
            Target::DifferenceAtMost(bound) => self.difference_ms.median <= bound,
        })
    }
}

impl Summary {
    fn of(name: &str, laps: &[Lap]) -> Self {
        let all = Lap::joined(laps);
        let at = |share| milliseconds(quantile(all.latencies(), share));
        let (p50_ms, p99_ms, per_second) = (at(0.5), at(0.99), all.per_second());
        Self {
            name: name.to_owned(),
            operations: all.latencies().len(),
            p50_ms,
            p99_ms,
            per_second,
        }
    }
}

impl Spread {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<_> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        Self {
            median: at(0.5),
            lower_quartile: at(0.25),
            upper_quartile: at(0.75),
            upper_bound: at(upper_share(sorted.len())),
            min: at(0.0),
            max: at(1.0),
        }
    }
}

/// Returns the share of the values below which the median lies with 97.5 % certainty (the binomial distribution, as a normal one).
fn upper_share(values: usize) -> f64 {
    let values = values.max(1) as f64;
    (0.5 + 0.98 / values.sqrt() + 0.5 / values).min(1.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A lap of one writer whose operations took the given milliseconds.
    fn lap(latencies: &[u64]) -> Lap {
        let latencies: Vec<_> = latencies.iter().copied().map(Duration::from_millis).collect();
        let elapsed = latencies.iter().sum();
        Lap::new(latencies.clone(), elapsed, latencies.len())
    }

    fn compare(measure: Measure, ours: &[Lap], floor: &[Lap]) -> Comparison {
        Comparison::new(measure, ("ours", ours), ("floor", floor))
    }

    fn near(number: f64, expected: f64) -> bool {
        (number - expected).abs() < 1e-9
    }

    #[test]
    fn the_ratio_is_the_median_of_the_rounds_however_slow_a_round_was() {
        let ours = [lap(&[3, 3, 9]), lap(&[300, 300, 300]), lap(&[6, 6, 6])];
        let floor = [lap(&[2, 2, 2]), lap(&[100, 100, 100]), lap(&[5, 5, 5])];
        let comparison = compare(Measure::Latency, &ours, &floor);
        let Spread { median, min, max, .. } = comparison.ratio;
        assert!(near(median, 1.5) && near(min, 1.2) && near(max, 3.0), "{:?}", comparison.ratio);
        assert!(near(comparison.difference_ms.median, 1.0));
        assert!(near(comparison.ours.p50_ms, 6.0));
        assert!(near(comparison.floor.p99_ms, 100.0));
    }

    #[test]
    fn throughput_counts_what_was_done_by_how_long_it_took() {
        let (ours, floor) = ([lap(&[1, 1, 2])], [lap(&[2, 4, 6])]);
        let comparison = compare(Measure::Throughput, &ours, &floor);
        assert!(near(comparison.ours.per_second, 750.0));
        assert!(near(comparison.floor.per_second, 250.0));
        assert!(near(comparison.ratio.median, 3.0));
    }

    #[test]
    fn the_upper_bound_of_the_median_is_a_rank() {
        let numbers = |count: u32| (1..=count).map(f64::from);
        // For 40 values the binomial distribution gives the 27th.
        assert!(near(Spread::of(numbers(40)).upper_bound, 27.0));
        assert!(near(Spread::of(numbers(100)).upper_bound, 61.0));
        assert!(near(Spread::of(numbers(3)).upper_bound, 3.0));
    }

    #[test]
    fn a_target_is_held_against_the_median() {
        let comparison = compare(Measure::Latency, &[lap(&[3])], &[lap(&[2])]);
        assert_eq!(comparison.is_met(), None);
        let is_met = |target| comparison.clone().aiming_at(target).is_met();
        assert_eq!(is_met(Target::RatioAtMost(1.5)), Some(true));
        assert_eq!(is_met(Target::RatioAtMost(1.4)), Some(false));
        assert_eq!(is_met(Target::RatioAtLeast(1.5)), Some(true));
        assert_eq!(is_met(Target::RatioAtLeast(1.6)), Some(false));
        assert_eq!(is_met(Target::RatioSurelyBelow(1.6)), Some(true));
        assert_eq!(is_met(Target::RatioSurelyBelow(1.5)), Some(false));
        assert_eq!(is_met(Target::DifferenceAtMost(1.0)), Some(true));
        assert_eq!(is_met(Target::DifferenceAtMost(0.9)), Some(false));
    }
}

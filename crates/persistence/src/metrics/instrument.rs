use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::reading::{Distribution, Labels};

/// An instrument that counts or measures, and is read when metrics are rendered.
pub(crate) trait Instrument {
    type Reading;

    /// Adds its current values to `readings`, with their labels.
    fn read(&self, labels: &Labels, readings: &mut Vec<(Labels, Self::Reading)>);
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn increment(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Instrument for Counter {
    type Reading = u64;

    fn read(&self, labels: &Labels, readings: &mut Vec<(Labels, u64)>) {
        readings.push((labels.clone(), self.0.load(Ordering::Relaxed)));
    }
}

/// A number that grows and shrinks.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicI64);

impl Gauge {
    pub(crate) fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }
}

impl Instrument for Gauge {
    type Reading = i64;

    fn read(&self, labels: &Labels, readings: &mut Vec<(Labels, i64)>) {
        readings.push((labels.clone(), self.0.load(Ordering::Relaxed)));
    }
}

/// From half a millisecond to ten seconds, in microseconds.
const DURATIONS: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];
const COUNTS: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];
const SIZES: [u64; 9] =
    [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];

const MICROSECONDS_PER_SECOND: u64 = 1_000_000;

/// Returns the bounds of all duration buckets, in seconds, for durations that are measured elsewhere.
pub fn duration_bounds_sec() -> impl Iterator<Item = f64> {
    DURATIONS.iter().map(|&bound| float(bound) / float(MICROSECONDS_PER_SECOND))
}

/// A distribution of values.
#[derive(Debug)]
pub(crate) struct Histogram {
    /// The upper bounds of all buckets except the last, which is unbounded.
    bounds: &'static [u64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
    /// How many observed units make one unit of the reading.
    per_unit: u64,
}

impl Histogram {
    /// Measures durations, read in seconds.
    pub(super) fn of_durations() -> Self {
        Self::new(&DURATIONS, MICROSECONDS_PER_SECOND)
    }

    /// Measures numbers of things.
    pub(super) fn of_counts() -> Self {
        Self::new(&COUNTS, 1)
    }

    /// Measures sizes, in bytes.
    pub(super) fn of_sizes() -> Self {
        Self::new(&SIZES, 1)
    }

    fn new(bounds: &'static [u64], per_unit: u64) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Self { bounds, counts, sum: AtomicU64::default(), per_unit }
    }

    pub(crate) fn observe(&self, count: usize) {
        self.observe_value(count as u64);
    }

    pub(crate) fn observe_duration(&self, duration: Duration) {
        self.observe_value(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    fn observe_value(&self, value: u64) {
        let bucket = self.bounds.partition_point(|&bound| bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }
}

impl Instrument for Histogram {
    type Reading = Distribution;

    fn read(&self, labels: &Labels, readings: &mut Vec<(Labels, Distribution)>) {
        let in_units = |value: u64| float(value) / float(self.per_unit);
        let bounds = self.bounds.iter().map(|&bound| in_units(bound)).chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let sum = in_units(self.sum.load(Ordering::Relaxed));
        readings
            .push((labels.clone(), Distribution { buckets: bounds.zip(counts).collect(), sum }));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a metric is read with less precision than that")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(histogram: &Histogram) -> Distribution {
        let mut readings = Vec::new();
        histogram.read(&Labels::new(), &mut readings);
        readings.remove(0).1
    }

    #[test]
    fn a_value_counts_in_the_first_bucket_it_does_not_exceed() {
        let histogram = Histogram::of_counts();
        for value in [0, 1, 2, 3, 1_024, 1_025] {
            histogram.observe(value);
        }
        let distribution = read(&histogram);
        let counts: Vec<u64> = distribution.buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!((distribution.count(), distribution.sum), (6, 2_055.0));
    }

    #[test]
    fn durations_are_read_in_seconds() {
        let histogram = Histogram::of_durations();
        histogram.observe_duration(Duration::from_micros(500));
        histogram.observe_duration(Duration::from_millis(1_500));
        let distribution = read(&histogram);
        assert_eq!(distribution.buckets[0], (0.000_5, 1));
        assert_eq!(distribution.buckets[11], (2.5, 1));
        let bounds: Vec<f64> = distribution.buckets.iter().map(|(bound, _)| *bound).collect();
        assert_eq!(bounds[..14], duration_bounds_sec().collect::<Vec<_>>());
        assert_eq!((bounds[14], distribution.sum), (f64::INFINITY, 1.500_5));
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let histogram = Histogram::of_sizes();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10_000).for_each(|size| histogram.observe(size)));
            }
        });
        let distribution = read(&histogram);
        assert_eq!((distribution.count(), distribution.sum), (80_000, 8.0 * 49_995_000.0));
    }
}

use std::collections::BTreeMap;

/// A histogram of whole numbers, exact to within 1/32 of each number.
///
/// Histograms can be added and subtracted: the result is the histogram of all numbers together. Each
/// number below 32 has a bucket of its own. Above that, each power of two has sixteen buckets, and a
/// bucket represents the number in its middle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u16, i64>,
}

/// The binary logarithm of the number of buckets for each power of two.
const BITS: u32 = 4;

impl Histogram {
    /// Returns the bucket of a number.
    #[must_use]
    pub fn bucket(number: u64) -> u16 {
        let shift = (u64::BITS - number.leading_zeros()).saturating_sub(BITS + 1);
        // The largest bucket is 16 × 59 + 31.
        u16::try_from(u64::from(shift << BITS) + (number >> shift)).unwrap_or(u16::MAX)
    }

    /// Returns the number that a bucket represents.
    #[must_use]
    pub fn number(bucket: u16) -> u64 {
        let shift = (u32::from(bucket) >> BITS).saturating_sub(1);
        let first = (u64::from(bucket) - u64::from(shift << BITS)) << shift;
        first + ((1 << shift) - 1) / 2
    }

    /// Counts a number `times` times; a negative number of times removes it.
    pub fn add(&mut self, number: u64, times: i64) {
        self.add_to_bucket(Self::bucket(number), times);
    }

    /// Counts a number of this bucket `times` times.
    pub fn add_to_bucket(&mut self, bucket: u16, times: i64) {
        let count = self.counts.entry(bucket).or_default();
        *count += times;
        if *count == 0 {
            self.counts.remove(&bucket);
        }
    }

    /// Adds another histogram `times` times.
    pub fn merge(&mut self, other: &Self, times: i64) {
        for (bucket, count) in other.counts() {
            self.add_to_bucket(bucket, count * times);
        }
    }

    /// Returns the buckets that are not empty, and their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u16, i64)> {
        self.counts.iter().map(|(bucket, count)| (*bucket, *count))
    }

    /// Returns how many numbers were counted.
    #[must_use]
    pub fn count(&self) -> i64 {
        self.counts.values().sum()
    }

    /// Returns a percentile; `None` if nothing was counted.
    ///
    /// It is the nearest rank: one of the counted numbers, never a number between two of them.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let rank = ((self.count() * i64::from(percent) + 99) / 100).max(1);
        let mut seen = 0;
        let mut buckets = self.counts();
        let (bucket, _) = buckets.find(|(_, count)| {
            seen += count;
            seen >= rank
        })?;
        Some(Self::number(bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let numbers = (0..100_000).chain((17..64).map(|bits| 1 << bits)).chain([u64::MAX]);
        let mut last = 0;
        for number in numbers {
            let bucket = Histogram::bucket(number);
            assert!(bucket == last || number > 100_000 || bucket == last + 1, "{number}");
            assert!(bucket >= last, "{number}");
            last = bucket;
            let off = Histogram::number(bucket).abs_diff(number);
            assert!(off <= number / 32, "{number} is taken for one that is {off} off");
        }
    }

    #[test]
    fn percentiles_are_counted_numbers() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), None);
        (1..=20).for_each(|number| histogram.add(number, 1));
        let at = |percent| histogram.percentile(percent).unwrap();
        assert_eq!([at(0), at(5), at(50), at(95), at(99), at(100)], [1, 1, 10, 19, 20, 20]);
    }

    #[test]
    fn removed_numbers_leave_no_trace() {
        let mut histogram = Histogram::default();
        histogram.add(1_000, 2);
        let mut other = Histogram::default();
        other.add(1_001, 1);
        other.add(7, 1);
        histogram.merge(&other, 1);
        assert_eq!(histogram.count(), 4);
        histogram.merge(&other, -1);
        histogram.add(1_000, -2);
        assert_eq!(histogram, Histogram::default());
    }
}

/// The labels of a series: key and value.
pub type Labels = Vec<(&'static str, &'static str)>;

/// The distribution of observed values.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Upper bounds, ascending up to infinity, each with the number of values in that bucket alone.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
}

impl Distribution {
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}

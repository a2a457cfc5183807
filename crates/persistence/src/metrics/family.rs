use super::instrument::Instrument;
use super::reading::{Distribution, Labels};

/// A metric and all its series, for an exporter to render.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The full name, with the unit, and with `_total` for a counter.
    pub name: &'static str,
    /// The description, one sentence.
    pub help: &'static str,
    /// The values.
    pub series: Series,
}

/// The series of a metric, with their labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Series {
    /// Numbers that only grow.
    Counter(Vec<(Labels, u64)>),
    /// Numbers that grow and shrink.
    Gauge(Vec<(Labels, i64)>),
    /// Distributions of values.
    Histogram(Vec<(Labels, Distribution)>),
}

impl Family {
    pub(super) fn counter(
        name: &'static str,
        help: &'static str,
        counters: &impl Instrument<Reading = u64>,
    ) -> Self {
        Self { name, help, series: Series::Counter(readings(counters)) }
    }

    pub(super) fn gauge(
        name: &'static str,
        help: &'static str,
        gauges: &impl Instrument<Reading = i64>,
    ) -> Self {
        Self { name, help, series: Series::Gauge(readings(gauges)) }
    }

    pub(super) fn histogram(
        name: &'static str,
        help: &'static str,
        histograms: &impl Instrument<Reading = Distribution>,
    ) -> Self {
        Self { name, help, series: Series::Histogram(readings(histograms)) }
    }
}

fn readings<I: Instrument>(instrument: &I) -> Vec<(Labels, I::Reading)> {
    let mut readings = Vec::new();
    instrument.read(&Labels::new(), &mut readings);
    readings
}

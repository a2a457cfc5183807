use super::instrument::Instrument;
use super::reading::{Distribution, Labels};

/// A metric and all of its series, for an exporter to render.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its whole name, with the unit, and `_total` where it is a counter.
    pub name: &'static str,
    /// What it means: a sentence.
    pub help: &'static str,
    /// What it says.
    pub series: Series,
}

/// The series of a metric, by their labels.
#[derive(Debug, Clone, PartialEq)]
pub enum Series {
    /// Numbers that only grow.
    Counter(Vec<(Labels, u64)>),
    /// Numbers that come and go.
    Gauge(Vec<(Labels, i64)>),
    /// How values are distributed.
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

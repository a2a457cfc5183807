use std::fmt;
use std::sync::Arc;

use persistence::Store;
use persistence::metrics::{Distribution, Family, Labels, Series};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Renders the metrics of the store.
#[derive(Debug)]
pub(super) struct StoreCollector(pub(super) Arc<dyn Store>);

impl Collector for StoreCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.metrics().families().iter().try_for_each(|family| render(&mut encoder, family))
    }
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone is not general enough in its lifetimes"
)]
fn render(encoder: &mut DescriptorEncoder<'_>, family: &Family) -> fmt::Result {
    // The library appends the suffix to each series itself.
    let name = family.name.strip_suffix("_total").unwrap_or(family.name);
    let kind = match family.series {
        Series::Counter(_) => MetricType::Counter,
        Series::Gauge(_) => MetricType::Gauge,
        Series::Histogram(_) => MetricType::Histogram,
    };
    let mut metric = encoder.encode_descriptor(name, family.help, None, kind)?;
    match &family.series {
        Series::Counter(series) => each(&mut metric, series, |metric, count| {
            metric.encode_counter::<NoLabelSet, _, u64>(count, None)
        }),
        Series::Gauge(series) => {
            each(&mut metric, series, |metric, value| metric.encode_gauge(value))
        }
        Series::Histogram(series) => each(&mut metric, series, histogram),
    }
}

fn histogram(metric: &mut MetricEncoder<'_>, values: &Distribution) -> fmt::Result {
    metric.encode_histogram::<NoLabelSet>(values.sum, values.count(), &values.buckets, None)
}

/// Renders each series under its labels.
fn each<T>(
    metric: &mut MetricEncoder<'_>,
    series: &[(Labels, T)],
    render: impl Fn(&mut MetricEncoder<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    series.iter().try_for_each(|(labels, value)| {
        if labels.is_empty() {
            return render(metric, value);
        }
        render(&mut metric.encode_family(labels)?, value)
    })
}

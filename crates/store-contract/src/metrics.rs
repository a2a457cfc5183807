//! What a store counts about itself.

use std::sync::Arc;

use super::fixture::{TestChat, event, message};
use persistence::Store;
use persistence::metrics::Series;

/// Returns the sum of a metric's series whose label values include those given; of a histogram, how
/// many values it has.
pub fn count(store: &dyn Store, name: &str, values: &[&str]) -> u64 {
    let families = store.metrics().families();
    let family = families.into_iter().find(|family| family.name == name).unwrap();
    let is_meant = |labels: &[(&str, &str)]| {
        values.iter().all(|value| labels.iter().any(|(_, found)| found == value))
    };
    let counts: Vec<_> = match family.series {
        Series::Counter(series) => series,
        Series::Gauge(series) => {
            series.into_iter().map(|(labels, value)| (labels, value.try_into().unwrap())).collect()
        }
        Series::Histogram(series) => {
            series.into_iter().map(|(labels, values)| (labels, values.count())).collect()
        }
    };
    counts.iter().filter(|(labels, _)| is_meant(labels)).map(|(_, count)| count).sum()
}

/// Returns the sum of all values of a histogram without labels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and small")]
pub fn sum(store: &dyn Store, name: &str) -> u64 {
    let families = store.metrics().families();
    let family = families.into_iter().find(|family| family.name == name).unwrap();
    let Series::Histogram(series) = family.series else { panic!("{name} is no histogram") };
    series.iter().map(|(_, values)| values.sum as u64).sum()
}

pub async fn appends_are_measured_as_they_were_given(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let counts = || {
        (count(&*store, "reprise_append_messages", &[]), sum(&*store, "reprise_append_messages"))
    };
    assert_eq!(counts(), (0, 0));
    chat.append([message("one"), message("two")]).await.unwrap();
    chat.persist_initial([message("two")]).await.unwrap();
    for _ in 0..2 {
        chat.append([event("e1", "three")]).await.unwrap();
    }
    assert_eq!(counts(), (4, 5));
    assert_eq!(count(&*store, "reprise_append_size_bytes", &[]), 4);
    assert!(sum(&*store, "reprise_append_size_bytes") >= 4 * "three".len() as u64);
    chat.append([]).await.unwrap_err();
    assert_eq!(counts(), (4, 5), "what breaks a rule is not an append");
}

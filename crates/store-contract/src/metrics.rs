//! The metrics of a store.

use std::sync::Arc;

use futures::future::try_join_all;
use records::ChatStatus;

use super::fixture::{TestChat, event, message};
use persistence::Store;
use persistence::metrics::Series;

/// Returns the sum of the series of a metric whose label values include `values`. For a histogram
/// this is the number of observations.
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

/// Returns the sum of all observations of a histogram without labels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and small")]
pub fn sum(store: &dyn Store, name: &str) -> u64 {
    let families = store.metrics().families();
    let family = families.into_iter().find(|family| family.name == name).unwrap();
    let Series::Histogram(series) = family.series else { panic!("{name} is not a histogram") };
    series.iter().map(|(_, values)| values.sum as u64).sum()
}

pub async fn every_call_is_counted_with_its_outcome(store: Arc<dyn Store>) {
    let all_calls = || count(&*store, "reprise_store_calls_total", &[]);
    // The store may have been pinged before.
    let before = all_calls();
    let chat = TestChat::create(&store).await;
    let nowhere = TestChat::unknown(&store);
    chat.append([event("e1", "hello"), event("e2", "hello")]).await.unwrap();
    chat.append([event("e1", "hello")]).await.unwrap();
    chat.append([event("e1", "another")]).await.unwrap_err();
    chat.append([]).await.unwrap_err();
    nowhere.append([event("e1", "hello")]).await.unwrap_err();
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    chat.append([event("e3", "late")]).await.unwrap_err();

    let calls = |call, outcome| count(&*store, "reprise_store_calls_total", &[call, outcome]);
    assert_eq!(calls("append", "ok"), 2);
    assert_eq!(calls("append", "conflict"), 2);
    assert_eq!(calls("append", "invalid"), 1);
    assert_eq!(calls("append", "not_found"), 1);
    assert_eq!(calls("create_chat", "ok"), 1);
    assert_eq!(calls("set_status", "ok"), 1);
    assert_eq!(all_calls() - before, 8);
    assert_eq!(count(&*store, "reprise_store_call_duration_seconds", &["append"]), 6);
    let messages = |outcome| count(&*store, "reprise_store_messages_total", &[outcome]);
    assert_eq!((messages("stored"), messages("duplicate")), (2, 1));
}

pub async fn concurrent_calls_are_all_counted(store: Arc<dyn Store>) {
    let calls = |outcome| count(&*store, "reprise_store_calls_total", &["ping", outcome]);
    let durations = || count(&*store, "reprise_store_call_duration_seconds", &["ping"]);
    let before = (calls("ok"), durations());
    let callers = (0..50).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for _ in 0..20 {
                store.ping().await.unwrap();
            }
        })
    });
    try_join_all(callers).await.unwrap();
    assert_eq!((calls("ok"), durations()), (before.0 + 1_000, before.1 + 1_000));
}

pub async fn appends_are_measured_by_their_requested_size(store: Arc<dyn Store>) {
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
    assert_eq!(counts(), (4, 5), "an invalid append is not measured");
}

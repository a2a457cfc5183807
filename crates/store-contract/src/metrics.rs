//! The metrics of a store.

use std::sync::Arc;

use futures::future::try_join_all;
use records::{
    ChatStatus, NewStream, Stream, StreamEnding, StreamFormat, StreamHeader, StreamId, StreamState,
};

use super::fixture::{TestChat, event, message};
use super::streams::turn;
use persistence::metrics::Series;
use persistence::{Store, Takeover};

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

pub async fn streams_are_counted_by_what_is_written(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let (scope, chat_id) = (&chat.scope, &chat.id);
    let id = |id: &str| StreamId::parse(id).unwrap();
    let counted = |name: &str, values: &[&str]| count(&*store, name, values);
    for name in ["s1", "s2", "s2"] {
        let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
        let new = NewStream { stream_id: Some(id(name)), header };
        store.start_stream(scope, chat_id, new).await.unwrap();
    }
    assert_eq!(counted("reprise_streams_started_total", &[]), 2, "a repeat is counted");

    // Chunks that the stream has, and too many of them, are not stored.
    for (from, chunks) in [(0, vec!["ab", "c"]), (0, vec!["ab", "c", "def"]), (3, Vec::new())] {
        let chunks = chunks.into_iter().map(str::to_owned).collect();
        store.append_chunks(scope, chat_id, &id("s1"), from, chunks).await.unwrap();
    }
    let many = vec![String::new(); Stream::MAX_CHUNKS + 1];
    store.append_chunks(scope, chat_id, &id("s1"), 3, many).await.unwrap_err();
    assert_eq!(counted("reprise_stream_chunks_total", &[]), 3);
    assert_eq!(counted("reprise_stream_chunk_bytes_total", &[]), 6);

    for _ in 0..2 {
        store.cancel_stream(scope, chat_id, &id("s1")).await.unwrap();
        let restart = Takeover::Restart { attempt: Some(1) };
        store.take_over_stream(scope, chat_id, &id("s1"), restart).await.unwrap();
    }
    assert_eq!(counted("reprise_stream_cancel_requests_total", &[]), 1);
    assert_eq!(counted("reprise_streams_taken_over_total", &["restart"]), 1);
    assert_eq!(counted("reprise_streams_taken_over_total", &["continue"]), 0);

    let finished = StreamEnding::of(StreamState::Finished);
    for _ in 0..2 {
        let turn = Some(turn("r1", "abc"));
        store.end_stream(scope, chat_id, &id("s1"), finished.clone(), turn).await.unwrap();
    }
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let ended = |outcome| counted("reprise_streams_ended_total", &[outcome]);
    assert_eq!((ended("finished"), ended("cancelled"), ended("failed")), (1, 1, 0));
    // Two starts, three writes of the agent, a cancellation, a restart and two ends.
    assert_eq!(counted("reprise_stream_groups_total", &[]), 9);
}

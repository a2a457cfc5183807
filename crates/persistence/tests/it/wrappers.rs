//! The wrappers count the calls to the store within.

use std::time::Duration;

use persistence::Store;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::wrappers::Traced;
use store_contract::metrics::count;

#[tokio::test]
async fn a_call_nobody_waits_for_any_longer_is_cancelled() {
    let options = MongoOptions::new("mongodb://127.0.0.1:1/?replicaSet=rs0", "nowhere");
    let store = Traced::new(MongoStore::connect(&options).await.unwrap(), Duration::MAX);
    let ping = tokio::time::timeout(Duration::from_millis(20), store.ping());
    ping.await.unwrap_err();
    assert_eq!(count(&store, "reprise_store_calls_total", &["ping", "cancelled"]), 1);
    assert_eq!(count(&store, "reprise_store_calls_total", &[]), 1);
}

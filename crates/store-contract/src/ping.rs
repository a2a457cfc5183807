//! Asking a store whether it is available.

use std::sync::Arc;

use persistence::Store;

pub async fn a_usable_store_answers_a_ping(store: Arc<dyn Store>) {
    store.ping().await.unwrap();
}

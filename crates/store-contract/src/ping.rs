//! Asking a store whether it is there.

use std::sync::Arc;

use persistence::Store;

pub async fn a_store_that_can_be_used_answers(store: Arc<dyn Store>) {
    store.ping().await.unwrap();
}

use std::sync::Arc;
use std::time::Duration;

use persistence::Store;
use tokio::time::sleep;

/// Input requests that are closed with one call.
const CLOSED: usize = 100;

/// Closes input requests that are overdue, whichever chats they are of, until it is dropped.
///
/// Any number of processes may do so at a time. A request that is overdue takes no answer anyway: this
/// lets its chat run on, and whoever listens know.
pub async fn expire_input_requests(store: Arc<dyn Store>) {
    loop {
        match store.expire_input_requests(CLOSED).await {
            Ok(CLOSED) => continue,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "could not look for overdue input requests"),
        }
        // Not all processes at once.
        sleep(Duration::from_millis(fastrand::u64(750..1_250))).await;
    }
}

//! What lies about in the store until somebody tidies it.
//!
//! Any number of processes may do so at a time, and nobody waits for it: whoever meets such a thing before
//! it is tidied takes it for what it is.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use persistence::{Interrupted, Store, StoreError};
use tokio::time::sleep;

/// What one call may tidy.
const AT_A_TIME: usize = 100;

/// Closes input requests that are overdue, whichever chats they are of, until it is dropped.
///
/// A request that is overdue takes no answer anyway: this lets its chat run on, and whoever listens know.
pub async fn expire_input_requests(store: Arc<dyn Store>) {
    let sweep = || store.expire_input_requests(AT_A_TIME);
    keep_sweeping("overdue input requests", 750..1_250, sweep).await;
}

/// Interrupts the chats that those who carried them on have left, until it is dropped.
///
/// Whoever comes to resume such a chat takes its lease over anyway.
pub async fn interrupt_abandoned_chats(store: Arc<dyn Store>) {
    let sweep = || async {
        let interrupted = store.interrupt_abandoned(AT_A_TIME).await?;
        for Interrupted { app_id, chat_id, lease } in &interrupted {
            tracing::info!(%app_id, %chat_id, owner = %lease.owner, "interrupted: its lease has run out");
        }
        Ok(interrupted.len())
    };
    keep_sweeping("abandoned chats", 3_000..5_000, sweep).await;
}

/// Sweeps again at once where there may be more, and after a pause where there is not: one of so many
/// milliseconds, so that not all processes come at once.
async fn keep_sweeping<Sweep>(what: &str, pause: Range<u64>, sweep: impl Fn() -> Sweep)
where
    Sweep: Future<Output = Result<usize, StoreError>>,
{
    loop {
        match sweep().await {
            Ok(AT_A_TIME) => continue,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "could not look for {what}"),
        }
        sleep(Duration::from_millis(fastrand::u64(pause.clone()))).await;
    }
}

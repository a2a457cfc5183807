use std::sync::Arc;
use std::time::Duration;

use persistence::Store;
use tokio::time::sleep;

/// Chats that are looked for with one call.
const FOUND: usize = 100;

/// Interrupts the chats that those who carried them on have left, until it is dropped.
///
/// Any number of processes may do so at a time. Whoever comes to resume such a chat need not wait for it:
/// a lease that has expired can be taken over anyway.
pub async fn interrupt_abandoned_chats(store: Arc<dyn Store>) {
    loop {
        match store.interrupt_abandoned(FOUND).await {
            Ok(interrupted) => {
                for chat in &interrupted {
                    let (app_id, chat_id) = (&chat.app_id, &chat.chat_id);
                    let owner = &chat.lease.owner;
                    tracing::info!(%app_id, %chat_id, %owner, "interrupted: its lease has run out");
                }
                if interrupted.len() == FOUND {
                    continue;
                }
            }
            Err(error) => tracing::debug!(%error, "could not look for abandoned chats"),
        }
        // Not all processes at once.
        sleep(Duration::from_millis(fastrand::u64(3_000..5_000))).await;
    }
}

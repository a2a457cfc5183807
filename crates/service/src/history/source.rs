use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use persistence::{HistoryPage, HistoryPages, MessageSource, Store, StoreError};
use records::{ChatId, Scope};
use tokio::time::timeout;

/// The chat to read, and the store to read it from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The scope of the caller.
    pub scope: Scope,
    /// The id of the chat.
    pub chat_id: ChatId,
}

impl MessageSource for Source {
    fn pages(&mut self) -> HistoryPages<'_> {
        self.store.history_pages(&self.scope, &self.chat_id)
    }
}

/// Returns the next page; fails if the store takes longer than this.
pub(crate) async fn next_page(
    pages: &mut HistoryPages<'_>,
    read_timeout: Duration,
) -> Result<Option<HistoryPage>, StoreError> {
    in_time(pages.try_next(), read_timeout).await
}

/// Waits for a read of the store; fails if it takes longer than this.
pub(crate) async fn in_time<T>(
    read: impl Future<Output = Result<T, StoreError>>,
    read_timeout: Duration,
) -> Result<T, StoreError> {
    timeout(read_timeout, read).await.unwrap_or_else(|elapsed| {
        let retry_after = Duration::from_secs(1);
        Err(StoreError::Unavailable { retry_after, source: elapsed.into() })
    })
}

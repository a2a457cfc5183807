use async_stream::try_stream;
use futures::Stream;
use persistence::{Store, StoreError};
use records::{ChatId, Scope, StreamGroup, StreamId};

/// Reads the groups of a stream after a number, oldest first, a page at a time.
pub(super) fn groups_after(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    stream_id: &StreamId,
    mut after: Option<u64>,
) -> impl Stream<Item = Result<StreamGroup, StoreError>> {
    try_stream! {
        loop {
            let page = store.stream_groups(scope, chat_id, stream_id, after).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.mark.number);
            for group in page {
                yield group;
            }
        }
    }
}

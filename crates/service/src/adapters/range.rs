use std::ops::Range;
use std::time::Duration;

use async_stream::try_stream;
use futures::Stream;
use persistence::{MessageRange, StoreError, Transcript};

use crate::history::{Source, in_time};

/// Reads the messages of a chat with these sequences, oldest first, page by page. There is at least one page.
pub(super) fn pages(
    source: &Source,
    sequences: Range<u64>,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Transcript, StoreError>> + Send {
    try_stream! {
        let Source { store, scope, chat_id } = source;
        let Range { start: mut next, end } = sequences;
        loop {
            let range = MessageRange::Oldest {
                after: next.checked_sub(1),
                before: Some(end),
                limit: usize::MAX,
            };
            let page = in_time(store.messages(scope, chat_id, range), read_timeout).await?;
            let last = page.messages.last().map(|message| message.sequence);
            let has_more = page.has_more;
            yield page;
            match last {
                Some(last) if has_more => next = last + 1,
                _ => break,
            }
        }
    }
}

use std::mem;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use records::{ChatId, Message, Scope};
use tokio::task::JoinHandle;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::calls::RETRY_AFTER;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::cursor::SealedCursor;
use crate::mongo::transcript::reader::message::{Direction, RawMessage};
use crate::mongo::transcript::reader::segments::FetchedSegments;
use crate::mongo::transcript::reader::session::SessionView;

/// The approximate size, in bytes, of the segments of one fetch, and the largest size of its overlays.
const FETCHED_BYTES: u64 = 1 << 20;

/// The messages of a chat that are not streamed yet.
#[derive(Debug)]
struct History {
    /// The next sealed messages; `None` after the last ones.
    sealed: Option<Prefetch>,
    /// The messages of the tail when the history began. Later appends and sealings do not affect the
    /// history.
    tail: Vec<Message>,
}

/// The fetch of the next sealed messages, with its cursor.
///
/// A separate task fetches them while the reader uses the messages before them. The task is not cancelled when
/// the reader stops, because the driver closes a connection whose reply is dropped half-way.
type Prefetch = JoinHandle<Result<(SealedCursor, FetchedSegments), StoreError>>;

impl MongoStore {
    pub(crate) fn stream_history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        let begin = async move { self.read(|| self.begin_history(scope, chat_id)).await };
        let messages = move |history| {
            let pages = move |history| self.next_page(scope, history);
            let messages = |page| stream::iter(page).map(Ok::<_, StoreError>);
            stream::try_unfold(history, pages).map_ok(messages).try_flatten()
        };
        stream::once(begin).map_ok(messages).try_flatten().boxed()
    }

    /// Returns the next messages and the rest of the history; `None` after the last messages.
    async fn next_page(
        &self,
        scope: &Scope,
        mut history: History,
    ) -> Result<Option<(Vec<Message>, History)>, StoreError> {
        while let Some(fetching) = history.sealed.take() {
            let (mut cursor, fetched) = wait_for_fetch(fetching).await?;
            let run = cursor.advance(&fetched)?;
            // The next fetch starts before the messages are decoded, so that both run at the same time.
            history.sealed = self.fetch_ahead(scope, cursor);
            if !run.is_empty() {
                return Ok(Some((decode(&run)?, history)));
            }
        }
        let tail = mem::take(&mut history.tail);
        Ok((!tail.is_empty()).then_some((tail, history)))
    }

    async fn begin_history(&self, scope: &Scope, chat_id: &ChatId) -> Result<History, Failure> {
        let raw = self.session_within(scope, chat_id, SessionView::projection()).await?;
        let session = SessionView::read(chat_id, &raw)?;
        let (span, direction) = (0..session.tail.last_sequence, Direction::OldestFirst);
        let sealed = self.fetch_ahead(scope, session.sealed(&span, direction));
        let tail = decode(&session.tail_messages(&span, direction)?)?;
        Ok(History { sealed, tail })
    }

    /// Starts to fetch the next sealed messages, if any are left.
    fn fetch_ahead(&self, scope: &Scope, cursor: SealedCursor) -> Option<Prefetch> {
        if cursor.is_done() {
            return None;
        }
        let (store, scope) = (self.clone(), scope.clone());
        Some(tokio::spawn(async move {
            let fetch = || async {
                let mut at = ReadAt::Latest;
                store.fetch_sealed(&mut at, &scope, &cursor, FETCHED_BYTES).await
            };
            let fetched = store.read(fetch).await?;
            Ok((cursor, fetched))
        }))
    }
}

fn decode(run: &[RawMessage<'_>]) -> Result<Vec<Message>, StoreError> {
    run.iter().map(|message| Ok(message.decode()?.message)).collect()
}

/// Waits for a fetch. A task that panicked or was cancelled is `Unavailable`.
async fn wait_for_fetch(fetching: Prefetch) -> Result<(SealedCursor, FetchedSegments), StoreError> {
    fetching.await.unwrap_or_else(|error| {
        Err(StoreError::Unavailable { retry_after: RETRY_AFTER, source: error.into() })
    })
}

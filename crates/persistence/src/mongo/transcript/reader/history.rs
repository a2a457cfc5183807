use std::mem;
use std::ops::Range;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use mongodb::raw_batch_cursor::RawBatch;
use records::{ChatId, Message, Scope};
use tokio::task::JoinHandle;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{Lineage, Tail, open_chat_session};
use crate::mongo::engine::calls::RETRY_AFTER;
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::gathering::{Direction, Gathering, Taken};
use crate::mongo::transcript::reader::sealed::Sealed;
use crate::mongo::transcript::reader::{LOOKS, has_gap};
use crate::store::MessageRange;

/// About so many bytes of sealed messages are fetched at a time.
const FETCHED_BYTES: u64 = 1 << 20;

/// What of a chat is still to be streamed.
#[derive(Debug)]
struct History {
    /// The sealed messages, unless all have been read.
    sealed: Option<Fetching>,
    /// The messages that were not sealed when the reading began. What is appended later, or sealed, is
    /// no matter.
    tail: Vec<Message>,
    /// Of a chat that shares messages with others: what is still to be read, page by page.
    shared: Range<u64>,
}

/// Sealed messages that are still to be read, the first of them on their way.
#[derive(Debug)]
struct Fetching {
    sealed: Sealed,
    /// From a task of its own, so that it comes while what came before is read. When nobody waits for
    /// it any more, it still ends by itself: the driver gives up a connection that is let go half-way.
    reply: JoinHandle<Result<Option<RawBatch>, StoreError>>,
}

impl MongoStore {
    pub(crate) fn stream_history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        let begin = async move { self.read(|| self.begin_history(scope, chat_id)).await };
        let messages = move |history| {
            let pages = move |history| self.next_page(scope, chat_id, history);
            let messages = |page| stream::iter(page).map(Ok::<_, StoreError>);
            stream::try_unfold(history, pages).map_ok(messages).try_flatten()
        };
        stream::once(begin).map_ok(messages).try_flatten().boxed()
    }

    /// Returns the next messages and what is left.
    async fn next_page(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        mut history: History,
    ) -> Result<Option<(Vec<Message>, History)>, StoreError> {
        let page = match history.sealed {
            None if !history.shared.is_empty() => {
                let page = self.next_shared(scope, chat_id, &history.shared).await?;
                history.shared.start += page.len() as u64;
                page
            }
            None => mem::take(&mut history.tail),
            Some(fetching) => {
                let (page, left) = self.next_sealed(scope, chat_id, fetching).await?;
                history.sealed = left;
                page
            }
        };
        Ok((!page.is_empty()).then_some((page, history)))
    }

    async fn begin_history(&self, scope: &Scope, chat_id: &ChatId) -> Result<History, Failure> {
        let projection = Lineage::projected(Tail::with_messages());
        let raw = self.session_within(scope, chat_id, projection).await?;
        let session = open_chat_session(&raw)?;
        let tail = Tail::read(&session)?;
        if Lineage::read(chat_id, &session)?.is_shared() {
            let shared = 0..tail.last_sequence;
            return Ok(History { sealed: None, tail: Vec::new(), shared });
        }
        let sealed = Sealed::new(0..tail.first_sequence, Direction::OldestFirst);
        let sealed = self.fetch_rest(scope, chat_id, sealed);
        let mut page = Gathering::new(Direction::OldestFirst, u64::MAX);
        let mut in_tail = tail.first_sequence..tail.last_sequence;
        page.take(tail.first_sequence, &session, &mut in_tail)?;
        if !in_tail.is_empty() {
            return Err(session.corrupt("messages", None).into());
        }
        Ok(History { sealed, tail: page.finish(), shared: 0..0 })
    }

    /// Reads the next messages of a chat that shares some with others.
    async fn next_shared(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        left: &Range<u64>,
    ) -> Result<Vec<Message>, StoreError> {
        let after = left.start.checked_sub(1);
        let range = MessageRange::Oldest { after, before: Some(left.end), limit: usize::MAX };
        let page = || self.read_range_up_to(scope, chat_id, range, FETCHED_BYTES);
        Ok(self.read(page).await?.messages)
    }

    /// Reads the next sealed messages while those after them are fetched; returns what is left.
    async fn next_sealed(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        mut fetching: Fetching,
    ) -> Result<(Vec<Message>, Option<Fetching>), StoreError> {
        for _ in 0..LOOKS {
            let Fetching { sealed, reply } = fetching;
            let fetched = fetched(reply).await?;
            let ahead = sealed.after(chat_id, fetched.as_ref());
            let ahead = ahead.and_then(|ahead| self.fetch_rest(scope, chat_id, ahead));
            let mut left = sealed.clone();
            let mut page = Gathering::new(Direction::OldestFirst, u64::MAX);
            if left.take(chat_id, fetched.as_ref(), &mut page)? == Taken::All {
                let ahead = ahead.filter(|ahead| ahead.sealed.begins_with(&left));
                return Ok((
                    page.finish(),
                    ahead.or_else(|| self.fetch_rest(scope, chat_id, left)),
                ));
            }
            fetching = self.fetch(scope, chat_id, sealed);
        }
        Err(has_gap(chat_id).into())
    }

    /// Begins to fetch what is left, if anything is.
    fn fetch_rest(&self, scope: &Scope, chat_id: &ChatId, left: Sealed) -> Option<Fetching> {
        (!left.is_read()).then(|| self.fetch(scope, chat_id, left))
    }

    /// Begins to fetch sealed messages.
    fn fetch(&self, scope: &Scope, chat_id: &ChatId, sealed: Sealed) -> Fetching {
        let (store, scope, chat_id) = (self.clone(), scope.clone(), chat_id.clone());
        let wanted = sealed.clone();
        let reply = tokio::spawn(async move {
            store.read(|| store.fetch_sealed(&scope, &chat_id, &wanted, FETCHED_BYTES)).await
        });
        Fetching { sealed, reply }
    }
}

/// Waits for what is being fetched.
async fn fetched(
    reply: JoinHandle<Result<Option<RawBatch>, StoreError>>,
) -> Result<Option<RawBatch>, StoreError> {
    reply.await.unwrap_or_else(|error| {
        Err(StoreError::Unavailable { retry_after: RETRY_AFTER, source: error.into() })
    })
}

use std::mem;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use records::{ChatId, Message, Scope};

use super::gathering::{Direction, Gathering, Taken};
use super::sealed::Sealed;
use super::{LOOKS, has_gap};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{Tail, open_chat_session};
use crate::mongo::failure::Failure;

/// About so many bytes of sealed messages are fetched at a time.
const FETCHED_BYTES: u64 = 1 << 20;

/// What of a chat is still to be streamed.
#[derive(Debug)]
struct History {
    sealed: Sealed,
    /// The messages that were not sealed when the reading began. What is appended later, or sealed, is
    /// no matter.
    tail: Vec<Message>,
}

impl MongoStore {
    pub(in crate::mongo::messages) fn stream_history<'a>(
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
        let page = if history.sealed.is_read() {
            mem::take(&mut history.tail)
        } else {
            let read = || self.next_sealed(scope, chat_id, &history.sealed);
            let (page, left) = self.read(read).await?;
            history.sealed = left;
            page
        };
        Ok((!page.is_empty()).then_some((page, history)))
    }

    async fn begin_history(&self, scope: &Scope, chat_id: &ChatId) -> Result<History, Failure> {
        let raw = self.session_within(scope, chat_id, Tail::with_messages()).await?;
        let session = open_chat_session(&raw)?;
        let tail = Tail::read(&session)?;
        let mut page = Gathering::new(Direction::OldestFirst, u64::MAX);
        let mut in_tail = tail.first_sequence..tail.last_sequence;
        page.take(tail.first_sequence, &session, &mut in_tail)?;
        if !in_tail.is_empty() {
            return Err(session.corrupt("messages", None).into());
        }
        let sealed = Sealed::new(0..tail.first_sequence, Direction::OldestFirst);
        Ok(History { sealed, tail: page.finish() })
    }

    /// Reads the next sealed messages; returns what is left with them.
    async fn next_sealed(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sealed: &Sealed,
    ) -> Result<(Vec<Message>, Sealed), Failure> {
        for _ in 0..LOOKS {
            let mut sealed = sealed.clone();
            let mut page = Gathering::new(Direction::OldestFirst, u64::MAX);
            let fetched = self.fetch_sealed(scope, chat_id, &sealed, FETCHED_BYTES).await?;
            if sealed.take(chat_id, fetched.as_ref(), &mut page)? == Taken::All {
                return Ok((page.finish(), sealed));
            }
        }
        Err(has_gap(chat_id))
    }
}

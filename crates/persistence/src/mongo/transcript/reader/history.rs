use std::sync::Arc;

use bson::{Document, RawDocument, doc};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use mongodb::ClientSession;
use records::{ChatId, Scope};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::mongo::MongoStore;
use crate::mongo::documents::open_chat_session;
use crate::mongo::engine::calls::RETRY_AFTER;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::cursor::SealedCursor;
use crate::mongo::transcript::reader::message::{Direction, RawMessage};
use crate::mongo::transcript::reader::segments::FetchedSegments;
use crate::mongo::transcript::reader::session::SessionView;
use crate::store::{HistoryPage, HistoryPages};
use crate::{StoreError, offload};

/// The approximate size, in bytes, of the segments of one fetch, and the largest size of its overlays.
const FETCHED_BYTES: u64 = 1 << 20;

/// All messages of a chat, as of the moment at which its session was read.
#[derive(Debug, Clone)]
pub(crate) struct HistoryReader {
    store: MongoStore,
    scope: Scope,
    chat_id: ChatId,
    /// The moment at which the messages are read; `None` for the newest ones.
    moment: Option<Arc<Moment>>,
}

/// A moment of the database.
#[derive(Debug)]
pub(crate) struct Moment {
    session: Mutex<ClientSession>,
    /// The revision of the chat: every edit of a message increments it.
    revision: i64,
}

/// The messages of a chat that are not streamed yet.
#[derive(Debug)]
struct History {
    /// The next sealed messages; `None` after the last ones.
    sealed: Option<Prefetch>,
    /// The messages of the tail when the history began. Later appends and sealings do not affect the
    /// history.
    tail: Option<HistoryPage>,
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
    ) -> HistoryPages<'a> {
        let begin = async move {
            let projection = || SessionView::projection();
            let raw = self.read(|| self.session_within(scope, chat_id, projection())).await?;
            Ok::<_, StoreError>(HistoryReader::new(self, scope, chat_id, None).into_pages(&raw))
        };
        stream::once(begin).try_flatten().boxed()
    }
}

impl Moment {
    /// Keeps a moment: that of a database session, at which a chat session was read.
    pub(crate) fn new(session: ClientSession, raw: &RawDocument) -> Result<Self, StoreError> {
        let revision = open_chat_session(raw)?.integer("revision")?;
        Ok(Self { session: Mutex::new(session), revision })
    }
}

impl HistoryReader {
    pub(crate) fn new(
        store: &MongoStore,
        scope: &Scope,
        chat_id: &ChatId,
        moment: Option<Arc<Moment>>,
    ) -> Self {
        Self { store: store.clone(), scope: scope.clone(), chat_id: chat_id.clone(), moment }
    }

    /// Streams all messages of a session that was read.
    pub(crate) fn into_pages(self, raw: &RawDocument) -> HistoryPages<'static> {
        let begun = self.begin(raw);
        let pages = async move |(reader, history): (Self, Result<History, StoreError>)| {
            let next = reader.next_page(history?).await?;
            Ok::<_, StoreError>(next.map(|(page, history)| (page, (reader, Ok(history)))))
        };
        stream::try_unfold((self, begun), pages).boxed()
    }

    fn begin(&self, raw: &RawDocument) -> Result<History, StoreError> {
        let session = SessionView::read(&self.chat_id, raw)?;
        let (span, direction) = (0..session.tail.last_sequence, Direction::OldestFirst);
        let sealed = self.clone().fetch_ahead(session.sealed(&span, direction));
        let tail = decode(&session.tail_messages(&span, direction)?)?;
        Ok(History { sealed, tail: Some(tail).filter(|tail| !tail.messages.is_empty()) })
    }

    /// Returns the next messages and the rest of the history; `None` after the last messages.
    async fn next_page(
        &self,
        mut history: History,
    ) -> Result<Option<(HistoryPage, History)>, StoreError> {
        while let Some(fetching) = history.sealed.take() {
            let (mut cursor, fetched) = wait_for_fetch(fetching).await?;
            let reader = self.clone();
            let bytes = usize::try_from(fetched.bytes()).unwrap_or(usize::MAX);
            let decoding = offload(bytes, move || {
                let run = cursor.advance(&fetched)?;
                // The next fetch starts before the messages are decoded, so that both run at the same time.
                let sealed = reader.fetch_ahead(cursor);
                Ok::<_, StoreError>((sealed, decode(&run)?))
            });
            let (sealed, page) = decoding.await?;
            history.sealed = sealed;
            if !page.messages.is_empty() {
                return Ok(Some((page, history)));
            }
        }
        Ok(history.tail.take().map(|tail| (tail, history)))
    }

    /// Starts to fetch the next sealed messages, if any are left.
    fn fetch_ahead(self, cursor: SealedCursor) -> Option<Prefetch> {
        if cursor.is_done() {
            return None;
        }
        Some(tokio::spawn(async move {
            let fetched = self.store.read(|| self.fetch(&cursor)).await?;
            Ok((cursor, fetched))
        }))
    }

    async fn fetch(&self, cursor: &SealedCursor) -> Result<FetchedSegments, Failure> {
        let Self { store, scope, chat_id, moment } = self;
        let Some(moment) = moment else {
            return store.fetch_sealed(&mut ReadAt::Latest, scope, cursor, FETCHED_BYTES).await;
        };
        let mut session = moment.session.lock().await;
        let mut at = ReadAt::Snapshot(&mut session);
        match store.fetch_sealed(&mut at, scope, cursor, FETCHED_BYTES).await {
            Err(failure) if failure.is_lost_snapshot() => {}
            result => return result,
        }
        // The server no longer keeps the moment. Only edits change sealed messages, and each increments the
        // revision in its transaction: if it is the same after the fetch, so are the messages.
        let fetched = store.fetch_sealed(&mut ReadAt::Latest, scope, cursor, FETCHED_BYTES).await?;
        let raw = store.session_within(scope, chat_id, revision_projection()).await?;
        if open_chat_session(&raw)?.integer("revision")? == moment.revision {
            return Ok(fetched);
        }
        let source = "a message was edited while the chat was read for longer than the database keeps a snapshot";
        Err(StoreError::Unavailable { retry_after: RETRY_AFTER, source: source.into() }.into())
    }
}

fn revision_projection() -> Document {
    doc! { "revision": 1, "schema_version": 1 }
}

fn decode(run: &[RawMessage<'_>]) -> Result<HistoryPage, StoreError> {
    let mut page = HistoryPage { messages: Vec::with_capacity(run.len()), bytes: 0 };
    for message in run {
        let stored = message.decode()?;
        let bytes = usize::try_from(stored.bytes).unwrap_or(usize::MAX);
        page.bytes = page.bytes.saturating_add(bytes);
        page.messages.push(stored.message);
    }
    Ok(page)
}

/// Waits for a fetch. A task that panicked or was cancelled is `Unavailable`.
async fn wait_for_fetch(fetching: Prefetch) -> Result<(SealedCursor, FetchedSegments), StoreError> {
    fetching.await.unwrap_or_else(|error| {
        Err(StoreError::Unavailable { retry_after: RETRY_AFTER, source: error.into() })
    })
}

use std::ops::Range;

use records::{ChatId, Message, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::message::{Direction, RawMessage};
use crate::mongo::transcript::reader::session::SessionView;
use crate::rules::examination::{Examination, Examined};
use crate::store::{FilteredPage, MessageFilter, MessageRange, Transcript};

/// The most bytes of one fetch. Decoding it keeps a thread from serving other requests, and the fetched
/// documents are held beside their messages.
const MAX_FETCH_BYTES: u64 = 4 << 20;

/// Messages up to a number of bytes, in reading order.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    messages: Vec<Message>,
    /// The number of bytes for which there is still room.
    room: u64,
    /// Selects the messages, and then decides in place of `room`.
    examination: Option<Examination<'a>>,
    /// Whether a message did not fit.
    pub(crate) is_full: bool,
}

impl<'a> Page<'a> {
    /// Creates a page of this many bytes.
    pub(crate) fn new(room: u64) -> Self {
        Self { messages: Vec::new(), room, examination: None, is_full: false }
    }

    fn filtered(filter: &'a MessageFilter, limit: usize) -> Self {
        Self { examination: Some(Examination::new(filter, limit)), ..Self::new(0) }
    }

    /// Returns how many bytes to fetch at most.
    fn bytes_to_fetch(&self) -> u64 {
        let left = self.examination.as_ref().map_or(self.room, Examination::bytes_left);
        left.min(MAX_FETCH_BYTES)
    }

    /// Adds messages until one does not fit. The first message always fits, so that every page makes progress.
    fn extend(&mut self, run: Vec<RawMessage<'_>>) -> Result<(), StoreError> {
        for message in run {
            if self.is_full {
                break;
            }
            let stored = message.decode()?;
            if let Some(examination) = &mut self.examination {
                match examination.examine(&stored.message, stored.bytes) {
                    Examined::Admitted => self.messages.push(stored.message),
                    Examined::Refused => {}
                    Examined::BeyondPage => self.is_full = true,
                }
                continue;
            }
            self.is_full = !self.messages.is_empty() && stored.bytes > self.room;
            if !self.is_full {
                self.room = self.room.saturating_sub(stored.bytes);
                self.messages.push(stored.message);
            }
        }
        Ok(())
    }

    /// Returns the messages in reading order.
    pub(crate) fn into_messages(self) -> Vec<Message> {
        self.messages
    }
}

/// Returns the order in which the messages of a range are read.
fn direction(range: MessageRange) -> Direction {
    match range {
        MessageRange::Oldest { .. } => Direction::OldestFirst,
        MessageRange::Newest { .. } => Direction::NewestFirst,
    }
}

impl MongoStore {
    pub(crate) async fn read_range(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.read(|| self.read_range_within(scope, chat_id, range)).await
    }

    /// Reads a page of a range, within an attempt of the caller.
    pub(crate) async fn read_range_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, Failure> {
        let raw = self.session_within(scope, chat_id, SessionView::projection()).await?;
        let session = SessionView::read(chat_id, &raw)?;
        let last_sequence = session.tail.last_sequence;
        let (span, has_more) = range.resolve(last_sequence);
        let direction = direction(range);
        let page = Page::new(Transcript::PAGE_BYTES as u64);
        let page =
            self.read_span(&mut ReadAt::Latest, scope, &session, span, direction, page).await?;
        let has_more = has_more || page.is_full;
        let mut messages = page.into_messages();
        if direction == Direction::NewestFirst {
            messages.reverse();
        }
        Ok(Transcript { last_sequence, messages, has_more })
    }

    pub(crate) async fn read_filtered(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        filter: &MessageFilter,
    ) -> Result<FilteredPage, StoreError> {
        let (whole, limit) = range.without_limit();
        let read = || async {
            let raw = self.session_within(scope, chat_id, SessionView::projection()).await?;
            let session = SessionView::read(chat_id, &raw)?;
            let last_sequence = session.tail.last_sequence;
            let (span, _) = whole.resolve(last_sequence);
            let (direction, page) = (direction(range), Page::filtered(filter, limit));
            let mut at = ReadAt::Latest;
            let page = self.read_span(&mut at, scope, &session, span, direction, page).await?;
            let examined = page.examination.as_ref().and_then(Examination::last);
            let next = examined.filter(|_| page.is_full);
            let mut messages = page.into_messages();
            if direction == Direction::NewestFirst {
                messages.reverse();
            }
            Ok(FilteredPage { last_sequence, messages, next })
        };
        self.read(read).await
    }

    pub(crate) async fn read_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        let range = MessageRange::Newest { before: Some(sequence.saturating_add(1)), limit: 1 };
        let newest = self.read_range(scope, chat_id, range).await?.messages.pop();
        newest
            .filter(|message| message.sequence == sequence)
            .ok_or_else(|| StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence })
    }

    /// Reads as many messages of a span as fit onto a page.
    pub(crate) async fn read_span<'a>(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        session: &SessionView<'_>,
        span: Range<u64>,
        direction: Direction,
        mut page: Page<'a>,
    ) -> Result<Page<'a>, Failure> {
        let tail = session.tail_messages(&span, direction)?;
        let (first, last) = match direction {
            Direction::OldestFirst => (Vec::new(), tail),
            Direction::NewestFirst => (tail, Vec::new()),
        };
        page.extend(first)?;
        let mut sealed = session.sealed(&span, direction);
        while !page.is_full && !sealed.is_done() {
            let fetched = self.fetch_sealed(at, scope, &sealed, page.bytes_to_fetch()).await?;
            page.extend(sealed.advance(&fetched)?)?;
        }
        page.extend(last)?;
        Ok(page)
    }
}

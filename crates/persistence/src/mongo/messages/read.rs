//! Reading: the tail from the session, what is older from the segments.

use std::ops::Range;

use bson::{Document, doc};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use records::{ChatId, Message, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    CHAT_SEGMENTS, Segment, StoredMessage, Tail, open_chat_session, segment_id,
};
use crate::mongo::failure::Failure;
use crate::store::{MessageRange, Transcript};

/// How often segments that do not fit together are read again: an edit may be splitting one.
const LOOKS: usize = 4;

/// The size at which a page of a stream ends: what a reader of a history holds at a time.
const STREAMED_BYTES: usize = 1 << 20;

/// The usual size of a segment; so many are fetched at a time as should fill the page.
const SEGMENT_BYTES: u64 = 64 << 10;

/// Messages that are being gathered into a page, in the direction of reading.
struct Gathering {
    messages: Vec<Message>,
    bytes: u64,
    /// The size at which the page ends.
    most_bytes: u64,
}

impl Gathering {
    /// Takes a message unless the page is full; a page always takes one.
    fn take(&mut self, stored: StoredMessage) -> bool {
        let is_full = !self.messages.is_empty() && self.bytes + stored.bytes > self.most_bytes;
        if !is_full {
            self.bytes += stored.bytes;
            self.messages.push(stored.message);
        }
        !is_full
    }

    /// How many segments of the usual size the page has room for.
    fn segments(&self) -> u32 {
        u32::try_from(self.most_bytes / SEGMENT_BYTES).unwrap_or(u32::MAX)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    OldestFirst,
    NewestFirst,
}

impl MongoStore {
    pub(super) async fn read_range(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.read(|| self.read_range_within(scope, chat_id, range)).await
    }

    /// Does so within the attempt of another call.
    pub(super) async fn read_range_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, Failure> {
        self.read_up_to(Transcript::PAGE_BYTES, scope, chat_id, range).await
    }

    /// Reads as much of a range as `most_bytes` allow, a message at least.
    async fn read_up_to(
        &self,
        most_bytes: usize,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, Failure> {
        for _ in 0..LOOKS {
            let page = Gathering { messages: Vec::new(), bytes: 0, most_bytes: most_bytes as u64 };
            if let Some(page) = self.read_page(scope, chat_id, range, page).await? {
                return Ok(page);
            }
        }
        let (collection, id) = (CHAT_SEGMENTS, chat_id.to_string());
        let field = "messages".to_owned();
        Err(StoreError::Corrupt { collection, id, field, source: None }.into())
    }

    /// Fills a page; `None` where the messages found are not a run without gaps.
    async fn read_page(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        mut page: Gathering,
    ) -> Result<Option<Transcript>, Failure> {
        let raw = self.session_within(scope, chat_id, Tail::with_messages()).await?;
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        let (span, has_more) = range.resolve(tail.last_sequence);
        let in_tail = tail.messages(&fields)?;
        let in_tail = in_tail.into_iter().filter(|stored| span.contains(&stored.message.sequence));
        let sealed = span.start..span.end.min(tail.first_sequence);

        let direction = match range {
            MessageRange::Oldest { .. } => Direction::OldestFirst,
            MessageRange::Newest { .. } => Direction::NewestFirst,
        };
        let is_whole = match direction {
            Direction::OldestFirst => {
                self.gather_sealed(scope, chat_id, sealed, direction, &mut page).await?
                    && in_tail.into_iter().all(|stored| page.take(stored))
            }
            Direction::NewestFirst => {
                in_tail.rev().all(|stored| page.take(stored))
                    && self.gather_sealed(scope, chat_id, sealed, direction, &mut page).await?
            }
        };
        let is_run = is_run(&page.messages, &span, direction, is_whole);
        if direction == Direction::NewestFirst {
            page.messages.reverse();
        }
        Ok(is_run.then_some(Transcript {
            last_sequence: tail.last_sequence,
            messages: page.messages,
            has_more: has_more || !is_whole,
        }))
    }

    /// Gathers sealed messages; tells whether the page took them all.
    async fn gather_sealed(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        span: Range<u64>,
        direction: Direction,
        page: &mut Gathering,
    ) -> Result<bool, Failure> {
        if span.is_empty() {
            return Ok(true);
        }
        let start = self.segment_start(scope, chat_id, span.start).await?;
        let filter = doc! {
            "app_id": scope.app_id.as_str(),
            "_id": { "$gte": segment_id(chat_id, start), "$lt": segment_id(chat_id, span.end) },
        };
        let order = if direction == Direction::OldestFirst { 1 } else { -1 };
        let find = self.inner.chat_segments.find(filter).sort(doc! { "_id": order });
        let mut segments = find.batch_size(page.segments()).await?;
        while let Some(raw) = segments.try_next().await? {
            let mut messages = Segment::read(chat_id, &raw)?.messages;
            if direction == Direction::NewestFirst {
                messages.reverse();
            }
            let wanted = messages.into_iter().filter(|m| span.contains(&m.message.sequence));
            for stored in wanted {
                if !page.take(stored) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Returns the first sequence of the segment that holds a sealed message.
    async fn segment_start(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<u64, Failure> {
        if sequence == 0 {
            return Ok(0);
        }
        let filter = segment_of(scope, chat_id, sequence);
        let find = self.inner.chat_segments.find_one(filter).sort(doc! { "_id": -1 });
        let found = find.projection(doc! { "_id": 1, "schema_version": 1 }).await?;
        let start = found.map(|raw| Segment::open(chat_id, &raw).map(|(start, _)| start));
        Ok(start.transpose()?.unwrap_or(0))
    }

    pub(super) fn stream_history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        let pages = stream::try_unfold(Some(MessageRange::all()), async move |range| {
            let Some(range) = range else {
                return Ok::<_, StoreError>(None);
            };
            let page = self.read(|| self.read_up_to(STREAMED_BYTES, scope, chat_id, range)).await?;
            let next = page.messages.last().filter(|_| page.has_more).map(|last| {
                // What is appended while the stream is read is not part of it.
                let before = match range {
                    MessageRange::Oldest { before: Some(before), .. } => before,
                    _ => page.last_sequence,
                };
                let (after, before, limit) = (Some(last.sequence), Some(before), usize::MAX);
                MessageRange::Oldest { after, before, limit }
            });
            Ok(Some((stream::iter(page.messages).map(Ok), next)))
        });
        pages.try_flatten().boxed()
    }
}

/// Returns a filter whose greatest match is the segment that holds a message.
pub(super) fn segment_of(scope: &Scope, chat_id: &ChatId, sequence: u64) -> Document {
    doc! {
        "app_id": scope.app_id.as_str(),
        "_id": { "$gte": segment_id(chat_id, 0), "$lte": segment_id(chat_id, sequence) },
    }
}

fn is_run(messages: &[Message], span: &Range<u64>, direction: Direction, is_whole: bool) -> bool {
    let count = messages.len() as u64;
    let in_order = match direction {
        Direction::OldestFirst => messages.iter().zip(span.start..).all(|(m, s)| m.sequence == s),
        Direction::NewestFirst => {
            messages.iter().zip(span.clone().rev()).all(|(m, s)| m.sequence == s)
        }
    };
    in_order && (!is_whole || count == span.end - span.start)
}

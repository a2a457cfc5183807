use std::ops::Range;

use bson::{Document, doc};
use futures::TryStreamExt;
use mongodb::error::Error;
use mongodb::raw_batch_cursor::RawBatch;
use records::{ChatId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::documents::{Segment, segment_id, segments_between};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::gathering::{Direction, Gathering, Taken};

/// Sealed messages that are still to be read.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    span: Range<u64>,
    direction: Direction,
    /// Where the segment begins that holds the first of them, or an earlier one.
    start: u64,
    usual: SegmentSize,
}

/// What a segment holds, as far as one knows.
#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    messages: u64,
    bytes: u64,
}

/// The segments of a chat that has come about one message at a time.
const USUAL: SegmentSize = SegmentSize { messages: 28, bytes: 64 << 10 };

impl Sealed {
    /// Begins with the newest message of a span, or with the oldest if that is the chat's first.
    pub(crate) fn new(span: Range<u64>, direction: Direction) -> Self {
        Self { span, direction, start: 0, usual: USUAL }
    }

    /// Begins with the segment that has this first sequence.
    pub(crate) fn starting_at(self, start: u64) -> Self {
        Self { start, ..self }
    }

    pub(crate) fn is_read(&self) -> bool {
        self.span.is_empty()
    }

    /// Returns what is left after the segments that were fetched, as they say of themselves; `None`
    /// where they do not.
    ///
    /// For who fetches what comes next before they are read. Reading them may show that they are not
    /// what they say.
    pub(crate) fn after(&self, chat_id: &ChatId, fetched: Option<&RawBatch>) -> Option<Self> {
        let fetched = fetched?;
        let (mut segments, mut last) = (0, None);
        for item in fetched.doc_slices().ok()? {
            last = Some(item.ok()?);
            segments += 1;
        }
        let end = Segment::end(chat_id, last?.as_document()?).ok()?;
        let mut left = self.clone();
        left.span.start = end.clamp(self.span.start, self.span.end);
        left.start = left.span.start;
        left.learn(left.span.start - self.span.start, segments, fetched);
        Some(left)
    }

    /// Returns the wanted sequences that lie in the segments that were fetched.
    pub(crate) fn reach(
        &self,
        chat_id: &ChatId,
        fetched: Option<&RawBatch>,
    ) -> Result<Range<u64>, Failure> {
        let (mut start, mut end) = (self.span.end, self.span.start);
        if let Some(fetched) = fetched {
            for item in fetched.doc_slices()? {
                let Some(segment) = item.map_err(Error::from)?.as_document() else { continue };
                start = start.min(Segment::open(chat_id, segment)?.0);
                end = end.max(Segment::end(chat_id, segment)?);
            }
        }
        Ok(start.max(self.span.start)..end.min(self.span.end))
    }

    /// Tells whether what is left begins with the same message.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        self.start == other.start
    }

    /// How many segments should hold what is left, or fill so many bytes.
    ///
    /// One more than it takes if all are of the usual size: the newest is often smaller, and another
    /// round trip costs far more than another segment.
    fn segments(&self, bytes: u64) -> u32 {
        let holding = (self.span.end - self.span.start).div_ceil(self.usual.messages) + 1;
        let filling = bytes / self.usual.bytes;
        u32::try_from(holding.min(filling).max(1)).unwrap_or(u32::MAX)
    }

    /// Takes the messages that were fetched.
    pub(crate) fn take(
        &mut self,
        chat_id: &ChatId,
        fetched: Option<&RawBatch>,
        page: &mut Gathering,
    ) -> Result<Taken, Failure> {
        let Some(fetched) = fetched else { return Ok(Taken::Nothing) };
        let left = self.span.end - self.span.start;
        let mut segments = 0;
        for item in fetched.doc_slices()? {
            let segment = item.map_err(Error::from)?;
            let Some(segment) = segment.as_document() else { return Ok(Taken::Nothing) };
            let (first_sequence, fields) = Segment::open(chat_id, segment)?;
            let taken = page.take(first_sequence, &fields, &mut self.span)?;
            if taken != Taken::All {
                return Ok(taken);
            }
            segments += 1;
        }
        let messages = left - (self.span.end - self.span.start);
        if messages == 0 {
            return Ok(Taken::Nothing);
        }
        if self.direction == Direction::OldestFirst {
            self.start = self.span.start;
        }
        self.learn(messages, segments, fetched);
        Ok(Taken::All)
    }

    /// Learns how large segments are in this chat.
    fn learn(&mut self, messages: u64, segments: u64, fetched: &RawBatch) {
        let bytes = fetched.as_raw_document().as_bytes().len() as u64;
        let (messages, bytes) = (messages.div_ceil(segments), bytes.div_ceil(segments));
        self.usual = SegmentSize { messages: messages.max(1), bytes };
    }
}

impl MongoStore {
    /// Fetches the next segments in one reply, about as many as are needed to fill so many bytes.
    ///
    /// What the server leaves out of the reply is fetched by the next call: no cursor is kept open
    /// for a reader that may be slow.
    pub(crate) async fn fetch_sealed(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sealed: &Sealed,
        bytes: u64,
    ) -> Result<Option<RawBatch>, Failure> {
        let Sealed { span, direction, start, .. } = sealed;
        let filter = segments_between(scope, chat_id, *start..span.end);
        let order = if *direction == Direction::OldestFirst { 1 } else { -1 };
        let most = sealed.segments(bytes);
        let find = self.inner.chat_segments.find(filter).sort(doc! { "_id": order });
        // A negative limit asks for a single reply.
        let find = find.limit(-i64::from(most)).batch_size(most);
        Ok(find.batch().await?.try_next().await?)
    }

    /// Returns the first sequence of the segment that holds a sealed message.
    pub(crate) async fn segment_start(
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
}

/// Returns a filter whose greatest match is the segment that holds a message.
pub(crate) fn segment_of(scope: &Scope, chat_id: &ChatId, sequence: u64) -> Document {
    doc! {
        "app_id": scope.app_id.as_str(),
        "_id": { "$gte": segment_id(chat_id, 0), "$lte": segment_id(chat_id, sequence) },
    }
}

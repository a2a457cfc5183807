use std::ops::Range;

use records::ChatId;

use crate::StoreError;
use crate::mongo::collection_names::CHAT_SEGMENTS;
use crate::mongo::documents::{Lineage, Segment};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::message::{Direction, RawMessage, extend_run};
use crate::mongo::transcript::reader::segments::FetchedSegments;

/// How often messages are read if the segments have a gap. An edit that splits a segment may cause a gap
/// for a short time.
pub(crate) const MAX_READ_ATTEMPTS: usize = 4;

/// A position in the sealed messages of a chat, across the segments of all chats in its lineage.
#[derive(Debug)]
pub(crate) struct SealedCursor {
    pub(crate) lineage: Lineage,
    pub(crate) direction: Direction,
    /// The sequences of the messages that are not read yet.
    left: Range<u64>,
    /// The first sequence of the segment that holds the oldest of them, if known.
    pub(crate) start: Option<u64>,
    average: SegmentSize,
    /// The number of consecutive fetches without the next message.
    gaps: usize,
}

/// The average content of a segment.
#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    messages: u64,
    bytes: u64,
}

/// The initial estimate, typical of a chat whose messages are appended one at a time.
const INITIAL_SEGMENT_SIZE: SegmentSize = SegmentSize { messages: 28, bytes: 64 << 10 };

impl SealedCursor {
    /// Creates a cursor that begins with the oldest or newest message of a span.
    pub(crate) fn new(lineage: Lineage, span: Range<u64>, direction: Direction) -> Self {
        let start = (span.start == 0).then_some(0);
        Self { lineage, direction, left: span, start, average: INITIAL_SEGMENT_SIZE, gaps: 0 }
    }

    /// Returns whether every message has been read.
    pub(crate) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the chat whose segments hold the next messages, and the sequences that it holds.
    pub(crate) fn next_piece(&self) -> (&ChatId, Range<u64>) {
        let mut pieces = self.lineage.pieces(self.left.clone()).into_iter();
        let next = match self.direction {
            Direction::OldestFirst => pieces.next(),
            Direction::NewestFirst => pieces.next_back(),
        };
        next.unwrap_or_else(|| (self.lineage.chat_id(), self.left.clone()))
    }

    /// Estimates how many segments to fetch for this many messages, but at most for this many bytes.
    ///
    /// The result is at least 1. It allows for a first segment with only one of the messages, because another
    /// round trip costs far more than an unneeded segment.
    pub(crate) fn segments(&self, messages: u64, bytes: u64) -> u32 {
        let holding = messages.saturating_sub(1).div_ceil(self.average.messages) + 1;
        let filling = bytes / self.average.bytes;
        u32::try_from(holding.min(filling).max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the fetched messages that continue at the cursor's position, and moves past them.
    ///
    /// Returns none if an edit was splitting the segment of the next message or replacing its overlay; the
    /// caller then fetches again. After [`MAX_READ_ATTEMPTS`] such fetches in a row the chat is `Corrupt`.
    pub(crate) fn advance<'f>(
        &mut self,
        fetched: &'f FetchedSegments,
    ) -> Result<Vec<RawMessage<'f>>, Failure> {
        let (mut run, mut left, mut segment_end) = (Vec::new(), fetched.span.clone(), None);
        let segments = fetched.segments()?;
        for segment in &segments {
            let (first_sequence, fields) = Segment::open(&fetched.owner, segment)?;
            let end = extend_run(&mut run, first_sequence, &fields, &mut left, self.direction)?;
            segment_end = Some(end);
        }
        if run.is_empty() {
            self.gaps += 1;
            return if self.gaps < MAX_READ_ATTEMPTS {
                Ok(run)
            } else {
                Err(gap_error(&fetched.owner))
            };
        }
        for message in &mut run {
            message.overlay = fetched.overlays.get(&message.sequence);
        }
        match self.direction {
            Direction::OldestFirst => self.left.start = left.start,
            Direction::NewestFirst => self.left.end = left.end,
        }
        // In a lineage, the segments of the next chat begin where those of this chat end.
        let is_boundary = segment_end == Some(left.start) || fetched.piece_end == left.start;
        self.start = is_boundary.then_some(left.start);
        self.gaps = 0;
        self.learn(run.len() as u64, segments.len() as u64, fetched.bytes());
        Ok(run)
    }

    /// Updates the estimate with the segments of a fetch.
    fn learn(&mut self, messages: u64, segments: u64, bytes: u64) {
        let (messages, bytes) = (messages.div_ceil(segments), bytes.div_ceil(segments));
        self.average = SegmentSize { messages: messages.max(1), bytes: bytes.max(1) };
    }
}

/// Returns the error for segments that still have a gap after all read attempts.
pub(crate) fn gap_error(chat_id: &ChatId) -> Failure {
    let (collection, id) = (CHAT_SEGMENTS, chat_id.to_string());
    let field = "messages".to_owned();
    StoreError::Corrupt { collection, id, field, source: None }.into()
}

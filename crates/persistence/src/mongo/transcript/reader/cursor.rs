use std::ops::Range;

use records::ChatId;

use crate::StoreError;
use crate::mongo::documents::{CHAT_SEGMENTS, Lineage, Segment};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::message::{Direction, RawMessage, extend_run};
use crate::mongo::transcript::reader::segments::FetchedSegments;

/// How often segments are read that do not continue one another: an edit may be splitting one.
pub(crate) const MAX_READ_ATTEMPTS: usize = 4;

/// A position in the sealed messages of a chat, wherever its lineage says that they are.
#[derive(Debug)]
pub(crate) struct SealedCursor {
    pub(crate) lineage: Lineage,
    pub(crate) direction: Direction,
    /// The sequences of the messages that are still to be read.
    left: Range<u64>,
    /// Where the segment begins that holds the oldest of them, if that is known.
    pub(crate) start: Option<u64>,
    usual: SegmentSize,
    /// How many fetches in a row did not hold the next message.
    gaps: usize,
}

/// What a segment usually holds.
#[derive(Debug, Clone, Copy)]
struct SegmentSize {
    messages: u64,
    bytes: u64,
}

/// The segments of a chat whose messages were appended about one at a time.
const USUAL_SEGMENT: SegmentSize = SegmentSize { messages: 28, bytes: 64 << 10 };

impl SealedCursor {
    /// Begins with the newest message of a span, or with the oldest.
    pub(crate) fn new(lineage: Lineage, span: Range<u64>, direction: Direction) -> Self {
        let start = (span.start == 0).then_some(0);
        Self { lineage, direction, left: span, start, usual: USUAL_SEGMENT, gaps: 0 }
    }

    /// Tells whether every message has been read.
    pub(crate) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the chat whose segments hold the next messages, and which ones.
    pub(crate) fn next_piece(&self) -> (&ChatId, Range<u64>) {
        let mut pieces = self.lineage.pieces(self.left.clone()).into_iter();
        let next = match self.direction {
            Direction::OldestFirst => pieces.next(),
            Direction::NewestFirst => pieces.next_back(),
        };
        next.unwrap_or_else(|| (self.lineage.chat_id(), self.left.clone()))
    }

    /// Returns how many segments should hold so many messages, or fill so many bytes.
    ///
    /// The first one may hold a single message of them. It is better to fetch a segment too many than too
    /// few: another round trip costs far more.
    pub(crate) fn segments(&self, messages: u64, bytes: u64) -> u32 {
        let holding = messages.saturating_sub(1).div_ceil(self.usual.messages) + 1;
        let filling = bytes / self.usual.bytes;
        u32::try_from(holding.min(filling).max(1)).unwrap_or(u32::MAX)
    }

    /// Moves past the messages that were fetched, and returns those that continue where the cursor stood.
    ///
    /// There are none if an edit was splitting the segment, or replacing the overlay, of the next one: they
    /// are to be fetched again. After [`MAX_READ_ATTEMPTS`] the chat is corrupt.
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
        // The segments of the next chat of the lineage begin where those of this one end.
        let is_boundary = segment_end == Some(left.start) || fetched.piece_end == left.start;
        self.start = is_boundary.then_some(left.start);
        self.gaps = 0;
        self.learn(run.len() as u64, segments.len() as u64, fetched.bytes());
        Ok(run)
    }

    /// Learns how large segments are in this chat.
    fn learn(&mut self, messages: u64, segments: u64, bytes: u64) {
        let (messages, bytes) = (messages.div_ceil(segments), bytes.div_ceil(segments));
        self.usual = SegmentSize { messages: messages.max(1), bytes: bytes.max(1) };
    }
}

/// Says that segments do not continue one another, however often they are read.
pub(crate) fn gap_error(chat_id: &ChatId) -> Failure {
    let (collection, id) = (CHAT_SEGMENTS, chat_id.to_string());
    let field = "messages".to_owned();
    StoreError::Corrupt { collection, id, field, source: None }.into()
}

use std::collections::BTreeMap;
use std::ops::Range;

use bson::RawDocument;
use mongodb::error::Error;
use mongodb::raw_batch_cursor::RawBatch;
use records::ChatId;

use crate::mongo::documents::Segment;
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::message::{Direction, Overlay};

/// The segments of one reply, with the overlays of their messages.
#[derive(Debug)]
pub(crate) struct FetchedSegments {
    /// The chat that sealed the messages. The chat that is read may be a fork of it.
    pub(crate) owner: ChatId,
    reply: Option<RawBatch>,
    /// The sequences of the messages that may be used, because none of their overlays is missing.
    pub(crate) span: Range<u64>,
    /// The end of the owner's messages in the lineage of the chat that is read.
    pub(crate) piece_end: u64,
    pub(crate) overlays: BTreeMap<u64, Overlay>,
}

impl FetchedSegments {
    pub(crate) fn new(
        owner: &ChatId,
        piece: &Range<u64>,
        direction: Direction,
        reply: Option<RawBatch>,
    ) -> Result<Self, Failure> {
        let (owner, overlays) = (owner.clone(), BTreeMap::new());
        let (mut span, piece_end) = (piece.clone(), piece.end);
        let mut fetched = Self { owner, reply, span: 0..0, piece_end, overlays };
        let Some(last) = fetched.segments()?.pop() else { return Ok(fetched) };
        let (first_sequence, fields) = Segment::open(&fetched.owner, last)?;
        match direction {
            Direction::OldestFirst => {
                // The messages themselves decide, not the stored `count`. Counting them is cheap.
                let messages = fields.documents("messages")?.count() as u64;
                span.end = span.end.min(first_sequence + messages);
            }
            Direction::NewestFirst => span.start = span.start.max(first_sequence),
        }
        fetched.span = span;
        Ok(fetched)
    }

    /// Returns the segments in reading order.
    pub(crate) fn segments(&self) -> Result<Vec<&RawDocument>, Failure> {
        let Some(reply) = &self.reply else { return Ok(Vec::new()) };
        let segments = reply.doc_slices()?.into_iter();
        let segments = segments.map(|segment| Ok(segment.map_err(Error::from)?.as_document()));
        let segments = segments.collect::<Result<Vec<_>, Failure>>()?;
        Ok(segments.into_iter().flatten().collect())
    }

    /// Returns the size of the reply, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.reply.as_ref().map_or(0, |reply| reply.as_raw_document().as_bytes().len() as u64)
    }
}

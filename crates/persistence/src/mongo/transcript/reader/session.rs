use std::ops::Range;

use bson::{Document, RawDocument};
use records::ChatId;

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{Lineage, Tail, open_chat_session};
use crate::mongo::transcript::reader::cursor::SealedCursor;
use crate::mongo::transcript::reader::message::{Direction, RawMessage, extend_run};

/// The fields of a session that locate the messages of its chat, and the tail itself.
#[derive(Debug)]
pub(crate) struct SessionView<'a> {
    pub(crate) tail: Tail,
    pub(crate) lineage: Lineage,
    fields: Fields<'a>,
}

impl<'a> SessionView<'a> {
    /// Returns the projection that [`read`](Self::read) needs.
    pub(crate) fn projection() -> Document {
        Lineage::add_to_projection(Tail::with_messages())
    }

    /// Reads the view from a session document.
    pub(crate) fn read(chat_id: &ChatId, raw: &'a RawDocument) -> Result<Self, StoreError> {
        let fields = open_chat_session(raw)?;
        let (tail, lineage) = (Tail::read(&fields)?, Lineage::read(chat_id, &fields)?);
        Ok(Self { tail, lineage, fields })
    }

    /// Returns the messages of a span that are in the tail. A missing message is `Corrupt`.
    pub(crate) fn tail_messages(
        &self,
        span: &Range<u64>,
        direction: Direction,
    ) -> Result<Vec<RawMessage<'a>>, StoreError> {
        let Tail { first_sequence, last_sequence, .. } = self.tail;
        let mut left = span.start.max(first_sequence)..span.end.min(last_sequence);
        let mut run = Vec::new();
        if !left.is_empty() {
            extend_run(&mut run, first_sequence, &self.fields, &mut left, direction)?;
        }
        if left.is_empty() { Ok(run) } else { Err(self.fields.corrupt("messages", None)) }
    }

    /// Returns a cursor over the sealed messages of a span.
    pub(crate) fn sealed(&self, span: &Range<u64>, direction: Direction) -> SealedCursor {
        let sealed = span.start..span.end.min(self.tail.first_sequence);
        SealedCursor::new(self.lineage.clone(), sealed, direction)
    }
}

use std::ops::Range;

use records::{ChatId, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{Lineage, Tail, open_chat_session};
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::reader::gathering::{Direction, Gathering, Taken};
use crate::mongo::transcript::reader::sealed::Sealed;
use crate::mongo::transcript::reader::{LOOKS, has_gap};
use crate::store::{MessageRange, Transcript};

impl MongoStore {
    pub(crate) async fn read_range(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.read(|| self.read_range_within(scope, chat_id, range)).await
    }

    /// Does so within the attempt of another call.
    pub(crate) async fn read_range_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, Failure> {
        self.read_range_up_to(scope, chat_id, range, Transcript::PAGE_BYTES as u64).await
    }

    /// Does so with pages of another size, in bytes.
    pub(crate) async fn read_range_up_to(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        page_bytes: u64,
    ) -> Result<Transcript, Failure> {
        for _ in 0..LOOKS {
            if let Some(page) = self.read_page(scope, chat_id, range, page_bytes).await? {
                return Ok(page);
            }
        }
        Err(has_gap(chat_id))
    }

    /// Reads as much of a range as a page may hold, a message at least; `None` where the messages
    /// found are not a run without gaps.
    async fn read_page(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        page_bytes: u64,
    ) -> Result<Option<Transcript>, Failure> {
        let projection = Lineage::projected(Tail::with_messages());
        let raw = self.session_within(scope, chat_id, projection).await?;
        let session = open_chat_session(&raw)?;
        let (tail, lineage) = (Tail::read(&session)?, Lineage::read(chat_id, &session)?);
        let (span, has_more) = range.resolve(tail.last_sequence);
        let sealed = span.start..span.end.min(tail.first_sequence);
        let mut in_tail = span.start.max(tail.first_sequence)..span.end;

        let direction = match range {
            MessageRange::Oldest { .. } => Direction::OldestFirst,
            MessageRange::Newest { .. } => Direction::NewestFirst,
        };
        let mut page = Gathering::new(direction, page_bytes);
        let taken = match direction {
            Direction::OldestFirst => {
                match self.gather_sealed(scope, &lineage, sealed, direction, &mut page).await? {
                    Taken::All => page.take(tail.first_sequence, &session, &mut in_tail)?,
                    short => short,
                }
            }
            Direction::NewestFirst => {
                match page.take(tail.first_sequence, &session, &mut in_tail)? {
                    Taken::All => {
                        self.gather_sealed(scope, &lineage, sealed, direction, &mut page).await?
                    }
                    short => short,
                }
            }
        };
        let is_whole = taken == Taken::All;
        let expected = page.expected();
        let Some(versions) = self.version_messages(scope, chat_id, &expected).await? else {
            return Ok(None);
        };
        page.replace(versions);
        let (last_sequence, messages) = (tail.last_sequence, page.finish());
        if taken == Taken::Nothing || is_whole && messages.len() as u64 != span.end - span.start {
            return Ok(None);
        }
        Ok(Some(Transcript { last_sequence, messages, has_more: has_more || !is_whole }))
    }

    /// Gathers sealed messages from wherever they lie.
    async fn gather_sealed(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        span: Range<u64>,
        direction: Direction,
        page: &mut Gathering,
    ) -> Result<Taken, Failure> {
        let mut pieces = lineage.pieces(span);
        if direction == Direction::NewestFirst {
            pieces.reverse();
        }
        for (chat_id, span) in pieces {
            let start = match direction {
                Direction::OldestFirst => self.segment_start(scope, chat_id, span.start).await?,
                // Backwards there is no need to know where the oldest one begins.
                Direction::NewestFirst => 0,
            };
            let mut sealed = Sealed::new(span, direction).starting_at(start);
            while !sealed.is_read() {
                let fetched = self.fetch_sealed(scope, chat_id, &sealed, page.room()).await?;
                if lineage.is_shared() {
                    let reach = sealed.reach(chat_id, fetched.as_ref())?;
                    page.expect(self.versions(scope, lineage, &reach).await?);
                }
                let taken = sealed.take(chat_id, fetched.as_ref(), page)?;
                if taken != Taken::All {
                    return Ok(taken);
                }
            }
        }
        Ok(Taken::All)
    }
}

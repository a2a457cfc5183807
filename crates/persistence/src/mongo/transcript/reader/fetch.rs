use bson::{Document, doc};
use records::{ChatId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::documents::{Segment, segments_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::cursor::SealedCursor;
use crate::mongo::transcript::reader::message::Direction;
use crate::mongo::transcript::reader::overlays::Overlays;
use crate::mongo::transcript::reader::segments::FetchedSegments;

impl MongoStore {
    /// Fetches the next sealed messages with their overlays: segments of about this many bytes, and overlays
    /// of at most as many, but at least one.
    pub(crate) async fn fetch_sealed(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        cursor: &SealedCursor,
        bytes: u64,
    ) -> Result<FetchedSegments, Failure> {
        let mut fetched = self.fetch_segments(at, scope, cursor, bytes, None).await?;
        // Overlays are read after the segments, so that they contain every edit that the segments lack.
        let Overlays { found, span } =
            self.fetch_overlays(at, scope, cursor, &fetched.span, bytes).await?;
        (fetched.overlays, fetched.span) = (found, span);
        Ok(fetched)
    }

    /// Fetches the next segments in one reply, without overlays.
    ///
    /// If the server cuts the reply short, the next call fetches the other segments.
    pub(crate) async fn fetch_segments(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        cursor: &SealedCursor,
        bytes: u64,
        projection: Option<Document>,
    ) -> Result<FetchedSegments, Failure> {
        let (owner, piece) = cursor.next_piece();
        let (order, start) = match (cursor.direction, cursor.start) {
            (Direction::OldestFirst, Some(start)) => (1, start),
            (Direction::OldestFirst, None) => {
                (1, self.segment_start(at, scope, owner, piece.start).await?)
            }
            // Backwards, the query needs no start, because the limit ends it.
            (Direction::NewestFirst, _) => (-1, 0),
        };
        let filter = segments_filter(&scope.app_id, owner, start..piece.end);
        let mut find = self.inner.chat_segments.find(filter).sort(doc! { "_id": order });
        if let Some(projection) = projection {
            find = find.projection(projection);
        }
        let most = cursor.segments(piece.end - piece.start, bytes);
        let reply = at.one_reply(find, most).await?;
        FetchedSegments::new(owner, &piece, cursor.direction, reply)
    }

    /// Finds the segment that holds a sealed message; returns its first sequence, or 0 if none is found.
    async fn segment_start(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        owner: &ChatId,
        sequence: u64,
    ) -> Result<u64, Failure> {
        let filter = segments_filter(&scope.app_id, owner, 0..sequence.saturating_add(1));
        let find = self.inner.chat_segments.find(filter).sort(doc! { "_id": -1 }).limit(-1);
        let found = at.all(find.projection(doc! { "_id": 1, "schema_version": 1 })).await?;
        let start = found.first().map(|raw| Segment::open(owner, raw).map(|(start, _)| start));
        Ok(start.transpose()?.unwrap_or(0))
    }
}

//! Reads from one snapshot of the database.

use std::io;
use std::time::Duration;

use bson::{Document, RawDocumentBuf};
use mongodb::options::{FindOptions, Hint, ReadConcern};
use mongodb::{ClientSession, Collection, SessionCursor};
use tokio::time::timeout;

use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::is_missing_index;

/// A snapshot of the database at the time of the first read.
///
/// A server keeps it for `minSnapshotHistoryWindowInSeconds`, 300 by default.
#[derive(Debug)]
pub(crate) struct Snapshot {
    session: ClientSession,
}

/// A query on a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Query {
    pub(crate) filter: Document,
    pub(crate) projection: Option<Document>,
    pub(crate) sort: Option<Document>,
    /// The index, where the server may choose one in another order.
    pub(crate) index: Option<Hint>,
    pub(crate) limit: Option<i64>,
}

/// A cursor of documents from a snapshot.
pub(crate) type SnapshotCursor = SessionCursor<RawDocumentBuf>;

/// How long a reply may take. The driver itself waits forever for a server that hangs.
const MAX_SILENCE: Duration = Duration::from_mins(1);

/// How many documents of each query are in memory at once.
const BATCH_SIZE: u32 = 2_000;

impl Snapshot {
    pub(crate) async fn take(store: &MongoStore) -> Result<Self, Failure> {
        Ok(Self { session: store.snapshot_session().await? })
    }

    pub(crate) async fn find(
        &mut self,
        collection: &Collection<RawDocumentBuf>,
        query: Query,
    ) -> Result<SnapshotCursor, Failure> {
        let Query { filter, projection, sort, index, limit } = query;
        // The session holds the snapshot time. The read concern is set for each query, because the
        // client's own concern would apply otherwise.
        let mut options = FindOptions::builder()
            .projection(projection)
            .sort(sort)
            .hint(index)
            .limit(limit)
            .batch_size(BATCH_SIZE)
            .read_concern(ReadConcern::snapshot())
            .build();
        loop {
            let find = collection.find(filter.clone()).with_options(options.clone());
            let find = find.session(&mut self.session);
            match timeout(MAX_SILENCE, find).await.map_err(|_| silence())? {
                Err(error) if options.hint.is_some() && is_missing_index(&error) => {
                    options.hint = None;
                }
                found => return Ok(found?),
            }
        }
    }

    pub(crate) async fn next(
        &mut self,
        found: &mut SnapshotCursor,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        let next = timeout(MAX_SILENCE, found.next(&mut self.session)).await;
        Ok(next.map_err(|_| silence())?.transpose()?)
    }
}

/// Returns the error for a missing reply: like a broken connection, so that the read is retried.
fn silence() -> Failure {
    mongodb::error::Error::from(io::Error::from(io::ErrorKind::TimedOut)).into()
}

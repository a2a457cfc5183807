//! Reads of the database as it was at one moment.

use std::io;
use std::time::Duration;

use bson::{Document, RawDocumentBuf};
use mongodb::options::{FindOptions, ReadConcern, SessionOptions};
use mongodb::{ClientSession, Collection, SessionCursor};
use tokio::time::timeout;

use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;

/// The database as it was at the moment of the first read.
///
/// A server keeps that for `minSnapshotHistoryWindowInSeconds`, 300 by default.
#[derive(Debug)]
pub(super) struct Snapshot {
    session: ClientSession,
}

/// What to read from a snapshot.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) filter: Document,
    pub(super) projection: Option<Document>,
    pub(super) sort: Option<Document>,
    pub(super) limit: Option<i64>,
}

/// Documents of a snapshot that are still to be read.
pub(super) type Found = SessionCursor<RawDocumentBuf>;

/// How long an answer may take. The driver itself waits for ever for a server that hangs.
const MAX_SILENCE: Duration = Duration::from_mins(1);

/// How many documents are in memory at once of each query.
const BATCH_SIZE: u32 = 2_000;

impl Snapshot {
    pub(super) async fn take(store: &MongoStore) -> Result<Self, Failure> {
        let options = SessionOptions::builder().snapshot(true).build();
        let client = store.inner.database.client();
        Ok(Self { session: client.start_session().with_options(options).await? })
    }

    pub(super) async fn find(
        &mut self,
        collection: &Collection<RawDocumentBuf>,
        query: Query,
    ) -> Result<Found, Failure> {
        let Query { filter, projection, sort, limit } = query;
        // The session holds the moment; the concern is named each time, or the client's would prevail.
        let options = FindOptions::builder()
            .projection(projection)
            .sort(sort)
            .limit(limit)
            .batch_size(BATCH_SIZE)
            .read_concern(ReadConcern::snapshot())
            .build();
        let find = collection.find(filter).with_options(options).session(&mut self.session);
        Ok(timeout(MAX_SILENCE, find).await.map_err(|_| silence())??)
    }

    pub(super) async fn next(
        &mut self,
        found: &mut Found,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        let next = timeout(MAX_SILENCE, found.next(&mut self.session)).await;
        Ok(next.map_err(|_| silence())?.transpose()?)
    }
}

/// Treated like a broken connection: the read is tried again.
fn silence() -> Failure {
    mongodb::error::Error::from(io::Error::from(io::ErrorKind::TimedOut)).into()
}

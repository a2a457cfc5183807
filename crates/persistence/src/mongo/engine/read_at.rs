use bson::RawDocumentBuf;
use futures::TryStreamExt;
use mongodb::ClientSession;
use mongodb::action::Find;
use mongodb::options::{ReadConcern, SessionOptions};
use mongodb::raw_batch_cursor::RawBatch;

use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;

/// The moment as of which documents are read.
pub(crate) enum ReadAt<'a> {
    /// Each query sees the newest durable documents.
    Latest,
    /// Every query sees the documents of one moment, which the session holds.
    ///
    /// The read concern is named in each query, because the one of the client would prevail otherwise.
    Snapshot(&'a mut ClientSession),
}

impl ReadAt<'_> {
    /// Returns every document that a query finds.
    pub(crate) async fn all(
        &mut self,
        find: Find<'_, RawDocumentBuf>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        Ok(match self {
            Self::Latest => find.await?.try_collect().await?,
            Self::Snapshot(session) => {
                let find = find.read_concern(ReadConcern::snapshot()).session(&mut **session);
                find.await?.stream(session).try_collect().await?
            }
        })
    }

    /// Returns at most `most` documents of a query, in one reply. The server may return fewer.
    ///
    /// No cursor stays open on the server, however slowly the documents are used.
    pub(crate) async fn one_reply(
        &mut self,
        find: Find<'_, RawDocumentBuf>,
        most: u32,
    ) -> Result<Option<RawBatch>, Failure> {
        // A negative limit asks for a single reply.
        let find = find.limit(-i64::from(most)).batch_size(most);
        Ok(match self {
            Self::Latest => find.batch().await?.try_next().await?,
            Self::Snapshot(session) => {
                let find = find.read_concern(ReadConcern::snapshot()).session(&mut **session);
                find.batch().await?.stream(session).try_next().await?
            }
        })
    }
}

impl MongoStore {
    /// Starts a session whose queries see the documents of one moment: that of the first query.
    pub(crate) async fn snapshot_session(&self) -> Result<ClientSession, Failure> {
        let moment = SessionOptions::builder().snapshot(true).build();
        Ok(self.inner.database.client().start_session().with_options(moment).await?)
    }
}

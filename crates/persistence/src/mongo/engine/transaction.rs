//! Transactions: for what changes several documents that must not be seen apart.

use std::time::Duration;

use mongodb::ClientSession;
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR};
use tokio::time::sleep;

use crate::mongo::MongoStore;
use crate::mongo::engine::failure::{Failure, is_duplicate_key};

/// How long to wait for a transaction that is in the way.
const PAUSE: Duration = Duration::from_millis(2);

impl MongoStore {
    /// Begins a transaction, in which reads see what the majority has. One that is dropped is aborted.
    pub(crate) async fn begin(&self) -> Result<ClientSession, Failure> {
        let mut session = self.inner.database.client().start_session().await?;
        session.start_transaction().await?;
        Ok(session)
    }

    /// Commits a transaction in which all went well, and aborts any other; `None`: something was not as
    /// it was seen, or somebody else was in the way, so look again.
    pub(crate) async fn conclude<T>(
        &self,
        mut session: ClientSession,
        worked: Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let failure = match worked {
            Ok(Some(answer)) => match session.commit_transaction().await {
                Ok(()) => return Ok(Some(answer)),
                Err(error) => Some(error.into()),
            },
            Ok(None) => None,
            Err(failure) => Some(failure),
        };
        // What cannot be aborted now the server aborts by itself, later.
        drop(session.abort_transaction().await);
        match failure {
            Some(Failure::Driver(error)) if is_in_the_way(&error) => sleep(PAUSE).await,
            Some(failure) => return Err(failure),
            None => {}
        }
        Ok(None)
    }
}

/// Another transaction is in the way, or has done the same.
fn is_in_the_way(error: &Error) -> bool {
    error.contains_label(TRANSIENT_TRANSACTION_ERROR) || is_duplicate_key(error)
}

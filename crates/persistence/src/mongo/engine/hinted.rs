//! Queries that name their index, because the server might choose one in another order and sort in memory.

use bson::{Document, RawDocumentBuf};
use futures::TryStreamExt as _;
use mongodb::Collection;
use mongodb::action::{Action as _, Find};
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::Hint;

use crate::mongo::engine::failure::Failure;

/// A query in the order of an index.
#[derive(Debug)]
pub(crate) struct SortedFind {
    pub(crate) filter: Document,
    pub(crate) sort: Document,
    pub(crate) index: Hint,
    pub(crate) limit: usize,
    pub(crate) projection: Document,
}

impl SortedFind {
    pub(crate) async fn read(
        &self,
        collection: &Collection<RawDocumentBuf>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let Self { filter, sort, index, limit, projection } = self;
        let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
        hinted(index.clone(), |hint| async {
            let find = collection.find(filter.clone()).sort(sort.clone()).limit(limit);
            let find = find.optional(hint, Find::hint).projection(projection.clone());
            Ok(find.await?.try_collect().await?)
        })
        .await
    }
}

/// Runs a query with the index that it names. Until that index is built, the server chooses one.
pub(crate) async fn hinted<T, F>(
    index: Hint,
    query: impl Fn(Option<Hint>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    match query(Some(index)).await {
        Err(Failure::Driver(error)) if is_missing_index(&error) => query(None).await,
        answer => answer,
    }
}

/// Returns whether the server has no index with the keys of the hint.
pub(crate) fn is_missing_index(error: &Error) -> bool {
    const BAD_VALUE: i32 = 2;
    let (code, message) = match &*error.kind {
        ErrorKind::Command(command) => (command.code, &command.message),
        ErrorKind::Write(WriteFailure::WriteError(write)) => (write.code, &write.message),
        _ => return false,
    };
    code == BAD_VALUE && message.contains("hint provided does not correspond to an existing index")
}

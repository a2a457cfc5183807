use bson::RawDocumentBuf;
use futures::TryStreamExt as _;
use mongodb::{Collection, IndexModel};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::COLLECTIONS;
use crate::mongo::engine::failure::{Failure, code};
use crate::mongo::engine::index::{Index, IndexState};

/// The state of an index that the store needs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexReport {
    /// The collection of the index.
    pub collection: String,
    /// The name of the index.
    pub name: String,
    /// The state of the index.
    pub state: IndexState,
}

/// 85: same keys, other name or options; 86: same name, other keys.
const CONFLICTS: [i32; 2] = [85, 86];
/// The collection does not exist.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// Creates the missing indexes, and waits until they are built, as long as the server answers.
///
/// A build on a large collection takes longer than a call may. The server goes on with it when its caller no longer
/// waits, and a process that asks for the index again waits for the same build.
pub(crate) async fn build(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    loop {
        match ensure(store).await {
            Err(StoreError::Unavailable { source, .. }) => {
                store.read(|| store.ping_once()).await?;
                tracing::info!(cause = source.to_string(), "waiting for an index");
            }
            result => return result,
        }
    }
}

/// Creates the missing indexes, each within the deadline of a call.
///
/// Each index of a collection that exists is created separately: a conflict of one does not prevent the others, and
/// the error names what the call has waited for. A new collection gets all of its indexes at once.
pub(crate) async fn ensure(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    // A new database is recognised by having no collections, and an index creates one.
    store.read(|| store.read_format_once()).await?;
    let names = || async { Ok(store.inner.database.list_collection_names().await?) };
    let existing = store.read(names).await?;
    let mut reports = Vec::new();
    for stored in COLLECTIONS {
        let collection = store.inner.database.collection(stored.name);
        let report = |index: &Index, state| {
            let (collection, name) = (stored.name.to_owned(), index.name.to_owned());
            IndexReport { collection, name, state }
        };
        if stored.indexes.len() > 1 && !existing.iter().any(|name| name == stored.name) {
            store.read(|| create_all(&collection, stored.indexes)).await?;
            reports.extend(stored.indexes.iter().map(|index| report(index, IndexState::Ready)));
            continue;
        }
        for index in stored.indexes {
            let created = store.read(|| async { create(&collection, index.model()).await }).await;
            let state = created.map_err(|error| not_built(stored.name, index.name, error))?;
            if state == IndexState::Conflicting {
                tracing::warn!(
                    collection = stored.name,
                    index = index.name,
                    "an existing index conflicts with a required one"
                );
            }
            reports.push(report(index, state));
        }
    }
    Ok(reports)
}

/// Names the index that a call has waited for.
fn not_built(collection: &str, index: &str, error: StoreError) -> StoreError {
    let StoreError::Unavailable { retry_after, source } = error else { return error };
    let source = format!("the index {index} of {collection} is not built yet: {source}").into();
    StoreError::Unavailable { retry_after, source }
}

/// Creates the indexes of a new collection with one command.
async fn create_all(
    collection: &Collection<RawDocumentBuf>,
    indexes: &[Index],
) -> Result<(), Failure> {
    collection.create_indexes(indexes.iter().map(Index::model)).await?;
    Ok(())
}

async fn create(
    collection: &Collection<RawDocumentBuf>,
    index: IndexModel,
) -> Result<IndexState, Failure> {
    match collection.create_index(index).await {
        Ok(_) => Ok(IndexState::Ready),
        Err(error) if code(&error).is_some_and(|code| CONFLICTS.contains(&code)) => {
            Ok(IndexState::Conflicting)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the state of each index, and creates none.
pub(crate) async fn inspect(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    let mut reports = Vec::new();
    for stored in COLLECTIONS {
        let collection = store.inner.database.collection(stored.name);
        let existing = store.read(|| existing(&collection)).await?;
        reports.extend(stored.indexes.iter().map(|index| IndexReport {
            collection: stored.name.to_owned(),
            name: index.name.to_owned(),
            state: index.state_among(&existing),
        }));
    }
    Ok(reports)
}

async fn existing(collection: &Collection<RawDocumentBuf>) -> Result<Vec<IndexModel>, Failure> {
    match collection.list_indexes().await {
        Ok(found) => Ok(found.try_collect().await?),
        Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

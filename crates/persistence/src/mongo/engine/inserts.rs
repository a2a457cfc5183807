use bson::RawDocumentBuf;
use mongodb::Collection;

use crate::mongo::engine::failure::{Failure, is_duplicate_key};

/// Inserts a document unless its key is taken; then returns what `find` finds under that key.
pub(crate) async fn insert_or_get<T, F>(
    collection: &Collection<RawDocumentBuf>,
    document: &RawDocumentBuf,
    find: impl Fn() -> F,
) -> Result<Option<T>, Failure>
where
    F: Future<Output = Result<Option<T>, Failure>>,
{
    loop {
        match collection.insert_one(document.clone()).await {
            Ok(_) => return Ok(None),
            Err(error) if is_duplicate_key(&error) => {}
            Err(error) => return Err(error.into()),
        }
        // None: the document in the way is not durable yet, or was rolled back.
        if let Some(found) = find().await? {
            return Ok(Some(found));
        }
    }
}

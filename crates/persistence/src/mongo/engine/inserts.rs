use bson::RawDocumentBuf;
use mongodb::Collection;

use crate::mongo::engine::failure::{Failure, is_duplicate_key};

/// Inserts a document. If its key exists, returns the document that `find` finds under that key.
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
        // `None` means that the document with this key is not durable yet, or was rolled back.
        if let Some(found) = find().await? {
            return Ok(Some(found));
        }
    }
}

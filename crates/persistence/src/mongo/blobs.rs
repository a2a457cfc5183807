//! Large values are stored in separate documents, so that appends do not rewrite them.
//!
//! A blob is written before the session refers to it, and removed after the session no longer does,
//! so that a reference is always valid. A blob that a crash leaves behind is removed by a later
//! replacement, once it is so old that no writer can still refer to it.

use bson::{Bson, DateTime, RawDocumentBuf, doc};
use chrono::TimeDelta;
use records::{ChatId, Scope};
use serde_json::Value;
use tokio::time::timeout;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_BLOBS;
use crate::mongo::documents::{
    BlobDocument, BlobKind, blob_data, blob_filter, blobs_filter, encode,
};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::transaction::Transaction;

/// The largest value that is stored in the session document, in bytes.
const INLINE_BYTES: usize = 4 << 10;

/// How many times a reader tries if blobs are replaced between its two reads.
pub(crate) const MAX_BLOB_READ_ATTEMPTS: usize = 8;

/// The age at which an unreferenced blob is removed: far longer than any call may take, and than
/// clocks may differ.
pub(crate) const ABANDONED_AFTER: TimeDelta = TimeDelta::days(1);

/// A value for a session document, inline or in a blob.
pub(crate) struct Placed {
    /// The value in the session document.
    pub(crate) inline: Option<Bson>,
    /// The blob to which the session document refers.
    pub(crate) blob: Option<String>,
    document: Option<RawDocumentBuf>,
}

impl Placed {
    /// Returns the absence of a value.
    pub(crate) fn nothing() -> Self {
        Self { inline: None, blob: None, document: None }
    }
}

impl MongoStore {
    /// Decides whether a value is stored inline or in a blob.
    pub(crate) fn place(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        value: Bson,
        bytes: usize,
    ) -> Result<Placed, Failure> {
        if bytes <= INLINE_BYTES {
            return Ok(Placed { inline: Some(value), blob: None, document: None });
        }
        let blob = self.inner.ids.mint("blob_");
        let now = self.inner.clock.now();
        let document = encode(&BlobDocument::new(scope, chat_id, kind, &blob, value, now))?;
        Ok(Placed { inline: None, blob: Some(blob), document: Some(document) })
    }

    /// Writes the blob of a value, if it has one, before the session refers to it.
    pub(crate) async fn write_blob(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        placed: &Placed,
    ) -> Result<(), Failure> {
        let Some(document) = &placed.document else { return Ok(()) };
        // Nothing is written for a chat that does not exist.
        self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
        match self.inner.chat_blobs.insert_one(document.clone()).await {
            Err(error) if !is_duplicate_key(&error) => Err(error.into()),
            // A duplicate key means that an earlier attempt wrote it, because the id was minted for
            // this call.
            _ => Ok(()),
        }
    }

    /// Writes the blob of a value, if it has one, within the transaction that refers to it.
    pub(crate) async fn insert_blob(
        &self,
        placed: &Placed,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        if let Some(document) = &placed.document {
            let insert = self.inner.chat_blobs.insert_one(document.clone());
            insert.session(&mut *tx.session().await?).await?;
        }
        Ok(())
    }

    /// Removes a blob to which the session no longer refers, and any abandoned blob.
    ///
    /// The value is already replaced, so a failure leaves only garbage.
    pub(crate) async fn discard_blobs(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        replaced: Option<&str>,
        current: Option<&str>,
    ) {
        let Some(replaced) = replaced.filter(|replaced| Some(*replaced) != current) else {
            return;
        };
        let mut abandoned = blobs_filter(scope, chat_id, kind);
        let horizon = DateTime::from_chrono(self.inner.clock.now() - ABANDONED_AFTER);
        abandoned.insert("created_at", doc! { "$lt": horizon });
        abandoned.insert("_id.blob", doc! { "$ne": current });
        let removal = async {
            self.delete_blob(scope, chat_id, kind, Some(replaced)).await?;
            self.inner.chat_blobs.delete_many(abandoned).await?;
            Ok::<_, Failure>(())
        };
        if !matches!(timeout(self.inner.deadline, removal).await, Ok(Ok(()))) {
            tracing::warn!(%chat_id, kind = kind.as_str(), "failed to remove a replaced blob; a later replacement removes it");
        }
    }

    /// Removes a blob whose session was then not updated.
    pub(crate) async fn delete_blob(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(blob) = blob else { return Ok(()) };
        let filter = blob_filter(scope, chat_id, kind, blob);
        self.inner.chat_blobs.delete_one(filter).await?;
        Ok(())
    }

    /// Returns the error for a blob that is missing after all read attempts.
    pub(crate) fn missing_blob_error(chat_id: &ChatId, kind: BlobKind) -> Failure {
        let (collection, id) = (CHAT_BLOBS, chat_id.to_string());
        let field = kind.as_str().to_owned();
        StoreError::Corrupt { collection, id, field, source: None }.into()
    }

    /// Reads a blob; `None` if it was just replaced.
    pub(crate) async fn blob(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: &str,
    ) -> Result<Option<Value>, Failure> {
        let filter = blob_filter(scope, chat_id, kind, blob);
        let Some(raw) = self.inner.chat_blobs.find_one(filter).await? else { return Ok(None) };
        Ok(Some(blob_data(&raw)?))
    }
}

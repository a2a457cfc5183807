//! Values too large to be rewritten with every append lie beside their session.
//!
//! A blob is written before the session refers to it and removed after the session no longer does,
//! so that a reference always leads somewhere. What a crash leaves behind is removed by a later
//! replacement, once it is old enough that no writer can still be about to refer to it.

use std::time::Duration;

use bson::{Bson, DateTime, Document, doc};
use records::{ChatId, Scope};
use serde_json::Value;

use super::MongoStore;
use super::documents::{BlobKind, CHAT_BLOBS, SCHEMA_VERSION, blob_document, blob_id, blob_range};
use super::failure::{Failure, is_duplicate_key};
use super::fields::Fields;
use crate::StoreError;

/// The largest value that stays in the session document, in bytes.
const INLINE_BYTES: usize = 4 << 10;

/// How often a reader looks again whose blob was replaced between its two reads.
pub(super) const LOOKS: usize = 8;

/// Far longer than any call may take.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// Where a value is kept.
pub(super) struct Placed {
    /// What stands in the session document.
    pub(super) inline: Option<Bson>,
    /// What the session document refers to.
    pub(super) blob: Option<String>,
}

impl MongoStore {
    /// Decides where a value goes, and writes the blob if it needs one.
    pub(super) async fn place(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        value: Bson,
        bytes: usize,
    ) -> Result<Placed, StoreError> {
        if bytes <= INLINE_BYTES {
            return Ok(Placed { inline: Some(value), blob: None });
        }
        // Nothing is written for a chat that is not there.
        self.head(scope, chat_id).await?;
        let blob = self.inner.ids.mint("blob_");
        let id = blob_id(chat_id, kind, &blob);
        let document = blob_document(&scope.app_id, id, value, self.inner.clock.now());
        self.write(|_| async { self.insert_blob(&document).await }).await?;
        Ok(Placed { inline: None, blob: Some(blob) })
    }

    async fn insert_blob(&self, document: &Document) -> Result<(), Failure> {
        let raw = bson::RawDocumentBuf::try_from(document).map_err(mongodb::error::Error::from)?;
        match self.inner.chat_blobs.insert_one(raw).await {
            Err(error) if !is_duplicate_key(&error) => Err(error.into()),
            // Taken means taken by an earlier attempt: the id was minted for this call.
            _ => Ok(()),
        }
    }

    /// Removes a blob the session no longer refers to, and any that was abandoned.
    ///
    /// The value is replaced already when this runs: a failure leaves garbage, nothing worse.
    pub(super) async fn discard_blobs(
        &self,
        chat_id: &ChatId,
        kind: BlobKind,
        replaced: Option<&str>,
        current: Option<&str>,
    ) {
        let Some(replaced) = replaced.filter(|replaced| Some(*replaced) != current) else {
            return;
        };
        let blobs = &self.inner.chat_blobs;
        let mut abandoned = blob_range(chat_id, kind);
        let age = chrono::TimeDelta::from_std(ABANDONED_AFTER).unwrap_or_default();
        let horizon = DateTime::from_chrono(self.inner.clock.now() - age);
        abandoned.insert("created_at", doc! { "$lt": horizon });
        abandoned.insert("_id.blob", doc! { "$ne": current });
        let removal = async {
            blobs.delete_one(doc! { "_id": blob_id(chat_id, kind, replaced) }).await?;
            blobs.delete_many(abandoned).await
        };
        if let Err(error) = removal.await {
            tracing::warn!(%error, %chat_id, kind = kind.as_str(), "a replaced blob is left behind");
        }
    }

    /// Removes a blob that was written for a session that then did not take it.
    pub(super) async fn withdraw_blob(&self, chat_id: &ChatId, kind: BlobKind, blob: &str) {
        let filter = doc! { "_id": blob_id(chat_id, kind, blob) };
        if let Err(error) = self.inner.chat_blobs.delete_one(filter).await {
            tracing::warn!(%error, %chat_id, kind = kind.as_str(), "an unused blob is left behind");
        }
    }

    /// Says that a blob the session refers to is not there, however often one looks.
    pub(super) fn blob_is_missing(chat_id: &ChatId, kind: BlobKind) -> StoreError {
        let (collection, id) = (CHAT_BLOBS, chat_id.to_string());
        StoreError::Corrupt { collection, id, field: kind.as_str().to_owned(), source: None }
    }

    /// Reads a blob; `None` where it has just been replaced.
    pub(super) async fn blob(
        &self,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: &str,
    ) -> Result<Option<Value>, StoreError> {
        let filter = doc! { "_id": blob_id(chat_id, kind, blob) };
        let raw = self
            .read(|| async { Ok(self.inner.chat_blobs.find_one(filter.clone()).await?) })
            .await?;
        let Some(raw) = raw else { return Ok(None) };
        let fields = Fields::open(CHAT_BLOBS, blob, &raw, SCHEMA_VERSION)?;
        fields.value("data").map(Some)
    }
}

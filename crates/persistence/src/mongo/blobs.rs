//! Values too large to be rewritten with every append lie beside their session.
//!
//! A blob is written before the session refers to it and removed after the session no longer does,
//! so that a reference always leads somewhere. What a crash leaves behind is removed by a later
//! replacement, once it is old enough that no writer can still be about to refer to it.

use bson::{Bson, DateTime, RawDocumentBuf, doc};
use chrono::TimeDelta;
use records::{ChatId, Scope};
use serde_json::Value;
use tokio::time::timeout;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    BlobKind, CHAT_BLOBS, blob_document, blob_id, blob_range, encode, one_blob,
};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::transaction::Transaction;

/// The largest value that stays in the session document, in bytes.
const INLINE_BYTES: usize = 4 << 10;

/// How often a reader looks again whose blob was replaced between its two reads.
pub(crate) const LOOKS: usize = 8;

/// Far longer than any call may take, and than clocks of several processes may differ.
pub(crate) const ABANDONED_AFTER: TimeDelta = TimeDelta::days(1);

/// A value on its way into a session document, or beside it.
pub(crate) struct Placed {
    /// What stands in the session document.
    pub(crate) inline: Option<Bson>,
    /// What the session document refers to.
    pub(crate) blob: Option<String>,
    document: Option<RawDocumentBuf>,
}

impl Placed {
    /// Returns what stands for no value.
    pub(crate) fn nothing() -> Self {
        Self { inline: None, blob: None, document: None }
    }
}

impl MongoStore {
    /// Decides where a value goes.
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
        let id = blob_id(chat_id, kind, &blob);
        let document = blob_document(&scope.app_id, id, value, self.inner.clock.now());
        let document = encode(&document)?;
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
        // Nothing is written for a chat that is not there.
        self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
        match self.inner.chat_blobs.insert_one(document.clone()).await {
            Err(error) if !is_duplicate_key(&error) => Err(error.into()),
            // Taken means taken by an earlier attempt: the id was minted for this call.
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

    /// Removes a blob the session no longer refers to, and any that was abandoned.
    ///
    /// The value is replaced already when this runs: a failure leaves garbage, nothing worse.
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
        let mut abandoned = blob_range(scope, chat_id, kind);
        let horizon = DateTime::from_chrono(self.inner.clock.now() - ABANDONED_AFTER);
        abandoned.insert("created_at", doc! { "$lt": horizon });
        abandoned.insert("_id.blob", doc! { "$ne": current });
        let removal = async {
            self.withdraw_blob(scope, chat_id, kind, Some(replaced)).await?;
            self.inner.chat_blobs.delete_many(abandoned).await?;
            Ok::<_, Failure>(())
        };
        if !matches!(timeout(self.inner.deadline, removal).await, Ok(Ok(()))) {
            tracing::warn!(%chat_id, kind = kind.as_str(), "a replaced blob is left behind");
        }
    }

    /// Removes a blob that was written for a session that then did not take it.
    pub(crate) async fn withdraw_blob(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(blob) = blob else { return Ok(()) };
        let filter = one_blob(scope, chat_id, kind, blob);
        self.inner.chat_blobs.delete_one(filter).await?;
        Ok(())
    }

    /// Says that a blob the session refers to is not there, however often one looks.
    pub(crate) fn blob_is_missing(chat_id: &ChatId, kind: BlobKind) -> Failure {
        let (collection, id) = (CHAT_BLOBS, chat_id.to_string());
        let field = kind.as_str().to_owned();
        StoreError::Corrupt { collection, id, field, source: None }.into()
    }

    /// Reads a blob; `None` where it has just been replaced.
    pub(crate) async fn blob(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        kind: BlobKind,
        blob: &str,
    ) -> Result<Option<Value>, Failure> {
        let filter = one_blob(scope, chat_id, kind, blob);
        let Some(raw) = self.inner.chat_blobs.find_one(filter).await? else { return Ok(None) };
        let fields = Fields::open(CHAT_BLOBS, blob, &raw)?;
        Ok(Some(fields.value("data")?))
    }
}

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use records::{ChatId, ContextSnapshot, JsonObject, Scope, json, merge_patch};
use serde_json::Value;

use super::MongoStore;
use super::blobs::{LOOKS, Placed};
use super::documents::{BlobKind, open_chat_session};
use super::json::to_document;
use super::scope::writable_chat;
use crate::StoreError;
use crate::store::Contexts;

#[async_trait]
impl Contexts for MongoStore {
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        match self.write_context(scope, chat_id, &data, None).await? {
            Some(sequence) => Ok(ContextSnapshot { sequence, data }),
            None => Err(self.why_not_writable(scope, chat_id).await),
        }
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        json::measure_object(&patch)?;
        loop {
            let (mut context, version) = self.load_context(scope, chat_id).await?;
            merge_patch(&mut context.data, &patch);
            // None: somebody else has written meanwhile, so merge into what they wrote.
            let written = self.write_context(scope, chat_id, &context.data, Some(version)).await?;
            if let Some(sequence) = written {
                return Ok(ContextSnapshot { sequence, ..context });
            }
        }
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        Ok(self.load_context(scope, chat_id).await?.0)
    }
}

impl MongoStore {
    /// Writes a snapshot, only over the version given if there is one, and returns the sequence it
    /// was taken at; `None` where no such chat, or no longer that version, is there.
    async fn write_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: &JsonObject,
        version: Option<i64>,
    ) -> Result<Option<u64>, StoreError> {
        let bytes = ContextSnapshot::check(data)?;
        let value = Bson::Document(to_document(data));
        let placed = self.place(scope, chat_id, BlobKind::Context, value, bytes).await?;
        let blob = placed.blob.clone();
        let mut filter = writable_chat(scope, chat_id);
        if let Some(version) = version {
            filter.insert("context_version", version);
        }
        let update = context_update(placed, DateTime::from_chrono(self.inner.clock.now()));
        let replaced = self
            .write(|_| async {
                let sessions = &self.inner.chat_sessions;
                let update = sessions.find_one_and_update(filter.clone(), vec![update.clone()]);
                let fields = doc! { "last_sequence": 1, "context_blob": 1, "schema_version": 1 };
                Ok(update.projection(fields).return_document(ReturnDocument::Before).await?)
            })
            .await?;
        let Some(replaced) = replaced else {
            return self.not_replaced(scope, chat_id, blob.as_deref()).await;
        };
        let fields = open_chat_session(&replaced)?;
        let old = fields.optional_text("context_blob")?;
        self.discard_blobs(chat_id, BlobKind::Context, old, blob.as_deref()).await;
        fields.count("last_sequence").map(Some)
    }

    /// Finds out why an update replaced nothing: an earlier attempt of it may have.
    async fn not_replaced(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        blob: Option<&str>,
    ) -> Result<Option<u64>, StoreError> {
        let Some(blob) = blob else { return Ok(None) };
        let projection = doc! { "context_blob": 1, "context_sequence": 1, "schema_version": 1 };
        let raw = self.session(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        if fields.optional_text("context_blob")? == Some(blob) {
            return fields.count("context_sequence").map(Some);
        }
        self.withdraw_blob(chat_id, BlobKind::Context, blob).await;
        Ok(None)
    }

    async fn load_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<(ContextSnapshot, i64), StoreError> {
        let projection = doc! {
            "context_snapshot": 1, "context_blob": 1, "context_sequence": 1, "context_version": 1,
            "schema_version": 1,
        };
        for _ in 0..LOOKS {
            let raw: RawDocumentBuf = self.session(scope, chat_id, projection.clone()).await?;
            let fields = open_chat_session(&raw)?;
            let sequence = fields.count("context_sequence")?;
            let version = fields.integer("context_version")?;
            let data = match fields.optional_text("context_blob")? {
                None => fields.object("context_snapshot")?,
                Some(blob) => match self.blob(chat_id, BlobKind::Context, blob).await? {
                    Some(Value::Object(data)) => data,
                    Some(_) => return Err(fields.corrupt("context_blob", None)),
                    // Replaced between the two reads: the session refers to another by now.
                    None => continue,
                },
            };
            return Ok((ContextSnapshot { sequence, data }, version));
        }
        Err(Self::blob_is_missing(chat_id, BlobKind::Context))
    }
}

/// Returns the one stage that sets a snapshot and notes the counter of the same moment with it.
///
/// A pipeline can read the counter; caller values stand under `$literal`, where nothing in them is
/// taken for an expression.
fn context_update(placed: Placed, now: DateTime) -> Document {
    let inline = placed.inline.unwrap_or_else(|| Bson::Document(Document::new()));
    doc! { "$set": {
        "context_snapshot": { "$literal": inline },
        "context_blob": { "$literal": placed.blob },
        "context_sequence": "$last_sequence",
        "context_version": { "$add": ["$context_version", 1_i64] },
        "last_updated_at": now,
    } }
}

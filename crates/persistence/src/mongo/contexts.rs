use async_trait::async_trait;
use bson::{Bson, DateTime, Document, doc};
use mongodb::options::ReturnDocument;
use records::{ChatId, ContextSnapshot, JsonObject, Scope, json, merge_patch};
use serde_json::Value;

use super::MongoStore;
use super::blobs::{LOOKS, Placed};
use super::documents::{BlobKind, open_chat_session};
use super::failure::Failure;
use super::fields::Fields;
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
        let bytes = ContextSnapshot::check(&data)?;
        let value = Bson::Document(to_document(&data));
        let placed = self.place(scope, chat_id, BlobKind::Context, value, bytes)?;
        let written = self
            .write(|_| async {
                match self.write_context(scope, chat_id, &placed, None).await? {
                    Some(written) => Ok(written),
                    None => Err(self.why_not_writable(scope, chat_id).await?),
                }
            })
            .await?;
        self.discard_replaced(scope, chat_id, &placed, &written).await;
        Ok(ContextSnapshot { sequence: written.sequence, data })
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        json::measure_object(&patch)?;
        let merge = || async {
            loop {
                let (mut context, version) = self.load_context(scope, chat_id).await?;
                merge_patch(&mut context.data, &patch);
                let bytes = ContextSnapshot::check(&context.data)?;
                let value = Bson::Document(to_document(&context.data));
                let placed = self.place(scope, chat_id, BlobKind::Context, value, bytes)?;
                // None: somebody else has written meanwhile, so merge into what they wrote.
                let written = self.write_context(scope, chat_id, &placed, Some(version)).await?;
                if let Some(written) = written {
                    context.sequence = written.sequence;
                    return Ok((context, placed, written));
                }
                self.withdraw_blob(scope, chat_id, BlobKind::Context, placed.blob.as_deref())
                    .await?;
                self.check_fence(scope, chat_id).await?;
            }
        };
        // Merging the same patch twice is merging it once, so an attempt need not know of others.
        let (context, placed, written) = self.write(|_| merge()).await?;
        self.discard_replaced(scope, chat_id, &placed, &written).await;
        Ok(context)
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        let load = || async { Ok(self.load_context(scope, chat_id).await?.0) };
        self.read(load).await
    }
}

/// What came of writing a snapshot.
struct Written {
    /// The sequence it was taken at.
    sequence: u64,
    /// The blob the session referred to before.
    replaced: Option<String>,
}

impl MongoStore {
    /// Writes a snapshot, only over the version given if there is one; `None` where no such chat,
    /// or no longer that version, is there.
    async fn write_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        placed: &Placed,
        version: Option<i64>,
    ) -> Result<Option<Written>, Failure> {
        self.write_blob(scope, chat_id, placed).await?;
        let mut filter = writable_chat(scope, chat_id);
        if let Some(version) = version {
            filter.insert("context_version", version);
        }
        let now = DateTime::from_chrono(self.inner.clock.now());
        let updating = self
            .inner
            .chat_sessions
            .find_one_and_update(filter, vec![context_update(placed, now)])
            .projection(doc! { "last_sequence": 1, "context_blob": 1, "schema_version": 1 })
            .return_document(ReturnDocument::Before);
        let Some(before) = updating.await? else { return Ok(None) };
        self.tell_change(chat_id);
        let fields = open_chat_session(&before)?;
        let replaced = fields.optional_text("context_blob")?.map(str::to_owned);
        Ok(Some(Written { sequence: fields.count("last_sequence")?, replaced }))
    }

    async fn discard_replaced(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        placed: &Placed,
        written: &Written,
    ) {
        let (replaced, current) = (written.replaced.as_deref(), placed.blob.as_deref());
        self.discard_blobs(scope, chat_id, BlobKind::Context, replaced, current).await;
    }

    async fn load_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<(ContextSnapshot, i64), Failure> {
        let projection = doc! {
            "context_snapshot": 1, "context_blob": 1, "context_sequence": 1, "context_version": 1,
            "schema_version": 1,
        };
        for _ in 0..LOOKS {
            let raw = self.session_within(scope, chat_id, projection.clone()).await?;
            let fields = open_chat_session(&raw)?;
            let version = fields.integer("context_version")?;
            if let Some(context) = self.context_in(scope, chat_id, &fields).await? {
                return Ok((context, version));
            }
        }
        Err(Self::blob_is_missing(chat_id, BlobKind::Context))
    }

    /// Reads the snapshot of a session that was read; `None`: it lies in a blob that was replaced since,
    /// so that the session refers to another by now.
    pub(super) async fn context_in(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fields: &Fields<'_>,
    ) -> Result<Option<ContextSnapshot>, Failure> {
        let sequence = fields.count("context_sequence")?;
        let data = match fields.optional_text("context_blob")? {
            None => fields.object("context_snapshot")?,
            Some(blob) => match self.blob(scope, chat_id, BlobKind::Context, blob).await? {
                Some(Value::Object(data)) => data,
                Some(_) => return Err(fields.corrupt("context_blob", None).into()),
                None => return Ok(None),
            },
        };
        Ok(Some(ContextSnapshot { sequence, data }))
    }
}

/// Returns the one stage that sets a snapshot and notes the counter of the same moment with it.
///
/// A pipeline can read the counter; caller values stand under `$literal`, where nothing in them is
/// taken for an expression.
fn context_update(placed: &Placed, now: DateTime) -> Document {
    let inline = placed.inline.clone().unwrap_or_else(|| Bson::Document(Document::new()));
    doc! { "$set": {
        "context_snapshot": { "$literal": inline },
        "context_blob": { "$literal": placed.blob.as_deref() },
        "context_sequence": "$last_sequence",
        "context_version": { "$add": ["$context_version", 1_i64] },
        "last_updated_at": now,
    } }
}

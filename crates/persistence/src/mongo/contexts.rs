use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use async_trait::async_trait;
use bson::{Bson, DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};
use mongodb::options::ReturnDocument;
use records::{
    ChatId, ContextSnapshot, IfMatch, JsonObject, KeptContext, Scope, json, merge_patch,
};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::blobs::{MAX_BLOB_READ_ATTEMPTS, Placed};
use crate::mongo::context_history::{ContextSelector, RECENT};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    BlobKind, context_written_document, counter, open_chat_session, recent_contexts_expression,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::to_document;
use crate::mongo::engine::scope::writable_chat;
use crate::rules::if_match::Versioned;
use crate::store::{Contexts, RecordVersions};

#[async_trait]
impl Contexts for MongoStore {
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::UpdateContextSnapshot, Some(chat_id), async {
            let new = self.new_context(scope, chat_id, &data, self.inner.ids.mint("write_"))?;
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            let written = self.write(|call| async move {
                call.attempt(|attempt| call.update_context(attempt, &scope, &chat_id, &new)).await
            });
            Ok(ContextSnapshot { sequence: written.await?, data })
        })
        .await
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::MergeContextSnapshot, Some(chat_id), async {
            json::measure_object(&patch)?;
            let write_id = self.inner.ids.mint("write_");
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let merge =
                    |attempt| call.merge_context(attempt, &scope, &chat_id, &patch, &write_id);
                call.attempt(merge).await
            })
            .await
        })
        .await
    }

    async fn record_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<RecordVersions, StoreError> {
        let projection = doc! { "context_version": 1, "artifact_version": 1, "schema_version": 1 };
        self.observe(Call::RecordVersions, Some(chat_id), async {
            let read = || async {
                let raw = self.session_within(scope, chat_id, projection.clone()).await?;
                let fields = open_chat_session(&raw)?;
                let (context, artifact) =
                    (fields.count("context_version")?, fields.count("artifact_version")?);
                Ok(RecordVersions { context, artifact })
            };
            self.read(read).await
        })
        .await
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::LoadContextSnapshot, Some(chat_id), async {
            let load = || async { Ok(self.load_context(scope, chat_id).await?.0) };
            self.read(load).await
        })
        .await
    }
}

/// Makes the merges of this process into one snapshot wait for each other once they have conflicted.
///
/// Without it, each of n racing merges would read and write the snapshot up to n times. A merge without
/// rivals never waits.
#[derive(Debug)]
pub(crate) struct MergeTurns {
    hasher: RandomState,
    /// One place for each chat. Chats may share a place, which is harmless.
    places: Vec<Mutex<()>>,
}

impl Default for MergeTurns {
    fn default() -> Self {
        let places = (0..Self::PLACES).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), places }
    }
}

impl MergeTurns {
    const PLACES: usize = 1 << 10;

    async fn take(&self, chat_id: &ChatId) -> MutexGuard<'_, ()> {
        let place = self.hasher.hash_one(chat_id) % Self::PLACES as u64;
        self.places[usize::try_from(place).unwrap_or_default()].lock().await
    }
}

/// A snapshot to write to its session.
struct NewContext {
    placed: Placed,
    bytes: u64,
    /// Identifies the call, so that a retry recognises its own write.
    write_id: String,
}

impl MongoStore {
    fn new_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: &JsonObject,
        write_id: String,
    ) -> Result<NewContext, Failure> {
        let bytes = ContextSnapshot::check(data)?;
        let value = Bson::Document(to_document(data));
        let placed = self.place(scope, chat_id, BlobKind::Context, value, bytes)?;
        Ok(NewContext { placed, bytes: bytes as u64, write_id })
    }

    async fn update_context(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        new: &NewContext,
    ) -> Result<u64, Failure> {
        let earlier = self.find_written_context(scope, chat_id, &attempt, &new.write_id).await?;
        if let Some(written) = earlier {
            return Ok(written.sequence);
        }
        match self.write_context(scope, chat_id, new, None).await? {
            Some(sequence) => Ok(sequence),
            None => Err(self.context_refusal(scope, chat_id).await?),
        }
    }

    async fn merge_context(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        patch: &JsonObject,
        write_id: &str,
    ) -> Result<ContextSnapshot, Failure> {
        let earlier = self.find_written_context(scope, chat_id, &attempt, write_id).await?;
        if let Some(written) = earlier {
            return Ok(written);
        }
        let mut turn = None;
        loop {
            let (mut context, version) = self.load_context(scope, chat_id).await?;
            Versioned::Context.check(scope, chat_id, version.unsigned_abs(), true)?;
            merge_patch(&mut context.data, patch);
            let new = self.new_context(scope, chat_id, &context.data, write_id.to_owned())?;
            // `None` means that another writer was first: merge into its snapshot.
            let written = self.write_context(scope, chat_id, &new, Some(version)).await?;
            if let Some(sequence) = written {
                context.sequence = sequence;
                return Ok(context);
            }
            self.delete_blob(scope, chat_id, BlobKind::Context, new.placed.blob.as_deref()).await?;
            self.check_fence(scope, chat_id).await?;
            if turn.is_none() {
                turn = Some(self.inner.merge_turns.take(chat_id).await);
            }
        }
    }

    /// Returns the snapshot that an earlier attempt of the call has written.
    async fn find_written_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        attempt: &Attempt,
        write_id: &str,
    ) -> Result<Option<ContextSnapshot>, Failure> {
        if attempt.is_first {
            return Ok(None);
        }
        let written =
            self.find_context(scope, chat_id, ContextSelector::WrittenBy(write_id)).await?;
        if written.is_none() {
            attempt.note_nothing_applied();
        }
        Ok(written.map(|KeptContext { version, data }| ContextSnapshot {
            sequence: version.sequence,
            data,
        }))
    }

    /// Writes a snapshot and keeps the replaced one. With a `version`, the snapshot must still have
    /// that version. Returns the sequence at which the snapshot was taken; `None` if the chat does
    /// not exist or has another version.
    async fn write_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: &NewContext,
        version: Option<i64>,
    ) -> Result<Option<u64>, Failure> {
        self.write_blob(scope, chat_id, &new.placed).await?;
        let mut filter = writable_chat(scope, chat_id);
        if let Some(version) = version {
            filter.insert("context_version", version);
        } else {
            expect_version(scope, "context_version", &mut filter);
        }
        let fields = doc! { "last_sequence": 1, "context_recent.version": 1, "schema_version": 1 };
        let updating = self
            .inner
            .chat_sessions
            .find_one_and_update(filter, vec![context_update(new, self.inner.clock.now())])
            .projection(fields)
            .return_document(ReturnDocument::After);
        let Some(after) = updating.await? else { return Ok(None) };
        self.notify_change(chat_id);
        let fields = open_chat_session(&after)?;
        let recent = fields.documents("context_recent")?.count();
        if recent > 0 && recent.is_multiple_of(RECENT) {
            self.archive_contexts_soon(scope, chat_id);
        }
        Ok(Some(fields.count("last_sequence")?))
    }

    /// Returns why a snapshot was not replaced: its chat is not writable, or the caller has seen another version.
    async fn context_refusal(&self, scope: &Scope, chat_id: &ChatId) -> Result<Failure, Failure> {
        match self.classify_unmatched(scope, chat_id).await? {
            Failure::Decided(StoreError::ChatNotFound(_)) if scope.if_match.is_some() => {
                Ok(Versioned::Context.changed(chat_id).into())
            }
            refusal => Ok(refusal),
        }
    }

    pub(crate) async fn load_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<(ContextSnapshot, i64), Failure> {
        let projection = doc! {
            "context_snapshot": 1, "context_blob": 1, "context_sequence": 1, "context_version": 1,
            "schema_version": 1,
        };
        for _ in 0..MAX_BLOB_READ_ATTEMPTS {
            let raw = self.session_within(scope, chat_id, projection.clone()).await?;
            let fields = open_chat_session(&raw)?;
            let version = fields.integer("context_version")?;
            if let Some(context) = self.context_in(scope, chat_id, &fields).await? {
                return Ok((context, version));
            }
        }
        Err(Self::missing_blob_error(chat_id, BlobKind::Context))
    }

    /// Reads the snapshot of a session document; `None` if its blob was replaced since the session
    /// was read, and the session must be read again.
    pub(crate) async fn context_in(
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

/// Adds to the filter of a write that the record still has a version that the caller has seen.
pub(crate) fn expect_version(scope: &Scope, field: &str, filter: &mut Document) {
    let seen = scope.if_match.as_ref().and_then(IfMatch::versions);
    if let Some(versions) = seen {
        let versions: Vec<_> = versions.into_iter().map(counter).collect();
        filter.insert(field, doc! { "$in": versions });
    }
}

/// Returns the pipeline stage that sets a snapshot with the current message counter, and keeps the
/// replaced snapshot.
///
/// Only a pipeline can read the counter. Caller values are under `$literal`, where they are not
/// interpreted as expressions.
fn context_update(new: &NewContext, now: DateTime<Utc>) -> Document {
    let NewContext { placed, bytes, write_id } = new;
    let inline = placed.inline.clone().unwrap_or_else(|| Bson::Document(Document::new()));
    doc! { "$set": {
        "context_recent": recent_contexts_expression(),
        "context_snapshot": { "$literal": inline },
        "context_blob": { "$literal": placed.blob.as_deref() },
        "context_sequence": "$last_sequence",
        "context_version": { "$add": ["$context_version", 1_i64] },
        "context_written": { "$literal": context_written_document(now, *bytes, write_id) },
        "last_updated_at": BsonTime::from_chrono(now),
    } }
}

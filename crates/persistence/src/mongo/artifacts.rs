use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use records::{Artifact, ChatId, NewArtifact, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::blobs::{MAX_BLOB_READ_ATTEMPTS, Placed};
use crate::mongo::contexts::expect_version;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    ArtifactDocument, BlobKind, artifact_record, embedded, open_chat_session,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::to_bson;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::rules::if_match::Versioned;
use crate::store::Artifacts;

#[async_trait]
impl Artifacts for MongoStore {
    async fn update_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        self.observe(Call::UpdateLastArtifact, Some(chat_id), async {
            let bytes = artifact.check()?;
            let now = self.inner.clock.now();
            let artifact = artifact.kept_at(now);
            let payload = to_bson(&artifact.payload);
            let placed = self.place(scope, chat_id, BlobKind::Artifact, payload, bytes)?;
            let inline = placed.inline.clone().unwrap_or(Bson::Null);
            let new = NewLastArtifact {
                filter: Document::new(),
                change: doc! {
                    "last_artifact": embedded(&ArtifactDocument::new(&artifact, inline))?,
                    "artifact_blob": placed.blob.as_deref(),
                    "last_updated_at": DateTime::from_chrono(now),
                },
                placed,
                write_id: self.inner.ids.mint("write_"),
            };
            self.replace_last(scope, chat_id, new).await?;
            Ok(artifact)
        })
        .await
    }

    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError> {
        self.observe(
            Call::GetLastArtifact,
            Some(chat_id),
            self.read(|| async { self.load_artifact(scope, chat_id).await }),
        )
        .await
    }

    async fn clear_last_artifact(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError> {
        self.observe(Call::ClearLastArtifact, Some(chat_id), async {
            let new = NewLastArtifact {
                filter: doc! { "last_artifact": { "$ne": Bson::Null } },
                change: doc! {
                    "last_artifact": Bson::Null,
                    "artifact_blob": Bson::Null,
                    "last_updated_at": DateTime::from_chrono(self.inner.clock.now()),
                },
                placed: Placed::nothing(),
                write_id: self.inner.ids.mint("write_"),
            };
            self.replace_last(scope, chat_id, new).await
        })
        .await
    }
}

/// A new value for the last artifact.
struct NewLastArtifact {
    /// Further conditions on the session.
    filter: Document,
    change: Document,
    placed: Placed,
    /// Identifies the call, so that a retry recognises its own write.
    write_id: String,
}

impl MongoStore {
    async fn load_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, Failure> {
        let projection = doc! { "last_artifact": 1, "artifact_blob": 1, "schema_version": 1 };
        for _ in 0..MAX_BLOB_READ_ATTEMPTS {
            let raw = self.session_within(scope, chat_id, projection.clone()).await?;
            let fields = open_chat_session(&raw)?;
            if let Some(artifact) = self.artifact_in(scope, chat_id, &fields).await? {
                return Ok(artifact);
            }
        }
        Err(Self::missing_blob_error(chat_id, BlobKind::Artifact))
    }

    /// Reads the artifact of a session document. The inner `None` means that there is no artifact;
    /// the outer `None` that its blob was replaced since the session was read, and the session must
    /// be read again.
    pub(crate) async fn artifact_in(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fields: &Fields<'_>,
    ) -> Result<Option<Option<Artifact>>, Failure> {
        let Some(document) = fields.optional_document("last_artifact")? else {
            return Ok(Some(None));
        };
        let mut artifact = artifact_record(&fields.inside(document))?;
        if let Some(blob) = fields.optional_text("artifact_blob")? {
            let payload = self.blob(scope, chat_id, BlobKind::Artifact, blob).await?;
            let Some(payload) = payload else { return Ok(None) };
            artifact.payload = payload;
        }
        Ok(Some(Some(artifact)))
    }

    /// Replaces the last artifact, and then removes the blob of the replaced one.
    async fn replace_last(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewLastArtifact,
    ) -> Result<(), StoreError> {
        let (scope, chat_id) = (scope.clone(), chat_id.clone());
        self.write(|call| async move {
            let replace = |attempt| call.replace_last_once(attempt, &scope, &chat_id, &new);
            let Some(replaced) = call.attempt(replace).await? else { return Ok(()) };
            call.notify_change(&chat_id);
            let old = open_chat_session(&replaced)?.optional_text("artifact_blob")?;
            let current = new.placed.blob.as_deref();
            call.discard_blobs(&scope, &chat_id, BlobKind::Artifact, old, current).await;
            Ok(())
        })
        .await
    }

    /// Returns the session before the update; `None` if there is nothing to replace, or an earlier
    /// attempt has replaced it.
    async fn replace_last_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        new: &NewLastArtifact,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        if self.was_written(&attempt, scope, chat_id, &new.write_id).await? {
            return Ok(None);
        }
        self.write_blob(scope, chat_id, &new.placed).await?;
        let mut filter = writable_chat(scope, chat_id);
        filter.extend(new.filter.clone());
        expect_version(scope, "artifact_version", &mut filter);
        if scope.if_match.is_some() {
            filter.insert("last_artifact", doc! { "$ne": Bson::Null });
        }
        let mut update = doc! { "$set": new.change.clone(), "$inc": { "artifact_version": 1_i64 } };
        with_mark(&new.write_id, &mut filter, &mut update);
        let updating = self.inner.chat_sessions.find_one_and_update(filter, update);
        let fields = doc! { "artifact_blob": 1, "schema_version": 1 };
        let updating = updating.projection(fields).return_document(ReturnDocument::Before);
        if let Some(replaced) = updating.await? {
            return Ok(Some(replaced));
        }
        // There is no artifact to clear, the caller has seen another one, or there is no chat.
        let fields = doc! { "last_artifact.updated_at": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, fields).await?;
        let exists = open_chat_session(&raw)?.optional_document("last_artifact")?.is_some();
        let has_nothing_to_clear = !new.filter.is_empty() && !exists;
        if has_nothing_to_clear {
            return Ok(None);
        }
        self.check_fence(scope, chat_id).await?;
        if scope.if_match.is_some() {
            return Err(Versioned::Artifact.changed(chat_id).into());
        }
        if new.filter.is_empty() {
            return Err(self.classify_unmatched(scope, chat_id).await?);
        }
        Ok(None)
    }
}

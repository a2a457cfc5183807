use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use records::{Artifact, ChatId, NewArtifact, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::blobs::LOOKS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{BlobKind, artifact_document, artifact_record, open_chat_session};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::to_bson;
use crate::mongo::engine::scope::writable_chat;
use crate::store::Artifacts;

#[async_trait]
impl Artifacts for MongoStore {
    async fn update_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        let bytes = artifact.check()?;
        let now = self.inner.clock.now();
        let artifact = artifact.kept_at(now);
        let payload = to_bson(&artifact.payload);
        let placed = self.place(scope, chat_id, BlobKind::Artifact, payload, bytes)?;
        let inline = placed.inline.clone().unwrap_or(Bson::Null);
        let change = doc! {
            "last_artifact": artifact_document(&artifact, inline),
            "artifact_blob": placed.blob.as_deref(),
            "last_updated_at": DateTime::from_chrono(now),
        };
        let replaced = self
            .write(|_| async {
                self.write_blob(scope, chat_id, &placed).await?;
                let filter = writable_chat(scope, chat_id);
                match self.replace_artifact(chat_id, filter, change.clone()).await? {
                    Some(replaced) => Ok(replaced),
                    None => Err(self.why_not_writable(scope, chat_id).await?),
                }
            })
            .await?;
        let old = open_chat_session(&replaced)?.optional_text("artifact_blob")?;
        let current = placed.blob.as_deref();
        self.discard_blobs(scope, chat_id, BlobKind::Artifact, old, current).await;
        Ok(artifact)
    }

    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError> {
        self.read(|| async { self.load_artifact(scope, chat_id).await }).await
    }

    async fn clear_last_artifact(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError> {
        let mut filter = writable_chat(scope, chat_id);
        filter.insert("last_artifact", doc! { "$ne": Bson::Null });
        let change = doc! {
            "last_artifact": Bson::Null,
            "artifact_blob": Bson::Null,
            "last_updated_at": DateTime::from_chrono(self.inner.clock.now()),
        };
        let replaced = self
            .write(|_| async {
                let replaced =
                    self.replace_artifact(chat_id, filter.clone(), change.clone()).await?;
                if replaced.is_none() {
                    // Nothing to clear, or no chat to clear it from.
                    let fields = doc! { "last_artifact.updated_at": 1, "schema_version": 1 };
                    let raw = self.session_within(scope, chat_id, fields).await?;
                    let is_there = open_chat_session(&raw)?.optional_document("last_artifact")?;
                    if is_there.is_some() {
                        self.check_fence(scope, chat_id).await?;
                    }
                }
                Ok(replaced)
            })
            .await?;
        let Some(replaced) = replaced else { return Ok(()) };
        let old = open_chat_session(&replaced)?.optional_text("artifact_blob")?;
        self.discard_blobs(scope, chat_id, BlobKind::Artifact, old, None).await;
        Ok(())
    }
}

impl MongoStore {
    async fn load_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, Failure> {
        let projection = doc! { "last_artifact": 1, "artifact_blob": 1, "schema_version": 1 };
        for _ in 0..LOOKS {
            let raw = self.session_within(scope, chat_id, projection.clone()).await?;
            let fields = open_chat_session(&raw)?;
            if let Some(artifact) = self.artifact_in(scope, chat_id, &fields).await? {
                return Ok(artifact);
            }
        }
        Err(Self::blob_is_missing(chat_id, BlobKind::Artifact))
    }

    /// Reads the artifact, if there is one, of a session that was read; `None`: its payload lies in a
    /// blob that was replaced since, so that the session refers to another by now.
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

    async fn replace_artifact(
        &self,
        chat_id: &ChatId,
        filter: Document,
        change: Document,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        let update = doc! { "$set": change, "$inc": { "artifact_version": 1_i64 } };
        let updating = self.inner.chat_sessions.find_one_and_update(filter, update);
        let fields = doc! { "artifact_blob": 1, "schema_version": 1 };
        let updating = updating.projection(fields).return_document(ReturnDocument::Before);
        Ok(updating.await?.inspect(|_| self.tell_change(chat_id)))
    }
}

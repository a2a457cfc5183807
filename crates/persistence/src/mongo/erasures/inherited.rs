//! Erases what a fork may repeat of its source beside the messages: context snapshots, the system prompt and unfinished steps.

use bson::{Bson, Document, RawBsonRef, doc};
use records::{AppId, ChatId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::documents::{
    BlobKind, StoredContext, blob_id, context_versions_filter, open_chat_session,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::purges::records_filter;
use crate::mongo::transcript::reader::{MAX_READ_ATTEMPTS, gap_error};

impl MongoStore {
    /// Forgets every context snapshot, the system prompt and the unfinished steps of a fork. What was written there since may repeat
    /// what the fork has taken over, which cannot be seen.
    pub(super) async fn forget_inherited_state(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        let scope = &Scope::service(app_id.clone());
        self.inner.resume_points.delete_many(records_filter(app_id, chat_id)).await?;
        for _ in 0..MAX_READ_ATTEMPTS {
            if self.forget_contexts(scope, chat_id).await?.is_some() {
                self.notify_change(chat_id);
                return Ok(());
            }
        }
        Err(gap_error(chat_id))
    }

    /// Forgets the system prompt and the context snapshots of a chat; returns `None` if another one was written meanwhile.
    ///
    /// Blobs are emptied while the snapshots still refer to them, so that a process may be killed anywhere.
    async fn forget_contexts(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<()>, Failure> {
        let one = chat_filter(&scope.app_id, chat_id);
        let sessions = &self.inner.chat_sessions;
        let fields = doc! {
            "context_version": 1, "context_sequence": 1, "context_written": 1, "context_blob": 1,
            "context_snapshot": 1, "context_recent": 1, "system_prompt": 1, "schema_version": 1,
        };
        let Some(raw) = sessions.find_one(one.clone()).projection(fields).await? else {
            return Ok(Some(()));
        };
        let session = open_chat_session(&raw)?;
        if session.optional_text("system_prompt")?.is_some() {
            let prompt = doc! { "$unset": { "system_prompt": "" } };
            sessions.update_one(one.clone(), prompt).await?;
        }
        let version = session.count("context_version")?;
        let kept = context_versions_filter(scope, chat_id, 0, version.saturating_add(1));
        let mut blobs = self.blobs_of(chat_id, kept.clone()).await?;
        let current = session.optional_text("context_blob")?;
        let recent = StoredContext::in_session(&session)?;
        blobs.extend(recent.iter().filter_map(|context| context.blob).map(str::to_owned));
        blobs.extend(current.map(str::to_owned));
        let ids = blobs.iter().map(|blob| blob_id(chat_id, BlobKind::Context, blob));
        let ids: Vec<Document> = ids.collect();
        let these = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        let chat_blobs = &self.inner.chat_blobs;
        if !blobs.is_empty() {
            chat_blobs.update_many(these.clone(), doc! { "$set": { "data": {} } }).await?;
        }
        let is_written = matches!(raw.get("context_written"), Ok(Some(RawBsonRef::Document(_))));
        if is_written || current.is_some() || !session.object("context_snapshot")?.is_empty() {
            let mut unchanged = one;
            unchanged.insert("context_version", Bson::Int64(session.integer("context_version")?));
            let forget = doc! {
                "$set": {
                    "context_snapshot": {},
                    "context_blob": Bson::Null,
                    "context_sequence": 0_i64,
                    "context_written": Bson::Null,
                    "context_recent": [],
                },
                "$inc": { "context_version": 1_i64 },
            };
            if sessions.update_one(unchanged, forget).await?.matched_count == 0 {
                return Ok(None);
            }
        }
        if version > 0 {
            self.inner.context_snapshots.delete_many(kept).await?;
        }
        if !blobs.is_empty() {
            chat_blobs.delete_many(these).await?;
        }
        Ok(Some(()))
    }
}

//! The versions of the context snapshot of a chat.
//!
//! The update that writes a snapshot keeps the replaced one in the session. So no version is lost,
//! every version was written, and the write needs no further command. When enough replaced
//! snapshots have collected, a task moves them to separate documents after the response (decision
//! 0024).

use std::collections::HashSet;

use async_trait::async_trait;
use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{ChatId, ContextSnapshot, ContextVersion, KeptContext, Scope};
use serde_json::Value;

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::blobs::{ABANDONED_AFTER, MAX_BLOB_READ_ATTEMPTS};
use crate::mongo::documents::{
    BlobKind, StoredContext, blob_id, blobs_filter, context_version_id, context_versions_filter,
    counter, encode, open_chat_session,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::limit_and_one;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::store::{ContextHistory, ContextVersionPage};

/// How many replaced snapshots collect in the session; each is small, or refers to a blob.
pub(crate) const RECENT: usize = 8;

#[async_trait]
impl ContextHistory for MongoStore {
    async fn list_context_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError> {
        self.observe(Call::ListContextVersions, Some(chat_id), async {
            let before = before.unwrap_or(u64::MAX);
            self.read(|| self.list_versions_within(scope, chat_id, limit, before)).await
        })
        .await
    }

    async fn get_context_version(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        version: u64,
    ) -> Result<Option<KeptContext>, StoreError> {
        self.observe(Call::GetContextVersion, Some(chat_id), async {
            let which = ContextSelector::Version(version);
            self.read(|| self.find_context(scope, chat_id, which)).await
        })
        .await
    }
}

/// Selects a stored snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContextSelector<'a> {
    /// The snapshot with this version.
    Version(u64),
    /// The newest snapshot taken at or below this sequence.
    At(u64),
    /// The snapshot that this call has written.
    WrittenBy(&'a str),
}

impl ContextSelector<'_> {
    fn is(self, context: &StoredContext<'_>) -> bool {
        match self {
            Self::Version(version) => context.version.version == version,
            Self::At(sequence) => context.version.sequence <= sequence,
            Self::WrittenBy(write_id) => context.write_id == write_id,
        }
    }

    /// Adds the selection to a filter for separate documents.
    fn restrict(self, chat_id: &ChatId, filter: &mut Document) {
        match self {
            Self::Version(version) => {
                let is_it = doc! { "_id": context_version_id(chat_id, version) };
                filter.insert("$and", vec![is_it]);
            }
            Self::At(sequence) => {
                filter.insert("sequence", doc! { "$lte": counter(sequence) });
            }
            Self::WrittenBy(write_id) => {
                filter.insert("written.write_id", write_id);
            }
        }
    }
}

impl MongoStore {
    /// Returns the greatest version that is no longer kept.
    fn cut_at(&self, current: u64) -> u64 {
        current.saturating_sub(self.inner.context_history)
    }

    async fn list_versions_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: u64,
    ) -> Result<ContextVersionPage, Failure> {
        let projection = doc! {
            "context_version": 1, "context_sequence": 1, "context_written": 1, "schema_version": 1,
            "context_recent.version": 1, "context_recent.sequence": 1, "context_recent.written": 1,
        };
        let raw = self.session_within(scope, chat_id, projection).await?;
        let session = open_chat_session(&raw)?;
        let current = session.count("context_version")?;
        let cut_at = self.cut_at(current);
        let mut below = current.saturating_add(1);
        let mut versions = Vec::new();
        for context in StoredContext::in_session(&session)? {
            below = context.version.version;
            if (cut_at + 1..before).contains(&below) {
                versions.push(context.version);
            }
        }
        if versions.len() <= limit {
            let filter = context_versions_filter(scope, chat_id, cut_at, below.min(before));
            let find = self.inner.context_snapshots.find(filter).sort(doc! { "_id": -1 });
            let find = find.projection(doc! { "data": 0 });
            let mut found = find.limit(limit_and_one(limit - versions.len())).await?;
            while let Some(raw) = found.try_next().await? {
                versions.push(StoredContext::open(chat_id, &raw)?.version);
            }
        }
        Ok(ContextVersionPage::cut(versions, limit))
    }

    /// Returns the newest stored snapshot that matches the selection.
    pub(crate) async fn find_context(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        which: ContextSelector<'_>,
    ) -> Result<Option<KeptContext>, Failure> {
        let projection = doc! {
            "context_version": 1, "context_sequence": 1, "context_written": 1, "context_blob": 1,
            "context_snapshot": 1, "context_recent": 1, "schema_version": 1,
        };
        for _ in 0..MAX_BLOB_READ_ATTEMPTS {
            // The session is read first, because snapshots move from it to separate documents.
            let raw = self.session_within(scope, chat_id, projection.clone()).await?;
            let session = open_chat_session(&raw)?;
            let current = session.count("context_version")?;
            let (cut_at, mut below) = (self.cut_at(current), current.saturating_add(1));
            let mut found = None;
            for context in StoredContext::in_session(&session)? {
                below = context.version.version;
                if below > cut_at && which.is(&context) {
                    found = Some(context);
                    break;
                }
            }
            let raw;
            if found.is_none() {
                let mut filter = context_versions_filter(scope, chat_id, cut_at, below);
                which.restrict(chat_id, &mut filter);
                let find = self.inner.context_snapshots.find_one(filter);
                raw = find.sort(doc! { "_id": -1 }).await?;
                found = raw.as_ref().map(|raw| StoredContext::open(chat_id, raw)).transpose()?;
            }
            let Some(found) = found else { return Ok(None) };
            let data = match found.blob {
                None => found.data()?,
                Some(blob) => match self.blob(scope, chat_id, BlobKind::Context, blob).await? {
                    Some(Value::Object(data)) => data,
                    Some(_) => return Err(session.corrupt("context_blob", None).into()),
                    // The snapshot was just removed because it is beyond the bound.
                    None => continue,
                },
            };
            return Ok(Some(KeptContext { version: found.version, data }));
        }
        Err(Self::missing_blob_error(chat_id, BlobKind::Context))
    }

    /// Returns the newest stored snapshot that was taken at or below a sequence.
    pub(crate) async fn context_at(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Option<KeptContext>, Failure> {
        let kept = self.find_context(scope, chat_id, ContextSelector::At(sequence)).await?;
        if kept.is_some() {
            return Ok(kept);
        }
        // The current snapshot may be older than the storage of versions.
        let (context, version) = self.load_context(scope, chat_id).await?;
        if version == 0 || context.sequence > sequence {
            return Ok(None);
        }
        let version = ContextVersion {
            version: version.unsigned_abs(),
            sequence: context.sequence,
            created_at: self.inner.clock.now(),
            bytes: ContextSnapshot::check(&context.data)? as u64,
        };
        Ok(Some(KeptContext { version, data: context.data }))
    }

    /// Starts to move the replaced snapshots of a session to separate documents, in the background.
    pub(crate) fn archive_contexts_soon(&self, scope: &Scope, chat_id: &ChatId) {
        let (store, chat_id) = (self.clone(), chat_id.clone());
        let scope = Scope::service(scope.app_id.clone());
        self.spawn(async move {
            if let Err(error) = store.archive_contexts(&scope, &chat_id).await {
                // The snapshots stay in the session until a later write tries again.
                tracing::warn!(%error, %chat_id, "failed to move replaced context snapshots; a later write retries");
            }
        });
    }

    /// Moves the replaced snapshots, and removes those beyond the bound with their blobs.
    async fn archive_contexts(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError> {
        let (of_chat, moved) = (scope.clone(), chat_id.clone());
        self.write(|call| async move {
            let round = |tx| call.move_contexts_round(tx, &of_chat, &moved);
            call.transact(&of_chat, &moved, round).await
        })
        .await?;
        let remove = |_| self.remove_old_contexts(scope, chat_id);
        self.write_until(self.deadline(), remove).await
    }

    /// Moves the replaced snapshots of a session in one step: if an erasure forgets them meanwhile, none is moved.
    async fn move_contexts_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Round<()>, Failure> {
        let projection = doc! { "context_version": 1, "context_recent": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, projection).await?;
        let session = open_chat_session(&raw)?;
        let replaced = StoredContext::in_session(&session)?;
        let Some(newest) = replaced.first() else { return Ok(Round::Done(())) };
        let documents = self.new_contexts(scope, chat_id, &replaced).await?;
        let newest = counter(newest.version.version);
        let mut unchanged = chat_filter(&scope.app_id, chat_id);
        unchanged.insert("context_recent.version", newest);
        let pull = doc! { "$pull": { "context_recent": { "version": { "$lte": newest } } } };
        tx.begin().await?;
        let update = self.inner.chat_sessions.update_one(unchanged, pull);
        if update.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(Round::Again);
        }
        if !documents.is_empty() {
            let insert = self.inner.context_snapshots.insert_many(&documents);
            insert.session(&mut *tx.session().await?).await?;
        }
        Ok(Round::Done(()))
    }

    /// Returns the documents of the snapshots that have none yet. Releases that moved snapshots in two steps may have left some.
    async fn new_contexts(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        contexts: &[StoredContext<'_>],
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let oldest = contexts.last().map_or(0, |context| context.version.version);
        let stored = context_versions_filter(scope, chat_id, oldest.saturating_sub(1), u64::MAX);
        let find = self.inner.context_snapshots.find(stored).projection(doc! { "data": 0 });
        let mut found = find.await?;
        let mut versions = HashSet::new();
        while let Some(raw) = found.try_next().await? {
            versions.insert(StoredContext::open(chat_id, &raw)?.version.version);
        }
        let new = contexts.iter().filter(|context| !versions.contains(&context.version.version));
        new.map(|context| encode(&context.document(&scope.app_id, chat_id))).collect()
    }

    /// Removes the snapshots beyond the bound, with their blobs.
    async fn remove_old_contexts(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), Failure> {
        let projection = doc! {
            "context_version": 1, "context_blob": 1, "context_recent": 1, "schema_version": 1,
        };
        let raw = self.session_within(scope, chat_id, projection).await?;
        let session = open_chat_session(&raw)?;
        let in_session = StoredContext::in_session(&session)?;
        let mut blobs: Vec<String> =
            in_session.iter().filter_map(|context| context.blob).map(str::to_owned).collect();
        blobs.extend(session.optional_text("context_blob")?.map(str::to_owned));
        let cut_at = self.cut_at(session.count("context_version")?);
        let cut_at = cut_at.max(self.cut_at_bytes(scope, chat_id).await?);
        self.remove_contexts(scope, chat_id, cut_at, blobs).await
    }

    /// Returns the greatest version beyond the bytes that are kept; 0 if all fit.
    async fn cut_at_bytes(&self, scope: &Scope, chat_id: &ChatId) -> Result<u64, Failure> {
        let all = context_versions_filter(scope, chat_id, 0, u64::MAX);
        let find = self.inner.context_snapshots.find(all).sort(doc! { "_id": -1 });
        let mut found = find.projection(doc! { "data": 0 }).await?;
        let mut room = self.inner.context_history_bytes;
        while let Some(raw) = found.try_next().await? {
            let ContextVersion { version, bytes, .. } = StoredContext::open(chat_id, &raw)?.version;
            match room.checked_sub(bytes) {
                Some(rest) => room = rest,
                None => return Ok(version),
            }
        }
        Ok(0)
    }

    /// Removes the snapshots up to a version, their blobs, and abandoned blobs. `in_session` has
    /// the blobs to which the session refers.
    async fn remove_contexts(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        cut_at: u64,
        in_session: Vec<String>,
    ) -> Result<(), Failure> {
        let snapshots = &self.inner.context_snapshots;
        let old = context_versions_filter(scope, chat_id, 0, cut_at.saturating_add(1));
        let mut found = snapshots.find(old).projection(doc! { "data": 0 }).await?;
        let (mut versions, mut removed): (Vec<Document>, Vec<String>) = Default::default();
        while let Some(raw) = found.try_next().await? {
            let context = StoredContext::open(chat_id, &raw)?;
            versions.push(context_version_id(chat_id, context.version.version));
            removed.extend(context.blob.map(str::to_owned));
        }
        // Only those: another call may move more of them here meanwhile, whose blobs are not known. They are removed first,
        // because a snapshot without its blob would be corrupt.
        let these = doc! { "_id": { "$in": versions }, "app_id": scope.app_id.as_str() };
        snapshots.delete_many(these).await?;
        if !removed.is_empty() {
            let ids = removed.iter().map(|blob| blob_id(chat_id, BlobKind::Context, blob));
            let ids: Vec<Document> = ids.collect();
            let filter = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
            self.inner.chat_blobs.delete_many(filter).await?;
        }
        if removed.is_empty() && in_session.is_empty() {
            return Ok(());
        }
        let kept = context_versions_filter(scope, chat_id, cut_at, u64::MAX);
        let mut referred = self.blobs_of(chat_id, kept).await?;
        referred.extend(in_session);
        let mut abandoned = blobs_filter(scope, chat_id, BlobKind::Context);
        let horizon = DateTime::from_chrono(self.inner.clock.now() - ABANDONED_AFTER);
        abandoned.insert("created_at", doc! { "$lt": horizon });
        abandoned.insert("_id.blob", doc! { "$nin": referred });
        self.inner.chat_blobs.delete_many(abandoned).await?;
        Ok(())
    }

    /// Returns the blobs to which snapshots refer.
    pub(crate) async fn blobs_of(
        &self,
        chat_id: &ChatId,
        mut filter: Document,
    ) -> Result<Vec<String>, Failure> {
        filter.insert("blob", doc! { "$type": "string" });
        let find = self.inner.context_snapshots.find(filter).projection(doc! { "data": 0 });
        let mut found = find.await?;
        let mut blobs = Vec::new();
        while let Some(raw) = found.try_next().await? {
            blobs.extend(StoredContext::open(chat_id, &raw)?.blob.map(str::to_owned));
        }
        Ok(blobs)
    }
}

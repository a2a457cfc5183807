use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use bson::{RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::{Collection, Database};

use super::Floor;
use crate::measure::Read;

/// Reads everything that is stored for a chat, as bytes: its session, its segments in order, its blobs.
#[derive(Debug)]
pub(crate) struct ReadSession {
    sessions: Collection<RawDocumentBuf>,
    segments: Collection<RawDocumentBuf>,
    blobs: Collection<RawDocumentBuf>,
    chat_id: String,
    blob_count: usize,
}

impl ReadSession {
    /// Reads from the store's database; `blob_count` says how many blobs there must be.
    pub(crate) fn new(floor: &Floor, store: &str, chat_id: &str, blob_count: usize) -> Self {
        let database: Database = floor.database.client().database(store);
        Self {
            sessions: database.collection("chat_sessions"),
            segments: database.collection("chat_segments"),
            blobs: database.collection("chat_blobs"),
            chat_id: chat_id.to_owned(),
            blob_count,
        }
    }
}

#[async_trait]
impl Read for ReadSession {
    async fn read(&self) -> Result<()> {
        let chat_id = self.chat_id.as_str();
        let session = self.sessions.find_one(doc! { "_id": chat_id }).await?;
        let session = session.context("the session is missing")?;
        let segments = doc! { "_id": {
            "$gte": { "chat_id": chat_id, "first_sequence": 0_i64 },
            "$lt": { "chat_id": chat_id, "first_sequence": i64::MAX },
        } };
        let segments = self.segments.find(segments).sort(doc! { "_id": 1 }).await?;
        let segments: Vec<_> = segments.try_collect().await?;
        let blobs = doc! { "_id": {
            "$gte": { "chat_id": chat_id, "kind": "" },
            "$lt": { "chat_id": chat_id, "kind": "~" },
        } };
        let blobs: Vec<_> = self.blobs.find(blobs).await?.try_collect().await?;
        ensure!(!session.is_empty() && !segments.is_empty(), "messages are missing");
        ensure!(blobs.len() == self.blob_count, "{} blobs are there", blobs.len());
        Ok(())
    }
}

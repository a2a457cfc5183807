use anyhow::{Context, Result};
use futures::TryStreamExt as _;
use mongodb::Collection;
use mongodb::bson::doc;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Database;

/// The stored documents of a chat, combined without any check.
#[derive(Debug)]
pub struct StoredChat {
    /// Each message, with the sequence of its position.
    pub messages: Vec<(u64, Value)>,
    /// The context snapshot, from the session or its blob.
    pub context_snapshot: Value,
    /// Stored numbers that can be derived from other data.
    pub kept: Vec<Kept>,
}

/// A stored number, and its derived value.
#[derive(Debug)]
pub struct Kept {
    /// Its name.
    pub name: &'static str,
    /// The stored value.
    pub kept: u64,
    /// The derived value.
    pub recomputed: u64,
}

impl Database {
    /// Reads a chat straight from its documents.
    pub async fn stored_chat(&self, chat_id: &str) -> Result<StoredChat> {
        let sessions: Collection<SessionDocument> = self.raw().collection("chat_sessions");
        let session = sessions.find_one(doc! { "_id": chat_id }).await?;
        let session = session.with_context(|| format!("there is no document of chat {chat_id}"))?;
        let segments = self.segments(chat_id, session.first_sequence).await?;

        let in_segments = Kept {
            name: "the counts of the segments",
            kept: segments.iter().map(|segment| segment.count).sum(),
            recomputed: segments.iter().map(|segment| segment.messages.len() as u64).sum(),
        };
        let last_sequence = Kept {
            name: "last_sequence",
            kept: session.last_sequence,
            recomputed: session.first_sequence + session.messages.len() as u64,
        };
        let tail_bytes = Kept {
            name: "tail_bytes",
            kept: session.tail_bytes,
            recomputed: session.messages.iter().map(|message| message.bytes).sum(),
        };
        let context_snapshot = match &session.context_blob {
            Some(blob) => self.blob(chat_id, blob).await?,
            None => session.context_snapshot,
        };
        let sealed = segments.into_iter().flat_map(|it| placed(it.id.first_sequence, it.messages));
        let tail = placed(session.first_sequence, session.messages);
        let messages = sealed.chain(tail).collect();
        let kept = vec![in_segments, last_sequence, tail_bytes];
        Ok(StoredChat { messages, context_snapshot, kept })
    }

    /// Reads the segments below the tail; segments at or above it are not in use.
    async fn segments(&self, chat_id: &str, tail: u64) -> Result<Vec<SegmentDocument>> {
        let segments: Collection<SegmentDocument> = self.raw().collection("chat_segments");
        let tail = i64::try_from(tail)?;
        let below = doc! { "_id.chat_id": chat_id, "_id.first_sequence": { "$lt": tail } };
        let found = segments.find(below).sort(doc! { "_id.first_sequence": 1 }).await?;
        Ok(found.try_collect().await?)
    }

    async fn blob(&self, chat_id: &str, blob: &str) -> Result<Value> {
        let blobs: Collection<BlobDocument> = self.raw().collection("chat_blobs");
        let id = doc! { "_id": { "chat_id": chat_id, "kind": "context", "blob": blob } };
        let found = blobs.find_one(id).await?;
        Ok(found.with_context(|| format!("the snapshot of chat {chat_id} is missing"))?.data)
    }
}

fn placed(
    first_sequence: u64,
    messages: Vec<MessageDocument>,
) -> impl Iterator<Item = (u64, Value)> {
    (first_sequence..).zip(messages.into_iter().map(MessageDocument::message))
}

#[derive(Deserialize)]
struct SessionDocument {
    first_sequence: u64,
    last_sequence: u64,
    tail_bytes: u64,
    messages: Vec<MessageDocument>,
    context_snapshot: Value,
    context_blob: Option<String>,
}

#[derive(Deserialize)]
struct SegmentDocument {
    #[serde(rename = "_id")]
    id: SegmentId,
    count: u64,
    messages: Vec<MessageDocument>,
}

#[derive(Deserialize)]
struct SegmentId {
    first_sequence: u64,
}

#[derive(Deserialize)]
struct BlobDocument {
    data: Value,
}

#[derive(Deserialize)]
struct MessageDocument {
    event_id: String,
    role: String,
    name: Option<String>,
    content: Value,
    metadata: Option<Value>,
    bytes: u64,
}

impl MessageDocument {
    fn message(self) -> Value {
        let Self { event_id, role, name, content, metadata, .. } = self;
        json!({
            "event_id": event_id, "role": role, "name": name,
            "content": content, "metadata": metadata,
        })
    }
}

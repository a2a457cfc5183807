use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use bson::doc;
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};

use super::Floor;
use super::message::MessageDocument;
use crate::measure::Write;
use crate::messages::Message;

/// `insert_one`: stores a message as a document of its own.
///
/// The floor of every append: no order among writers, and no deduplication by id.
#[derive(Debug)]
pub(crate) struct InsertOne {
    collection: Collection<MessageDocument>,
    next: AtomicI64,
}

impl InsertOne {
    /// Stores into a collection whose only index is that of `_id`.
    pub(crate) fn new(floor: &Floor, collection: &str) -> Self {
        Self { collection: floor.database.collection(collection), next: AtomicI64::new(0) }
    }

    /// Stores into a collection with a unique index on chat and event id.
    pub(crate) async fn with_unique_index(floor: &Floor, collection: &str) -> Result<Self> {
        let inserting = Self::new(floor, collection);
        let options = IndexOptions::builder().unique(true).build();
        let keys = doc! { "chat_id": 1, "event_id": 1 };
        let index = IndexModel::builder().keys(keys).options(options).build();
        inserting.collection.create_index(index).await?;
        Ok(inserting)
    }
}

#[async_trait]
impl Write for InsertOne {
    type Input = MessageDocument;

    fn prepare(&self, writer: usize, messages: &[Message]) -> Result<MessageDocument> {
        let sequence = self.next.fetch_add(1, Ordering::Relaxed);
        Ok(MessageDocument::new(&format!("chat_{writer}"), sequence, &messages[0]))
    }

    async fn write(&self, document: MessageDocument) -> Result<()> {
        self.collection.insert_one(&document).await?;
        Ok(())
    }
}

/// `insert_many`: stores a batch of messages as documents of their own.
#[derive(Debug)]
pub(crate) struct InsertMany {
    collection: Collection<MessageDocument>,
    next: AtomicI64,
}

impl InsertMany {
    /// Stores into a collection whose only index is that of `_id`.
    pub(crate) fn new(floor: &Floor, collection: &str) -> Self {
        Self { collection: floor.database.collection(collection), next: AtomicI64::new(0) }
    }
}

#[async_trait]
impl Write for InsertMany {
    type Input = Vec<MessageDocument>;

    fn prepare(&self, writer: usize, messages: &[Message]) -> Result<Vec<MessageDocument>> {
        let chat_id = format!("chat_{writer}");
        let documents = messages.iter().map(|message| {
            let sequence = self.next.fetch_add(1, Ordering::Relaxed);
            MessageDocument::new(&chat_id, sequence, message)
        });
        Ok(documents.collect())
    }

    async fn write(&self, documents: Vec<MessageDocument>) -> Result<()> {
        let inserted = self.collection.insert_many(&documents).await?;
        ensure!(inserted.inserted_ids.len() == documents.len(), "messages are missing");
        Ok(())
    }
}

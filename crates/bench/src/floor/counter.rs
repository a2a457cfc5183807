use anyhow::{Context as _, Result};
use async_trait::async_trait;
use bson::doc;
use mongodb::Collection;
use mongodb::options::ReturnDocument;
use serde::{Deserialize, Serialize};

use super::Floor;
use super::message::MessageDocument;
use crate::measure::Write;
use crate::messages::Message;

/// A counter document, then `insert_one`: the usual way to number messages that are documents.
///
/// Other writers may finish both their writes between the two writes of one writer, so a reader sees
/// gaps that are filled later.
#[derive(Debug)]
pub(crate) struct CountThenInsert {
    counters: Collection<Counter>,
    messages: Collection<MessageDocument>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    sequence: i64,
}

/// The chat that all writers write to.
const CHAT: &str = "chat_0";

impl CountThenInsert {
    pub(crate) async fn create(floor: &Floor) -> Result<Self> {
        let counters = floor.database.collection("counters");
        let counter = doc! { "_id": CHAT };
        let update = doc! { "$set": { "sequence": 0_i64 } };
        counters.update_one(counter, update).upsert(true).await?;
        Ok(Self { counters, messages: floor.database.collection("counted_messages") })
    }
}

#[async_trait]
impl Write for CountThenInsert {
    type Input = MessageDocument;

    fn prepare(&self, _writer: usize, messages: &[Message]) -> Result<MessageDocument> {
        Ok(MessageDocument::new(CHAT, 0, &messages[0]))
    }

    async fn write(&self, mut document: MessageDocument) -> Result<()> {
        let update = doc! { "$inc": { "sequence": 1_i64 } };
        let counting = self.counters.find_one_and_update(doc! { "_id": CHAT }, update);
        let counter = counting.return_document(ReturnDocument::After).await?;
        document.sequence = counter.context("the counter is missing")?.sequence;
        self.messages.insert_one(&document).await?;
        Ok(())
    }
}

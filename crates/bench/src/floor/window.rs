use anyhow::{Context as _, Result};
use async_trait::async_trait;
use bson::{RawDocumentBuf, doc};
use mongodb::Collection;
use serde::{Deserialize, Serialize};

use super::Floor;
use super::message::MessageDocument;
use crate::measure::Read;
use crate::messages::Message;

/// `find_one` by `_id` of a document that holds the wanted number of messages.
#[derive(Debug)]
pub(crate) struct ReadWindow {
    windows: Collection<RawDocumentBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Window {
    #[serde(rename = "_id")]
    chat_id: &'static str,
    messages: Vec<MessageDocument>,
}

const CHAT: &str = "chat_0";

impl ReadWindow {
    /// Stores the document that is read.
    pub(crate) async fn create(floor: &Floor, messages: &[Message]) -> Result<Self> {
        let numbered = (0..).zip(messages);
        let messages =
            numbered.map(|(number, message)| MessageDocument::new(CHAT, number, message));
        let window = Window { chat_id: CHAT, messages: messages.collect() };
        floor.database.collection::<Window>("windows").insert_one(&window).await?;
        Ok(Self { windows: floor.database.collection("windows") })
    }
}

#[async_trait]
impl Read for ReadWindow {
    async fn read(&self) -> Result<()> {
        let found = self.windows.find_one(doc! { "_id": CHAT }).await?;
        found.context("the document is missing")?;
        Ok(())
    }
}

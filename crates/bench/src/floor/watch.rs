use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use bson::RawDocumentBuf;
use futures::StreamExt as _;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use super::{Floor, InsertOne};
use crate::measure::{Delays, Deliver, Write as _};
use crate::messages::Message;

/// `insert_one`, and a change stream that reports it.
#[derive(Debug)]
pub(crate) struct Watch {
    inserting: InsertOne,
    delays: Delays,
    /// When the change stream reported an insertion.
    told: Mutex<UnboundedReceiver<Instant>>,
    watching: JoinHandle<()>,
}

const COLLECTION: &str = "watched";

impl Watch {
    /// Inserts over one client and watches over another.
    pub(crate) async fn open(inserter: &Floor, watcher: &Floor, delays: Delays) -> Result<Self> {
        let messages = watcher.database.collection::<RawDocumentBuf>(COLLECTION);
        let mut changes = messages.watch().await?.with_type::<RawDocumentBuf>();
        let (telling, told) = unbounded_channel();
        let watching = tokio::spawn(async move {
            while let Some(Ok(_)) = changes.next().await {
                if telling.send(Instant::now()).is_err() {
                    break;
                }
            }
        });
        let inserting = InsertOne::new(inserter, COLLECTION);
        Ok(Self { inserting, delays, told: Mutex::new(told), watching })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

#[async_trait]
impl Deliver for Watch {
    async fn deliver(&self, messages: &[Message]) -> Result<Vec<Duration>> {
        let document = self.inserting.prepare(0, messages)?;
        let begun = Instant::now();
        self.inserting.write(document).await?;
        let acknowledged = Instant::now();
        let told = self.told.lock().await.recv().await.context("the change stream has ended")?;
        self.delays.note(acknowledged, told);
        Ok(vec![told - begun])
    }
}

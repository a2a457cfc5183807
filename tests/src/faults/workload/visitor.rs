use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::sleep;

use super::page_reader::PageReader;
use super::parcel::Parcel;
use super::pen::Pen;
use super::sender::Sender;
use super::world::World;
use crate::faults::history::Recorder;

/// Checks after healing that everything works.
#[derive(Debug)]
pub struct Visitor {
    pen: Pen,
    rng: fastrand::Rng,
    sender: Sender,
    reader: PageReader,
}

impl Visitor {
    /// A writer and a reader.
    pub fn new(writer: Recorder, reader: Recorder) -> Self {
        let mut rng = fastrand::Rng::with_seed(0);
        let pen = Pen::new(writer.client());
        let reader = PageReader::new(reader, rng.fork());
        Self { pen, sender: Sender::new(writer, rng.fork()), reader, rng }
    }

    /// Appends a message until it is acknowledged, and reads until it is seen.
    pub(super) async fn visit(&mut self, world: &World, chat: &str) -> Result<()> {
        let messages = vec![self.pen.message(&mut self.rng)];
        let parcel = Parcel { chat: chat.to_owned(), messages };
        self.sender.deliver(world, &parcel).await?;
        let event_id = parcel.messages[0]["event_id"].as_str().unwrap_or_default();
        ensure!(!event_id.is_empty(), "a message was written without an id");
        while !self.reader.sees(world, chat, event_id).await? {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.sender.finish()?;
        self.reader.finish()
    }
}

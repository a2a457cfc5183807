use anyhow::Result;

use super::Workload;
use super::parcel::Parcel;
use super::pen::Pen;
use super::sender::Sender;
use crate::faults::history::Recorder;

/// Fills a chat, as fast as it can.
#[derive(Debug)]
pub struct Grower {
    pen: Pen,
    sender: Sender,
}

impl Grower {
    /// A grower that has written nothing yet.
    pub fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        let pen = Pen::new(recorder.client());
        Self { pen, sender: Sender::new(recorder, rng) }
    }

    /// Appends `count` messages of `bytes` each, several at a time.
    pub async fn grow(
        &mut self,
        workload: &Workload,
        chat: &str,
        count: usize,
        bytes: usize,
        at_a_time: usize,
    ) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let now = left.min(at_a_time);
            let messages = (0..now).map(|_| self.pen.message_of(bytes)).collect();
            let parcel = Parcel { chat: chat.to_owned(), messages };
            self.sender.deliver(&workload.world, &parcel).await?;
            left -= now;
        }
        Ok(())
    }

    /// Flushes all records to the file.
    pub fn finish(self) -> Result<()> {
        self.sender.finish()
    }
}

use anyhow::{Result, ensure};
use async_trait::async_trait;
use indicatif::ProgressBar;
use persistence::{MessageRange, Messages as _};

use super::Chat;
use crate::measure::Read;
use crate::messages::SharedSource;

/// Reads the newest messages of a chat that grows a little before each lap, so that the reads see its
/// tail at every length.
#[derive(Debug)]
pub(crate) struct ReadTail {
    pub(crate) chat: Chat,
    pub(crate) limit: usize,
    pub(crate) source: SharedSource,
}

/// Messages appended before each lap.
const GROWTH: usize = 3;

#[async_trait]
impl Read for ReadTail {
    async fn before_lap(&self) -> Result<()> {
        self.chat.fill(&self.source.take(GROWTH), 1, &ProgressBar::hidden()).await
    }

    async fn read(&self) -> Result<()> {
        let Chat { store, scope, id } = &self.chat;
        let newest = MessageRange::Newest { before: None, limit: self.limit };
        let transcript = store.messages(scope, id, newest).await?;
        let count = transcript.messages.len();
        ensure!(count == self.limit, "{count} messages were found");
        Ok(())
    }
}

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use async_trait::async_trait;

use crate::http::{Listener, Told};
use crate::measure::Read;

/// Joins a chat over a new connection, and leaves it again.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) until: Until,
}

/// When to leave.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// At the first message.
    FirstMessage,
    /// At the end of the stored messages, after this number of messages.
    CaughtUp { messages: u64 },
}

#[async_trait]
impl Read for Join {
    async fn read(&self) -> Result<()> {
        let mut listener = Listener::open(self.address, &self.path).await?;
        match self.until {
            Until::FirstMessage => ensure!(listener.next().await? == Told::Message, "it is empty"),
            Until::CaughtUp { messages } => {
                let count = listener.catch_up().await?;
                ensure!(count == messages, "{count} messages came");
            }
        }
        Ok(())
    }
}

use std::slice;
use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Audience;
use super::audience::Heard;
use crate::measure::{Delays, Deliver, Write};
use crate::messages::Message;

/// Writes one message to each chat, and waits until all its subscribers have received it.
#[derive(Debug)]
pub(crate) struct Tell<W> {
    /// One for each chat.
    pub(crate) writes: Vec<W>,
    pub(crate) audience: Audience,
    pub(crate) delays: Delays,
}

/// Writers at the same time, if there are as many chats.
const WRITERS: usize = 64;

impl<W: Write> Tell<W> {
    /// Writes to a chat; returns the times of the start and of the acknowledgement.
    async fn write(&self, chat: usize, message: &Message) -> Result<(Instant, Instant)> {
        let input = self.writes[chat].prepare(chat, slice::from_ref(message))?;
        let begun = Instant::now();
        self.writes[chat].write(input).await?;
        Ok((begun, Instant::now()))
    }
}

#[async_trait]
impl<W: Write> Deliver for Tell<W> {
    fn messages(&self) -> usize {
        self.writes.len()
    }

    async fn deliver(&self, messages: &[Message]) -> Result<Vec<Duration>> {
        let writing: Vec<_> =
            messages.iter().enumerate().map(|(n, it)| self.write(n, it)).collect();
        let written: Vec<_> = stream::iter(writing).buffered(WRITERS).try_collect().await?;
        let latency = |Heard { chat, at }| {
            let (begun, acknowledged) = written[chat];
            self.delays.note(acknowledged, at);
            at - begun
        };
        Ok(self.audience.hear().await?.into_iter().map(latency).collect())
    }
}

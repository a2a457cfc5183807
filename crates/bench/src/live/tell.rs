use std::slice;
use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::Audience;
use super::audience::Heard;
use crate::measure::{Delays, Deliver, Write};
use crate::messages::Message;

/// Writes one message to each of some chats, and waits until whoever listens to them has it.
#[derive(Debug)]
pub(crate) struct Tell<W> {
    /// One for each chat.
    pub(crate) writes: Vec<W>,
    pub(crate) audience: Audience,
    pub(crate) delays: Delays,
}

/// How many write at the same time, where there are so many chats.
const WRITERS: usize = 64;

impl<W: Write> Tell<W> {
    /// Writes to a chat; returns when that began and when it was acknowledged.
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

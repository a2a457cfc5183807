use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use futures::future::try_join_all;
use tokio::sync::Barrier;

use super::Lap;
use crate::messages::Message;

/// A way of writing messages.
#[async_trait]
pub(crate) trait Write: Send + Sync + 'static {
    /// What one write takes.
    type Input: Send + 'static;

    /// Gives messages the form that the write takes; not measured.
    fn prepare(&self, writer: usize, messages: &[Message]) -> Result<Self::Input>;

    /// Writes, and fails if the outcome is not the one it should have.
    async fn write(&self, input: Self::Input) -> Result<()>;
}

/// A way of reading.
#[async_trait]
pub(crate) trait Read: Send + Sync + 'static {
    /// Brings about what the next lap begins from; not measured.
    async fn before_lap(&self) -> Result<()> {
        Ok(())
    }

    /// Reads, and fails if what is found is not what should be there.
    async fn read(&self) -> Result<()>;
}

/// A way of having messages told to whoever listens.
#[async_trait]
pub(crate) trait Deliver: Send + Sync + 'static {
    /// How many messages one delivery takes.
    fn messages(&self) -> usize {
        1
    }

    /// Stores messages and waits until all who listen have them; returns, for each of those, how long
    /// that took from the beginning of the write.
    async fn deliver(&self, messages: &[Message]) -> Result<Vec<Duration>>;
}

/// How much is written in a lap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// How many tasks write at the same time.
    pub(crate) writers: usize,
    /// How often each of them writes.
    pub(crate) writes: usize,
    /// How many messages each time.
    pub(crate) batch: usize,
}

impl Load {
    pub(super) fn messages(self) -> usize {
        self.writers * self.writes * self.batch
    }
}

/// Something that is done lap by lap.
#[async_trait]
pub(super) trait Lane: Send + Sync {
    /// How many messages a lap takes.
    fn messages(&self) -> usize;

    /// Does a lap, with as many of the messages as it takes.
    async fn lap(&self, messages: &[Message]) -> Result<Lap>;
}

/// A lane of one reader.
pub(super) struct Reading<R> {
    pub(super) read: R,
    pub(super) reads: usize,
}

#[async_trait]
impl<R: Read> Lane for Reading<R> {
    fn messages(&self) -> usize {
        0
    }

    async fn lap(&self, _messages: &[Message]) -> Result<Lap> {
        self.read.before_lap().await?;
        let mut latencies = Vec::with_capacity(self.reads);
        let began = Instant::now();
        for _ in 0..self.reads {
            let began = Instant::now();
            self.read.read().await?;
            latencies.push(began.elapsed());
        }
        Ok(Lap::new(latencies, began.elapsed(), self.reads))
    }
}

/// A lane of one who writes and others who listen.
pub(super) struct Delivering<D> {
    pub(super) deliver: D,
    pub(super) deliveries: usize,
}

#[async_trait]
impl<D: Deliver> Lane for Delivering<D> {
    fn messages(&self) -> usize {
        self.deliveries * self.deliver.messages()
    }

    async fn lap(&self, messages: &[Message]) -> Result<Lap> {
        let mut latencies = Vec::new();
        let began = Instant::now();
        for messages in messages.chunks(self.deliver.messages()).take(self.deliveries) {
            latencies.extend(self.deliver.deliver(messages).await?);
        }
        let delivered = latencies.len();
        Ok(Lap::new(latencies, began.elapsed(), delivered))
    }
}

/// A lane of one or several writers.
pub(super) struct Writing<W> {
    pub(super) write: Arc<W>,
    pub(super) load: Load,
}

#[async_trait]
impl<W: Write> Lane for Writing<W> {
    fn messages(&self) -> usize {
        self.load.messages()
    }

    async fn lap(&self, messages: &[Message]) -> Result<Lap> {
        let start = Arc::new(Barrier::new(self.load.writers));
        let mut tasks = Vec::with_capacity(self.load.writers);
        for writer in 0..self.load.writers {
            let inputs = self.inputs(writer, messages)?;
            let (write, start) = (Arc::clone(&self.write), Arc::clone(&start));
            tasks.push(tokio::spawn(async move {
                start.wait().await;
                write_all(&*write, inputs).await
            }));
        }
        let shifts = try_join_all(tasks).await?.into_iter().collect::<Result<Vec<_>>>()?;
        let began = shifts.iter().map(|shift| shift.began).min();
        let ended = shifts.iter().map(|shift| shift.ended).max();
        let elapsed = began.zip(ended).map(|(began, ended)| ended - began).unwrap_or_default();
        let latencies = shifts.into_iter().flat_map(|shift| shift.latencies).collect();
        Ok(Lap::new(latencies, elapsed, self.load.messages()))
    }
}

impl<W: Write> Writing<W> {
    /// Prepares what one writer writes in a lap.
    fn inputs(&self, writer: usize, messages: &[Message]) -> Result<Vec<W::Input>> {
        let Load { writes, batch, .. } = self.load;
        let own = messages.chunks(batch).skip(writer * writes).take(writes);
        own.map(|messages| self.write.prepare(writer, messages)).collect()
    }
}

/// The part of one writer in a lap.
struct Shift {
    began: Instant,
    ended: Instant,
    latencies: Vec<Duration>,
}

async fn write_all<W: Write>(write: &W, inputs: Vec<W::Input>) -> Result<Shift> {
    let mut latencies = Vec::with_capacity(inputs.len());
    let shift_began = Instant::now();
    for input in inputs {
        let began = Instant::now();
        write.write(input).await?;
        latencies.push(began.elapsed());
    }
    Ok(Shift { began: shift_began, ended: Instant::now(), latencies })
}

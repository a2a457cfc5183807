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
    /// The input of one write.
    type Input: Send + 'static;

    /// Converts messages to that input; not measured.
    fn prepare(&self, writer: usize, messages: &[Message]) -> Result<Self::Input>;

    /// Writes, and fails if the outcome is wrong.
    async fn write(&self, input: Self::Input) -> Result<()>;
}

/// A way of reading.
#[async_trait]
pub(crate) trait Read: Send + Sync + 'static {
    /// Prepares the state in which the next lap starts; not measured.
    async fn before_lap(&self) -> Result<()> {
        Ok(())
    }

    /// Reads, and fails if the result is wrong.
    async fn read(&self) -> Result<()>;
}

/// A way of delivering messages to subscribers.
#[async_trait]
pub(crate) trait Deliver: Send + Sync + 'static {
    /// Messages in one delivery.
    fn messages(&self) -> usize {
        1
    }

    /// Stores messages and waits until all subscribers have them; returns, for each subscriber, the
    /// time since the beginning of the write.
    async fn deliver(&self, messages: &[Message]) -> Result<Vec<Duration>>;
}

/// How much is written in a lap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// Tasks that write at the same time.
    pub(crate) writers: usize,
    /// Writes of each task.
    pub(crate) writes: usize,
    /// Messages in each write.
    pub(crate) batch: usize,
}

impl Load {
    pub(super) fn messages(self) -> usize {
        self.writers * self.writes * self.batch
    }
}

/// Work that is done lap by lap.
#[async_trait]
pub(super) trait Lane: Send + Sync {
    /// Messages that a lap needs.
    fn messages(&self) -> usize;

    /// Runs a lap with the messages it needs.
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

/// A lane of one writer and its subscribers.
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
    /// Prepares the input of one writer for a lap.
    fn inputs(&self, writer: usize, messages: &[Message]) -> Result<Vec<W::Input>> {
        let Load { writes, batch, .. } = self.load;
        let own = messages.chunks(batch).skip(writer * writes).take(writes);
        own.map(|messages| self.write.prepare(writer, messages)).collect()
    }
}

/// The work of one writer in a lap.
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

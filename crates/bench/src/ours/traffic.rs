use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use persistence::mongo::MongoStore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Append, Chat};
use crate::measure::{Lap, Write as _};
use crate::messages::SharedSource;

/// Appends of several writers, each to a chat of its own, that go on until they are ended.
#[derive(Debug)]
pub(crate) struct Traffic {
    writers: Vec<JoinHandle<Result<Vec<Duration>>>>,
    ending: CancellationToken,
    began: Instant,
}

const WRITERS: usize = 8;

/// The pause of a writer after each append.
const PAUSE: Duration = Duration::from_millis(20);

impl Traffic {
    pub(crate) async fn begin(store: &MongoStore, source: &SharedSource) -> Result<Self> {
        let ending = CancellationToken::new();
        let chats = Chat::create_many(store, WRITERS).await?.into_iter();
        let writer = |chat| tokio::spawn(write(chat, source.clone(), ending.clone()));
        let writers = chats.map(writer).collect();
        Ok(Self { writers, ending, began: Instant::now() })
    }

    /// Ends the appends, and returns how long each of them took.
    pub(crate) async fn end(self) -> Result<Lap> {
        self.ending.cancel();
        let writers = try_join_all(self.writers).await?;
        let elapsed = self.began.elapsed();
        let latencies: Vec<_> = writers.into_iter().collect::<Result<Vec<_>>>()?.concat();
        let items = latencies.len();
        Ok(Lap::new(latencies, elapsed, items))
    }
}

async fn write(
    chat: Chat,
    source: SharedSource,
    ending: CancellationToken,
) -> Result<Vec<Duration>> {
    let append = Append::to(chat);
    let mut latencies = Vec::new();
    while !ending.is_cancelled() {
        let input = append.prepare(0, &source.take(1))?;
        let began = Instant::now();
        append.write(input).await?;
        latencies.push(began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(latencies)
}

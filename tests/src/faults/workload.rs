//! Many clients at once: they append, repeat messages, read, subscribe, list and write snapshots, and
//! record all of it.
//!
//! Each kind of client is one file, and one line in [`Workload::start`].

mod appender;
mod context_writer;
mod document_writer;
mod grower;
mod list_reader;
mod load;
mod outcome;
mod page_reader;
mod parcel;
mod pen;
mod probe;
mod progress;
mod sender;
mod subscriber;
mod visitor;
mod world;

pub(crate) use document_writer::NAMESPACE;
pub use grower::Grower;
pub use load::Load;
pub use outcome::outcome;
pub use progress::Progress;
pub use visitor::Visitor;
pub use world::{Phase, World};

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::appender::Appender;
use self::context_writer::ContextWriter;
use self::document_writer::DocumentWriter;
use self::list_reader::ListReader;
use self::page_reader::PageReader;
use self::probe::Probe;
use self::subscriber::Subscriber;
use self::world::FinalCounts;
use super::history::{Archive, Clock};
use crate::client::Client;

/// Clients at work.
#[derive(Debug)]
pub struct Workload {
    world: Arc<World>,
    phase: watch::Sender<Phase>,
    final_counts: watch::Sender<FinalCounts>,
    clients: JoinSet<Result<()>>,
    subscribers: JoinSet<Result<()>>,
}

/// How long a subscriber that keeps reconnecting stays, on average.
const STAY: Duration = Duration::from_secs(3);

/// The result of asking all clients to finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All have finished what they had begun.
    Finished,
    /// The number of clients that had not finished in time.
    Stuck(usize),
}

impl Workload {
    /// Creates the chats and starts the clients, which work until they are asked to finish.
    pub async fn start(
        load: Load,
        services: Vec<watch::Receiver<Client>>,
        archive: &Archive,
        clock: Clock,
        seed: u64,
    ) -> Result<Self> {
        let (phase, going_on) = watch::channel(Phase::Working);
        let (final_counts, known_counts) = watch::channel(FinalCounts::new());
        let world = Arc::new(World::create(load, services, going_on, known_counts).await?);
        let (clients, subscribers) = (JoinSet::new(), JoinSet::new());
        let mut workload = Self { world, phase, final_counts, clients, subscribers };
        let mut number = 0;
        let mut recorder = || {
            number += 1;
            archive.recorder(number, clock)
        };
        let mut seeds = fastrand::Rng::with_seed(seed);
        for _ in 0..load.appenders {
            let appender = Appender::new(recorder()?, recorder()?, seeds.fork());
            workload.clients.spawn(appender.run(workload.world.clone()));
        }
        for _ in 0..load.readers {
            let reader = PageReader::new(recorder()?, seeds.fork());
            workload.clients.spawn(reader.run(workload.world.clone()));
        }
        let lister = ListReader::new(recorder()?, seeds.fork());
        workload.clients.spawn(lister.run(workload.world.clone()));
        let writer = ContextWriter::new(recorder()?, seeds.fork());
        workload.clients.spawn(writer.run(workload.world.clone()));
        for _ in 0..load.documents {
            let writer = DocumentWriter::new(recorder()?, seeds.fork());
            workload.clients.spawn(writer.run(workload.world.clone()));
        }
        for service in 0..load.services {
            let probe = Probe::new(recorder()?, service);
            workload.clients.spawn(probe.run(workload.world.clone()));
        }
        for (number, chat) in workload.world.chats().iter().enumerate() {
            for (place, way) in load.subscribers.iter().enumerate() {
                let subscriber = Subscriber::new(recorder()?, seeds.fork(), chat, *way);
                let is_restless = place == number % load.subscribers.len();
                let subscriber = if is_restless { subscriber.staying(STAY) } else { subscriber };
                workload.subscribers.spawn(subscriber.run(workload.world.clone()));
            }
        }
        Ok(workload)
    }

    /// The chats that are written to.
    pub fn chats(&self) -> &[String] {
        self.world.chats()
    }

    /// The progress of the clients.
    pub fn progress(&self) -> &Progress {
        self.world.progress()
    }

    /// Pauses new appends, and gives running ones time to end.
    pub async fn rest(&self) {
        self.phase.send_replace(Phase::Resting);
        sleep(Duration::from_millis(500)).await;
    }

    /// Lets all clients continue.
    pub fn go_on(&self) {
        self.phase.send_replace(Phase::Working);
    }

    /// Lets all clients finish what they have begun, but begin nothing new.
    pub async fn finish(&mut self, limit: Duration) -> Result<Ending> {
        self.phase.send_replace(Phase::Finishing);
        end(&mut self.clients, limit).await
    }

    /// Announces the final number of messages of each chat, and lets the subscribers receive all of them.
    pub async fn hear_all(&mut self, limit: Duration) -> Result<Ending> {
        let mut counts = FinalCounts::new();
        for chat in self.chats() {
            let page = self.world.chat(0, chat).newest(1).await?;
            counts.insert(chat.clone(), page.last_sequence);
        }
        self.final_counts.send_replace(counts);
        end(&mut self.subscribers, limit).await
    }

    /// Appends a new message to every chat, and reads it; returns the chats where that failed.
    pub async fn visit(&self, mut visitor: Visitor, limit: Duration) -> Result<Vec<String>> {
        let mut closed = Vec::new();
        for chat in self.chats() {
            match timeout(limit, visitor.visit(&self.world, chat)).await {
                Ok(visited) => visited?,
                Err(_) => closed.push(chat.clone()),
            }
        }
        visitor.finish()?;
        Ok(closed)
    }
}

/// Waits until all clients have ended, and aborts those that have not in time.
async fn end(clients: &mut JoinSet<Result<()>>, limit: Duration) -> Result<Ending> {
    let ended = async {
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    };
    if let Ok(ended) = timeout(limit, ended).await {
        return ended.map(|()| Ending::Finished);
    }
    let stuck = clients.len();
    clients.shutdown().await;
    Ok(Ending::Stuck(stuck))
}

//! Many clients at once: they append, repeat themselves, read, list and write snapshots, and
//! record all of it.
//!
//! Each kind of client is one file, and one line in [`Workload::start`].

mod appender;
mod context_writer;
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
mod visitor;
mod world;

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
use self::list_reader::ListReader;
use self::page_reader::PageReader;
use self::probe::Probe;
use super::history::{Archive, Clock};
use crate::client::Client;

/// Clients at work.
#[derive(Debug)]
pub struct Workload {
    world: Arc<World>,
    phase: watch::Sender<Phase>,
    clients: JoinSet<Result<()>>,
}

/// What becomes of clients that are asked to finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All have finished what they had begun.
    Finished,
    /// So many had not when patience ran out.
    Stuck(usize),
}

impl Workload {
    /// Creates the chats and sets the clients to work, until they are told to finish.
    pub async fn start(
        load: Load,
        services: Vec<watch::Receiver<Client>>,
        archive: &Archive,
        clock: Clock,
        seed: u64,
    ) -> Result<Self> {
        let (phase, going_on) = watch::channel(Phase::Working);
        let world = Arc::new(World::create(load, services, going_on).await?);
        let mut workload = Self { world, phase, clients: JoinSet::new() };
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
        for service in 0..load.services {
            let probe = Probe::new(recorder()?, service);
            workload.clients.spawn(probe.run(workload.world.clone()));
        }
        Ok(workload)
    }

    /// The chats that are written to.
    pub fn chats(&self) -> &[String] {
        self.world.chats()
    }

    /// How far the clients are.
    pub fn progress(&self) -> &Progress {
        self.world.progress()
    }

    /// Has nothing new appended until further notice, and gives what is under way time to end.
    pub async fn rest(&self) {
        self.phase.send_replace(Phase::Resting);
        sleep(Duration::from_millis(500)).await;
    }

    /// Has everyone go on.
    pub fn go_on(&self) {
        self.phase.send_replace(Phase::Working);
    }

    /// Lets everyone finish what was begun, but begin nothing new.
    pub async fn finish(&mut self, patience: Duration) -> Result<Ending> {
        self.phase.send_replace(Phase::Finishing);
        let ended = async {
            while let Some(ended) = self.clients.join_next().await {
                ended??;
            }
            anyhow::Ok(())
        };
        if let Ok(ended) = timeout(patience, ended).await {
            return ended.map(|()| Ending::Finished);
        }
        let stuck = self.clients.len();
        self.clients.shutdown().await;
        Ok(Ending::Stuck(stuck))
    }

    /// Appends something new to every chat, and reads it; answers which chats did not let it.
    pub async fn visit(&self, mut visitor: Visitor, patience: Duration) -> Result<Vec<String>> {
        let mut closed = Vec::new();
        for chat in self.chats() {
            match timeout(patience, visitor.visit(&self.world, chat)).await {
                Ok(visited) => visited?,
                Err(_) => closed.push(chat.clone()),
            }
        }
        visitor.finish()?;
        Ok(closed)
    }
}

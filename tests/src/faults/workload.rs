//! Many clients at once: they append, repeat themselves, read, listen, list and write snapshots, and
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
mod subscriber;
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
use self::subscriber::Subscriber;
use self::world::Ends;
use super::history::{Archive, Clock};
use crate::client::Client;

/// Clients at work.
#[derive(Debug)]
pub struct Workload {
    world: Arc<World>,
    phase: watch::Sender<Phase>,
    ends: watch::Sender<Ends>,
    clients: JoinSet<Result<()>>,
    subscribers: JoinSet<Result<()>>,
}

/// How long a subscriber stays who keeps coming back, on average.
const STAY: Duration = Duration::from_secs(3);

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
        let (ends, known_ends) = watch::channel(Ends::new());
        let world = Arc::new(World::create(load, services, going_on, known_ends).await?);
        let (clients, subscribers) = (JoinSet::new(), JoinSet::new());
        let mut workload = Self { world, phase, ends, clients, subscribers };
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
        end(&mut self.clients, patience).await
    }

    /// Says how many messages each chat has in the end, and lets the subscribers hear all of them.
    pub async fn hear_all(&mut self, patience: Duration) -> Result<Ending> {
        let mut ends = Ends::new();
        for chat in self.chats() {
            let page = self.world.chat(0, chat).newest(1).await?;
            ends.insert(chat.clone(), page.last_sequence);
        }
        self.ends.send_replace(ends);
        end(&mut self.subscribers, patience).await
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

/// Waits until all have ended, or sends those away who have not when patience runs out.
async fn end(clients: &mut JoinSet<Result<()>>, patience: Duration) -> Result<Ending> {
    let ended = async {
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    };
    if let Ok(ended) = timeout(patience, ended).await {
        return ended.map(|()| Ending::Finished);
    }
    let stuck = clients.len();
    clients.shutdown().await;
    Ok(Ending::Stuck(stuck))
}

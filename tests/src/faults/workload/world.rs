use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::sync::watch;

use super::parcel::Parcel;
use super::{Load, Progress};
use crate::client::{Chat, Client};

/// What the clients have in common.
#[derive(Debug)]
pub struct World {
    chats: Vec<String>,
    /// How each service is reached now.
    services: Vec<watch::Receiver<Client>>,
    phase: watch::Receiver<Phase>,
    progress: Progress,
    /// Some of what has been delivered, to be sent again.
    delivered: Mutex<Vec<Arc<Parcel>>>,
}

/// What the clients are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Begin new things.
    Working,
    /// Append nothing for a while.
    Resting,
    /// Finish what was begun.
    Finishing,
}

/// So that a long trial does not keep everything it ever sent.
const REMEMBERED: usize = 2_000;

impl World {
    pub(super) async fn create(
        load: Load,
        services: Vec<watch::Receiver<Client>>,
        phase: watch::Receiver<Phase>,
    ) -> Result<Self> {
        let client = services[0].borrow().clone();
        let mut chats = Vec::new();
        for _ in 0..load.chats {
            chats.push(client.create_chat("Torture").await?.id().to_owned());
        }
        let progress = Progress::default();
        Ok(Self { chats, services, phase, progress, delivered: Mutex::default() })
    }

    pub(super) fn chats(&self) -> &[String] {
        &self.chats
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// How many services there are.
    pub(super) fn services(&self) -> usize {
        self.services.len()
    }

    /// Whether new things are to be begun.
    pub(super) fn is_working(&self) -> bool {
        *self.phase.borrow() != Phase::Finishing
    }

    /// Waits while nothing is to be appended.
    pub(super) async fn rest(&self) -> Result<()> {
        self.phase.clone().wait_for(|phase| *phase != Phase::Resting).await?;
        Ok(())
    }

    /// A client of a service, as it is reached now.
    pub(super) fn client(&self, service: usize) -> Client {
        self.services[service % self.services.len()].borrow().clone()
    }

    /// A chat as a service serves it.
    pub(super) fn chat(&self, service: usize, chat_id: &str) -> Chat {
        self.client(service).chat(chat_id)
    }

    /// Any of the chats.
    pub(super) fn any_chat(&self, rng: &mut fastrand::Rng) -> &str {
        &self.chats[rng.usize(..self.chats.len())]
    }

    /// Remembers what has been delivered.
    pub(super) fn remember(&self, parcel: Arc<Parcel>, rng: &mut fastrand::Rng) {
        let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        if delivered.len() < REMEMBERED {
            delivered.push(parcel);
        } else {
            let forgotten = rng.usize(..REMEMBERED);
            delivered[forgotten] = parcel;
        }
    }

    /// Anything that has been delivered, by whomever.
    pub(super) fn any_delivered(&self, rng: &mut fastrand::Rng) -> Option<Arc<Parcel>> {
        let delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        rng.choice(delivered.iter()).cloned()
    }
}

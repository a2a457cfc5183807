use std::collections::BTreeMap;
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
    ends: watch::Receiver<Ends>,
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

/// How many messages each chat has in the end; nothing until that is known.
pub(super) type Ends = BTreeMap<String, u64>;

/// The workflow that all chats belong to.
pub(super) const WORKFLOW: &str = "Torture";

/// So that a long trial does not keep everything it ever sent.
const REMEMBERED: usize = 2_000;

impl World {
    pub(super) async fn create(
        load: Load,
        services: Vec<watch::Receiver<Client>>,
        phase: watch::Receiver<Phase>,
        ends: watch::Receiver<Ends>,
    ) -> Result<Self> {
        let client = services[0].borrow().clone();
        let mut chats = Vec::new();
        for _ in 0..load.chats {
            chats.push(client.create_chat(WORKFLOW).await?.id().to_owned());
        }
        let progress = Progress::default();
        Ok(Self { chats, services, phase, ends, progress, delivered: Mutex::default() })
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

    /// Waits until it is known how many messages a chat has in the end, and until somebody who holds so
    /// many of them holds all.
    pub(super) async fn is_all(&self, chat: &str, held: u64) -> Result<()> {
        let is_all = |ends: &Ends| ends.get(chat).is_some_and(|end| held >= *end);
        self.ends.clone().wait_for(is_all).await?;
        Ok(())
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

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::sync::watch;

use super::parcel::Parcel;
use super::{Load, Progress};
use crate::client::{Chat, Client};

/// The state that the clients share.
#[derive(Debug)]
pub struct World {
    chats: Vec<String>,
    /// The current client of each service.
    services: Vec<watch::Receiver<Client>>,
    phase: watch::Receiver<Phase>,
    final_counts: watch::Receiver<FinalCounts>,
    progress: Progress,
    /// Some delivered parcels, to be repeated.
    delivered: Mutex<Vec<Arc<Parcel>>>,
}

/// The phase of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Begin new things.
    Working,
    /// Append nothing for a while.
    Resting,
    /// Finish what was begun.
    Finishing,
}

/// The final number of messages of each chat; empty until it is known.
pub(super) type FinalCounts = BTreeMap<String, u64>;

/// The workflow that all chats belong to.
pub(super) const WORKFLOW: &str = "Torture";

/// A bound, so that a long trial does not keep everything it ever sent.
const REMEMBERED: usize = 2_000;

impl World {
    pub(super) async fn create(
        load: Load,
        services: Vec<watch::Receiver<Client>>,
        phase: watch::Receiver<Phase>,
        final_counts: watch::Receiver<FinalCounts>,
    ) -> Result<Self> {
        let client = services[0].borrow().clone();
        let mut chats = Vec::new();
        for _ in 0..load.chats {
            chats.push(client.create_chat(WORKFLOW).await?.id().to_owned());
        }
        let progress = Progress::default();
        Ok(Self { chats, services, phase, final_counts, progress, delivered: Mutex::default() })
    }

    pub(super) fn chats(&self) -> &[String] {
        &self.chats
    }

    pub(super) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The number of services.
    pub(super) fn services(&self) -> usize {
        self.services.len()
    }

    /// Whether clients may begin new operations.
    pub(super) fn is_working(&self) -> bool {
        *self.phase.borrow() != Phase::Finishing
    }

    /// Waits until the final number of messages of a chat is known and the given number reaches it.
    pub(super) async fn is_all(&self, chat: &str, held: u64) -> Result<()> {
        let is_all = |counts: &FinalCounts| counts.get(chat).is_some_and(|end| held >= *end);
        self.final_counts.clone().wait_for(is_all).await?;
        Ok(())
    }

    /// Waits while appends are paused.
    pub(super) async fn rest(&self) -> Result<()> {
        self.phase.clone().wait_for(|phase| *phase != Phase::Resting).await?;
        Ok(())
    }

    /// A client of a service at its current address.
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

    /// Remembers a delivered parcel.
    pub(super) fn remember(&self, parcel: Arc<Parcel>, rng: &mut fastrand::Rng) {
        let mut delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        if delivered.len() < REMEMBERED {
            delivered.push(parcel);
        } else {
            let forgotten = rng.usize(..REMEMBERED);
            delivered[forgotten] = parcel;
        }
    }

    /// A random parcel that any client has delivered.
    pub(super) fn any_delivered(&self, rng: &mut fastrand::Rng) -> Option<Arc<Parcel>> {
        let delivered = self.delivered.lock().unwrap_or_else(PoisonError::into_inner);
        rng.choice(delivered.iter()).cloned()
    }
}

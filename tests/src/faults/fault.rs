//! The interface of a fault.

mod evidence;
mod scene;

pub use evidence::{Evidence, is_request};
pub use scene::{Force, Scene};

use anyhow::Result;
use async_trait::async_trait;

use super::checker::Finding;
use super::cluster::Cluster;
use super::history::Moment;

/// A fault that can be caused and healed.
#[async_trait(?Send)]
pub trait Fault {
    /// Inserts itself between the clients and the services before the trial begins.
    async fn prepare(&mut self, _cluster: &mut Cluster) -> Result<()> {
        Ok(())
    }

    /// Causes the fault, waits, heals it, and records in the scene when that was and how often it took
    /// effect.
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()>;

    /// The chats that the fault itself writes to.
    fn chats(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks the promises that are specific to this fault.
    fn judge(&self, _evidence: &Evidence<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

/// The time window of a fault.
pub type Window = (Moment, Moment);

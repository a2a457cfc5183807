//! What a fault is.

mod evidence;
mod scene;

pub use evidence::{Evidence, is_request};
pub use scene::{Force, Scene};

use anyhow::Result;
use async_trait::async_trait;

use super::checker::Finding;
use super::cluster::Cluster;
use super::history::Moment;

/// Something that can be broken, and mended again.
#[async_trait(?Send)]
pub trait Fault {
    /// Comes between the clients and the services before anything begins.
    async fn prepare(&mut self, _cluster: &mut Cluster) -> Result<()> {
        Ok(())
    }

    /// Breaks something, leaves it broken for a while, mends it, and writes down in the scene when
    /// that was and how often it took effect.
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()>;

    /// The chats it writes to itself.
    fn chats(&self) -> Vec<String> {
        Vec::new()
    }

    /// Says what must hold beyond what always must, and does not.
    fn judge(&self, _evidence: &Evidence<'_>) -> Vec<Finding> {
        Vec::new()
    }
}

/// From when and until when something was broken.
pub type Window = (Moment, Moment);

use anyhow::Result;
use async_trait::async_trait;
use local_mongod::Source;
use tokio::time::sleep;

use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};

/// No data passes between the service and its server, on connections that stay open.
pub(super) struct SilentServer;

#[async_trait(?Send)]
impl Fault for SilentServer {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let proxy = cluster.proxy()?;
        let t0 = scene.now();
        proxy.silence(Source::Everyone);
        let silent = scene.lasting(5, 10);
        sleep(silent).await;
        let withheld = proxy.speak();
        scene.struck("server silent", (t0, scene.now()), withheld as u64)
    }
}

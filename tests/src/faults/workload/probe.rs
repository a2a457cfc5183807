use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reqwest::Method;
use tokio::time::sleep;

use super::outcome;
use super::world::World;
use crate::faults::history::{HealthProbe, Operation, Outcome, Recorder};

/// Reads the health of a service repeatedly.
#[derive(Debug)]
pub(super) struct Probe {
    recorder: Recorder,
    service: usize,
}

const REST: Duration = Duration::from_millis(250);

impl Probe {
    pub(super) fn new(recorder: Recorder, service: usize) -> Self {
        Self { recorder, service }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            let t0 = self.recorder.now();
            let live = self.ask(&world, "/api/health/live").await;
            let ready = self.ask(&world, "/api/health/ready").await;
            let probe = HealthProbe { service: self.service, live, ready };
            self.recorder.record(t0, Operation::Health(probe))?;
            sleep(REST).await;
        }
        self.recorder.finish()
    }

    async fn ask(&self, world: &World, path: &str) -> Outcome<()> {
        let client = world.client(self.service);
        outcome(client.call(Method::GET, path, None).await).map(drop)
    }
}

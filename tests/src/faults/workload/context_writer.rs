use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::time::sleep;

use super::outcome;
use super::world::World;
use crate::faults::history::{Operation, Outcome, Recorder};

/// Replaces context snapshots, and reads them back.
#[derive(Debug)]
pub(super) struct ContextWriter {
    recorder: Recorder,
    rng: fastrand::Rng,
    /// The last version it has written to any chat.
    version: u64,
}

/// The average pause between two snapshots.
const REST_MS: u64 = 100;

impl ContextWriter {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        Self { recorder, rng, version: 0 }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            let chat = world.any_chat(&mut self.rng).to_owned();
            if self.rng.bool() {
                self.write(&world, chat).await?;
            } else {
                self.read(&world, chat).await?;
            }
            sleep(Duration::from_millis(self.rng.u64(..2 * REST_MS))).await;
        }
        self.recorder.finish()
    }

    /// Writes the next version; every second one is large enough for a blob.
    async fn write(&mut self, world: &World, chat: String) -> Result<()> {
        self.version += 1;
        let version = self.version;
        let padding = "x".repeat(if version.is_multiple_of(2) { 10_000 } else { 100 });
        let snapshot = json!({ "version": version, "padding": padding });
        let t0 = self.recorder.now();
        let service = self.rng.usize(..world.services());
        let written = world.chat(service, &chat).put("context", &snapshot).await;
        let outcome = outcome(written).map(drop);
        self.recorder.record(t0, Operation::WriteContext { chat, version, outcome })
    }

    async fn read(&mut self, world: &World, chat: String) -> Result<()> {
        let t0 = self.recorder.now();
        let service = self.rng.usize(..world.services());
        let read = world.chat(service, &chat).get("context").await;
        let outcome: Outcome<u64> =
            outcome(read).map(|it| it["context_snapshot"]["version"].as_u64().unwrap_or(0));
        self.recorder.record(t0, Operation::ReadContext { chat, outcome })
    }
}

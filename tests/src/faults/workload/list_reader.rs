use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reqwest::Method;
use serde_json::Value;
use tokio::time::sleep;

use super::outcome;
use super::world::World;
use crate::client::APP;
use crate::faults::body;
use crate::faults::history::{Listed, Operation, Recorder, Replay};

/// Lists the chats, and reads transcripts like an orchestrator that resumes a conversation.
#[derive(Debug)]
pub(super) struct ListReader {
    recorder: Recorder,
    rng: fastrand::Rng,
}

/// The average pause between two reads.
const REST_MS: u64 = 100;

impl ListReader {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        Self { recorder, rng }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            if self.rng.u8(..3) == 0 {
                self.list(&world).await?;
            } else {
                self.replay(&world).await?;
            }
            sleep(Duration::from_millis(self.rng.u64(..2 * REST_MS))).await;
        }
        self.recorder.finish()
    }

    async fn list(&mut self, world: &World) -> Result<()> {
        let t0 = self.recorder.now();
        let client = world.client(self.rng.usize(..world.services()));
        let list = client.call(Method::GET, &format!("/api/chats/{APP}?limit=100"), None).await;
        let outcome = outcome(list).map(|list| listed(&list));
        self.recorder.record(t0, Operation::List { outcome })
    }

    async fn replay(&mut self, world: &World) -> Result<()> {
        let chat = world.any_chat(&mut self.rng).to_owned();
        let service = self.rng.usize(..world.services());
        let newest = self.rng.usize(1..30);
        let t0 = self.recorder.now();
        let history = world.chat(service, &chat).history(&format!("ag2&newest={newest}")).await;
        let outcome = outcome(history).map(|history| {
            let id = |message| body::id_in_content(message).unwrap_or_default().to_owned();
            history.messages.iter().map(id).collect()
        });
        self.recorder.record(t0, Operation::Replay(Replay { chat, outcome }))
    }
}

fn listed(list: &Value) -> Vec<Listed> {
    let chats = list["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let listed = |chat: &Value| Listed {
        chat: chat["chat_id"].as_str().unwrap_or_default().to_owned(),
        last_sequence: chat["last_sequence"].as_u64().unwrap_or(u64::MAX),
    };
    chats.iter().map(listed).collect()
}

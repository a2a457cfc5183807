use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::outcome;
use super::world::World;
use crate::client::MessagePage;
use crate::faults::body;
use crate::faults::history::{Operation, Outcome, Page, Read, Recorder, StoredMessage};

/// Reads pages: from its last position, from a random position, and the newest.
#[derive(Debug)]
pub(super) struct PageReader {
    recorder: Recorder,
    rng: fastrand::Rng,
    /// The last sequence it has seen of each chat.
    last_seen: HashMap<String, i64>,
}

/// The average pause between two pages.
const REST_MS: u64 = 60;

impl PageReader {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        Self { recorder, rng, last_seen: HashMap::new() }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            let chat = world.any_chat(&mut self.rng).to_owned();
            let last_seen = self.last_seen.get(&chat).copied().unwrap_or(-1);
            let after = match self.rng.u8(..10) {
                0..6 => Some(last_seen),
                6..8 => Some(self.rng.i64(-1..=last_seen)),
                _ => None,
            };
            self.read(&world, chat, after).await?;
            sleep(Duration::from_millis(self.rng.u64(..2 * REST_MS))).await;
        }
        self.finish()
    }

    /// Returns whether a message is among the newest of a chat.
    pub(super) async fn sees(&mut self, world: &World, chat: &str, event_id: &str) -> Result<bool> {
        let outcome = self.read(world, chat.to_owned(), None).await?;
        let messages = outcome.ok().map(|page| page.messages.as_slice()).unwrap_or_default();
        Ok(messages.iter().any(|message| message.event_id == event_id))
    }

    pub(super) fn finish(self) -> Result<()> {
        self.recorder.finish()
    }

    async fn read(
        &mut self,
        world: &World,
        chat: String,
        after: Option<i64>,
    ) -> Result<Outcome<Page>> {
        let limit = self.rng.usize(1..50);
        let t0 = self.recorder.now();
        let service = self.rng.usize(..world.services());
        let session = world.chat(service, &chat);
        let read = match after {
            Some(after) => session.page(after, limit).await,
            None => session.newest(limit).await,
        };
        let outcome = outcome(read).map(|page| self::page(&page));
        if let Outcome::Ok(Page { messages, .. }) = &outcome
            && let Some(last) = messages.last()
        {
            self.last_seen.insert(chat.clone(), i64::try_from(last.sequence)?);
        }
        let read = Read { chat, after, outcome: outcome.clone() };
        self.recorder.record(t0, Operation::Read(read))?;
        Ok(outcome)
    }
}

fn page(page: &MessagePage) -> Page {
    let messages = page.messages.iter().map(|message| StoredMessage {
        sequence: message["sequence"].as_u64().unwrap_or(u64::MAX),
        event_id: message["event_id"].as_str().unwrap_or_default().to_owned(),
        hash: body::hash(message),
    });
    let (last_sequence, has_more) = (page.last_sequence, page.next_cursor.is_some());
    Page { last_sequence, has_more, messages: messages.collect() }
}

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::outcome;
use super::parcel::Parcel;
use super::world::World;
use crate::client::Append as Appended;
use crate::faults::history::{Answer, Append, Operation, Outcome, Placed, Recorder, Refusal};

/// Sends appends, one at a time, and records each attempt.
#[derive(Debug)]
pub(super) struct Sender {
    recorder: Recorder,
    rng: fastrand::Rng,
    /// The service it calls; it switches after each failure.
    service: usize,
}

/// Whether a parcel has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Acknowledged,
    GivenUp,
}

impl Sender {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        let service = recorder.client() as usize;
        Self { recorder, rng, service }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.recorder.finish()
    }

    /// Sends a parcel repeatedly until it is acknowledged. Sometimes it gives up earlier, so that some
    /// refused or unknown appends stay so.
    pub(super) async fn deliver(&mut self, world: &World, parcel: &Parcel) -> Result<Delivery> {
        loop {
            let given_up_percent = match self.send(world, parcel).await? {
                Outcome::Ok(()) => return Ok(Delivery::Acknowledged),
                Outcome::Fail(refusal) if is_for_good(&refusal) => return Ok(Delivery::GivenUp),
                Outcome::Fail(_) => 20,
                Outcome::Info(_) => 10,
            };
            if world.is_working() && self.rng.u8(..100) < given_up_percent {
                return Ok(Delivery::GivenUp);
            }
            self.service += 1;
            sleep(Duration::from_millis(self.rng.u64(50..150))).await;
        }
    }

    /// Sends a parcel once.
    async fn send(&mut self, world: &World, parcel: &Parcel) -> Result<Outcome<()>> {
        let t0 = self.recorder.now();
        let chat = world.chat(self.service, &parcel.chat);
        let outcome = answer(outcome(chat.append(&parcel.messages).await));
        let ended = match &outcome {
            Outcome::Ok(_) => Outcome::Ok(()),
            Outcome::Fail(refusal) => Outcome::Fail(refusal.clone()),
            Outcome::Info(refusal) => Outcome::Info(refusal.clone()),
        };
        let (chat, messages) = (parcel.chat.clone(), parcel.sent());
        self.recorder.record(t0, Operation::Append(Append { chat, messages, outcome }))?;
        if matches!(ended, Outcome::Ok(())) {
            world.progress().acknowledged();
        }
        Ok(ended)
    }
}

fn is_for_good(refusal: &Refusal) -> bool {
    refusal.status.is_some_and(|status| status < 500)
}

fn answer(outcome: Outcome<Appended>) -> Outcome<Answer> {
    outcome.map(|appended| {
        let placed = appended.messages.iter();
        let placed = placed.map(|it| Placed { sequence: it.sequence, duplicate: it.duplicate });
        Answer { last_sequence: appended.last_sequence, messages: placed.collect() }
    })
}

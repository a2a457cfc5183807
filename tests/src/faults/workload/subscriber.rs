use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep, sleep_until};

use super::outcome;
use super::world::{WORKFLOW, World};
use crate::client::{CallError, Event, Listening, Way};
use crate::faults::body;
use crate::faults::history::{
    Listen, Moment, Operation, Outcome, Recorder, Refusal, StoredMessage, Told,
};

/// Subscribes to a chat through any of the services, and reconnects with the id of the last event whenever
/// the stream ends, until it has everything.
#[derive(Debug)]
pub(super) struct Subscriber {
    recorder: Recorder,
    rng: fastrand::Rng,
    chat: String,
    way: Way,
    /// How long it stays, on average; `None`: as long as the stream lasts.
    stay: Option<Duration>,
    service: usize,
    /// The id of the last event that had one.
    id: Option<String>,
    /// The number of messages it has.
    held: u64,
    since: Moment,
    /// Received messages that are not recorded yet.
    told: Vec<Told>,
}

/// Why a subscription ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// All messages were received.
    WithAll,
    /// The subscriber left by itself.
    ForAWhile,
    /// The stream ended or broke.
    Broken,
}

/// The largest number of messages kept before they are recorded.
const KEPT: usize = 100;

impl Subscriber {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng, chat: &str, way: Way) -> Self {
        let (service, since) = (recorder.client() as usize, recorder.now());
        let (chat, told) = (chat.to_owned(), Vec::new());
        Self { recorder, rng, chat, way, stay: None, service, id: None, held: 0, since, told }
    }

    /// Leaves now and then by itself, after the given average time.
    pub(super) fn staying(self, stay: Duration) -> Self {
        Self { stay: Some(stay), ..self }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        loop {
            match self.listen(&world).await? {
                Leaving::WithAll => return self.recorder.finish(),
                Leaving::ForAWhile => {
                    sleep(Duration::from_millis(self.rng.u64(..500))).await;
                    self.since = self.recorder.now();
                }
                Leaving::Broken => sleep(Duration::from_millis(self.rng.u64(50..150))).await,
            }
            self.service += 1;
        }
    }

    /// Listens until one of the two sides ends it.
    async fn listen(&mut self, world: &World) -> Result<Leaving> {
        let mut begun = (self.recorder.now(), self.held);
        let left = self.stay.map(|stay| Instant::now() + stay.mul_f64(2.0 * self.rng.f64()));
        let chat = world.chat(self.service, &self.chat);
        let stream = Listening::begin(&chat, WORKFLOW, self.way, self.id.as_deref());
        let mut stream = match stream.await {
            Ok(stream) => stream,
            Err(error) => return self.broken(begun, outcome(Err(error))),
        };
        loop {
            let event = tokio::select! {
                biased;
                all = world.is_all(&self.chat, self.held) => {
                    all?;
                    self.write_down(begun, Outcome::Ok(()))?;
                    return Ok(Leaving::WithAll);
                }
                event = stream.next() => event,
                () = until(left) => {
                    self.write_down(begun, Outcome::Ok(()))?;
                    return Ok(Leaving::ForAWhile);
                }
            };
            match event {
                Ok(Some(event)) => self.take(event)?,
                Ok(None) => return self.broken(begun, Outcome::Info(ended())),
                Err(error) => return self.broken(begun, outcome(Err(error))),
            }
            if self.told.len() >= KEPT {
                self.write_down(begun, Outcome::Ok(()))?;
                begun = (self.recorder.now(), self.held);
            }
        }
    }

    fn take(&mut self, event: Event) -> Result<(), CallError> {
        if let Some(sequence) = event.new_sequence()? {
            let event_id = event.data["event_id"].as_str().unwrap_or_default().to_owned();
            let message = StoredMessage { sequence, event_id, hash: body::hash(&event.data) };
            self.told.push(Told { at: self.recorder.now(), message });
            self.held = sequence + 1;
        }
        if event.id.is_some() {
            self.id = event.id;
        }
        Ok(())
    }

    fn broken(&mut self, begun: (Moment, u64), outcome: Outcome<()>) -> Result<Leaving> {
        self.write_down(begun, outcome)?;
        Ok(Leaving::Broken)
    }

    /// Records the messages received since a moment with a known position.
    fn write_down(&mut self, (t0, held): (Moment, u64), outcome: Outcome<()>) -> Result<()> {
        let listen = Listen {
            chat: self.chat.clone(),
            after: i64::try_from(held)? - 1,
            since: self.since,
            told: std::mem::take(&mut self.told),
            outcome,
        };
        self.recorder.record(t0, Operation::Listen(listen))
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The service has ended the stream.
fn ended() -> Refusal {
    Refusal { code: "stream-ended".to_owned(), status: None, retry_after: None }
}

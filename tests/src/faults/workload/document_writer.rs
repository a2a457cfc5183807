use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::outcome;
use super::world::World;
use crate::client::{APP, CallError, Content, Precondition};
use crate::faults::history::{DocumentWrite, Operation, Outcome, Recorder, Writing};

/// Appends to logs, counts in a document that all count in, and puts and deletes a document of its own.
#[derive(Debug)]
pub(super) struct DocumentWriter {
    recorder: Recorder,
    rng: fastrand::Rng,
    /// The service it calls; it switches after each failure.
    service: usize,
    written: u64,
}

/// The namespace of all documents of a trial.
pub(crate) const NAMESPACE: &str = "torture";
const LOGS: usize = 2;
/// The average pause between two writes. A log remembers 64 appends, which is many times more than follow one another while a
/// request is repeated.
const REST_MS: u64 = 60;
/// More than a part of a document holds.
const LARGE: usize = 400_000;

/// A request to a document.
struct Request<'a> {
    method: Method,
    path: &'a str,
    content: String,
    precondition: Precondition,
}

impl DocumentWriter {
    pub(super) fn new(recorder: Recorder, rng: fastrand::Rng) -> Self {
        let service = recorder.client() as usize;
        Self { recorder, rng, service, written: 0 }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            match self.rng.u8(..10) {
                0..5 => self.append(&world).await?,
                5..8 => self.count(&world).await?,
                _ => self.replace(&world).await?,
            }
            sleep(Duration::from_millis(self.rng.u64(..2 * REST_MS))).await;
        }
        self.recorder.finish()
    }

    fn mint(&mut self) -> String {
        self.written += 1;
        format!("{}-{}", self.recorder.client(), self.written)
    }

    async fn append(&mut self, world: &World) -> Result<()> {
        let id = self.mint();
        let path = format!("{NAMESPACE}/log-{}", self.rng.usize(..LOGS));
        let line = format!("{id} {}", "x".repeat(self.rng.usize(20..4_000)));
        let request = Request {
            method: Method::POST,
            path: &path,
            content: format!("{line}\n"),
            precondition: Precondition::Key(format!("line-{id}")),
        };
        self.deliver(world, &request, &Writing::Append { line }).await
    }

    async fn count(&mut self, world: &World) -> Result<()> {
        let path = format!("{NAMESPACE}/count");
        let Some(found) = self.read(world, &path).await else { return Ok(()) };
        let counted: Value = found.as_ref().map_or_else(|| json!({ "number": 0 }), Content::json);
        let number = counted["number"].as_u64().unwrap_or(0) + 1;
        let request = Request {
            method: Method::PUT,
            path: &path,
            // No other client writes the same content, which would count as the same write.
            content: json!({ "number": number, "by": self.mint() }).to_string(),
            precondition: precondition(found),
        };
        self.deliver(world, &request, &Writing::Count { number }).await
    }

    async fn replace(&mut self, world: &World) -> Result<()> {
        let path = format!("{NAMESPACE}/own-{}", self.recorder.client());
        let Some(found) = self.read(world, &path).await else { return Ok(()) };
        let deletes = found.is_some() && self.rng.u8(..4) == 0;
        let (method, content, writing) = if deletes {
            (Method::DELETE, String::new(), Writing::Delete)
        } else {
            let id = self.mint();
            let bytes = if self.rng.u8(..3) == 0 { LARGE } else { 500 };
            (Method::PUT, format!("{id} {}", "y".repeat(bytes)), Writing::Put { id })
        };
        let request = Request { method, path: &path, content, precondition: precondition(found) };
        self.deliver(world, &request, &writing).await
    }

    /// Reads a document; `None` if that failed.
    async fn read(&mut self, world: &World, path: &str) -> Option<Option<Content>> {
        if let Ok(found) = world.client(self.service).document(APP, path).await {
            return Some(found);
        }
        self.service += 1;
        None
    }

    /// Sends a write repeatedly until its outcome is known. Sometimes it gives up earlier.
    async fn deliver(
        &mut self,
        world: &World,
        request: &Request<'_>,
        write: &Writing,
    ) -> Result<()> {
        loop {
            let t0 = self.recorder.now();
            let Request { method, path, content, precondition } = request;
            let client = world.client(self.service);
            let sent = client.write_document(method.clone(), APP, path, content, precondition);
            let sent = sent.await;
            // Another write came between, or an attempt before this one was applied.
            if matches!(&sent, Err(CallError::Refused(problem)) if problem.status == 412) {
                return Ok(());
            }
            let outcome = outcome(sent).map(|answer| answer["offset"].as_u64().unwrap_or(0));
            let is_done = matches!(outcome, Outcome::Ok(_));
            let (path, write) = ((*path).to_owned(), write.clone());
            self.recorder
                .record(t0, Operation::Document(DocumentWrite { path, write, outcome }))?;
            if is_done || (world.is_working() && self.rng.u8(..100) < 10) {
                return Ok(());
            }
            self.service += 1;
            sleep(Duration::from_millis(self.rng.u64(50..150))).await;
        }
    }
}

/// Lets a write depend on what was read.
fn precondition(found: Option<Content>) -> Precondition {
    found.map_or(Precondition::Missing, |content| Precondition::Tag(content.entity_tag))
}

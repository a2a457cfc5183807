//! Sixteen writers in one chat, which never give up and often repeat messages.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tests::client::{Append, Appended, Client};
use tests::database::Database;
use tests::waiting::{MAX_WAIT, until, within};
use tokio::sync::watch;

/// The workflow that the chat of a crowd belongs to.
pub(crate) const WORKFLOW: &str = "Crowd";

/// Writers in a crowd.
pub(crate) const WRITERS: usize = 16;

/// The longest time for a crowd.
const CROWD_PATIENCE: Duration = Duration::from_mins(15);

/// Sixteen writers in one chat.
pub(crate) struct Crowd {
    chat_id: String,
    messages: usize,
    /// The current client of each service.
    services: Vec<watch::Receiver<Client>>,
    progress: Progress,
}

/// The progress of the writers.
#[derive(Default)]
struct Progress {
    acknowledged: watch::Sender<usize>,
    disappointed: watch::Sender<usize>,
}

/// The sequence of each event.
pub(crate) type Acknowledged = BTreeMap<u64, String>;

impl Crowd {
    /// Creates writers that together write the given number of messages to a new chat.
    pub(crate) async fn gather(
        messages: usize,
        services: Vec<watch::Receiver<Client>>,
    ) -> Result<Self> {
        let client = services[0].borrow().clone();
        let chat_id = client.create_chat(WORKFLOW).await?.id().to_owned();
        Ok(Self { chat_id, messages, services, progress: Progress::default() })
    }

    /// The chat they write to.
    pub(crate) fn chat_id(&self) -> &str {
        &self.chat_id
    }

    /// Lets them write everything, and returns the results.
    pub(crate) async fn write(&self) -> Result<Acknowledged> {
        let writers = (0..WRITERS).map(|writer| self.write_as(writer));
        let told = within(CROWD_PATIENCE, "the writers", try_join_all(writers)).await??;
        let acknowledged: Acknowledged = told.into_iter().flatten().collect();
        ensure!(acknowledged.len() == self.messages, "two messages were given one sequence");
        Ok(acknowledged)
    }

    /// Waits until the given number of messages was acknowledged.
    pub(crate) async fn has_written(&self, messages: usize) -> Result<()> {
        let mut acknowledged = self.progress.acknowledged.subscribe();
        let enough = acknowledged.wait_for(|count| *count >= messages);
        within(CROWD_PATIENCE, "the writers to get on", enough).await??;
        Ok(())
    }

    /// Waits until a writer gets another failure.
    pub(crate) async fn is_disappointed(&self) -> Result<()> {
        let mut disappointed = self.progress.disappointed.subscribe();
        disappointed.mark_unchanged();
        within(MAX_WAIT, "a writer to meet the failure", disappointed.changed()).await??;
        Ok(())
    }

    async fn write_as(&self, writer: usize) -> Result<Vec<(u64, String)>> {
        let mut told = Vec::new();
        for (turn, number) in (writer..self.messages).step_by(WRITERS).enumerate() {
            let sequence = self.write_once_or_twice(turn, number).await?;
            told.push((sequence, event_id(number)));
            self.progress.acknowledged.send_modify(|count| *count += 1);
        }
        let (first, _) = told.first().context("there are fewer messages than writers")?;
        let long_after = self.send_again(writer).await?;
        ensure!(long_after.duplicate && long_after.sequence == *first, "{long_after:?}");
        Ok(told)
    }

    /// Repeats every tenth request, half of them while the first is still running.
    async fn write_once_or_twice(&self, turn: usize, number: usize) -> Result<u64> {
        let (first, again) = match turn % 20 {
            4 => tokio::try_join!(self.send(number), self.send_again(number))?,
            14 => {
                let first = self.send(number).await?;
                let again = self.send_again(number).await?;
                ensure!(again.duplicate, "a repeat was stored again: {again:?}");
                (first, again)
            }
            _ => return Ok(self.send(number).await?.sequence),
        };
        ensure!(first.sequence == again.sequence, "{first:?} became {again:?}");
        ensure!(first.duplicate || again.duplicate, "{first:?} was stored twice");
        Ok(first.sequence)
    }

    async fn send(&self, number: usize) -> Result<Appended> {
        self.send_to(&self.services[number % self.services.len()], number).await
    }

    /// Sends a message again, to another service if there are several.
    async fn send_again(&self, number: usize) -> Result<Appended> {
        self.send_to(&self.services[(number + 1) % self.services.len()], number).await
    }

    /// Sends a message until it is acknowledged.
    async fn send_to(&self, service: &watch::Receiver<Client>, number: usize) -> Result<Appended> {
        let message = message(number);
        until("a message to be taken", async || {
            let chat = service.borrow().chat(&self.chat_id);
            match chat.append(std::slice::from_ref(&message)).await {
                Ok(append) => only(append).map(Some),
                Err(error) if error.may_pass() => {
                    self.progress.disappointed.send_modify(|count| *count += 1);
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Checks that every acknowledged message is stored once, at its sequence, and nothing else:
    /// as the service returns it page by page, and as the database stores it.
    pub(crate) async fn check(
        &self,
        database: &Database,
        acknowledged: &Acknowledged,
    ) -> Result<()> {
        let sequences = acknowledged.keys().copied();
        ensure!(sequences.eq(0..self.messages as u64), "the sequences are not dense");
        let event_ids: Vec<&String> = acknowledged.values().collect();

        let stored = database.stored_event_ids(&self.chat_id).await?;
        ensure!(stored.iter().eq(event_ids.iter().copied()), "the documents tell another story");

        let client = self.services[0].borrow().clone();
        let read = client.chat(&self.chat_id).messages().await?;
        ensure!(read.len() == self.messages, "{} messages were read", read.len());
        for ((index, read), event_id) in (0_u64..).zip(&read).zip(event_ids) {
            let number = event_id.trim_start_matches("evt-").parse()?;
            let Value::Object(mut expected) = message(number) else { continue };
            expected.insert("sequence".to_owned(), index.into());
            for (field, value) in expected {
                ensure!(read[&field] == value, "{field} of message {index} is {}", read[&field]);
            }
        }
        Ok(())
    }
}

fn event_id(number: usize) -> String {
    format!("evt-{number}")
}

fn message(number: usize) -> Value {
    json!({
        "event_id": event_id(number),
        "role": "assistant",
        "name": format!("writer_{}", number % WRITERS),
        "content": format!("message {number}"),
    })
}

fn only(append: Append) -> Result<Appended> {
    let [appended] = <[Appended; 1]>::try_from(append.messages)
        .map_err(|all| anyhow::anyhow!("one message was sent, {} were answered", all.len()))?;
    Ok(appended)
}

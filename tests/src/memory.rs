//! How much memory a service takes to store and read a chat that is larger than it should hold.

mod conversation;
mod reading;
mod report;
mod resident;

pub use report::{Phase, Report};

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use indicatif::ProgressBar;
use tokio::time::Instant;

use crate::client::Chat;
use crate::database::Database;
use crate::service::Service;
use crate::settings::Settings;
use conversation::Conversation;
use reading::{Count, JSON, NDJSON, Pace, Reader};
use resident::Resident;

/// How much is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Megabytes of message contents.
    pub megabytes: usize,
}

/// Who append at the same time.
const WRITERS: usize = 4;
/// Who read at the same time, in the end.
const READERS: usize = 4;
/// What a slow reader accepts in a millisecond.
const SLOW_BYTES: usize = 20_000;

/// Starts a service on the mongod at `uri`, fills one chat, reads it in every way, and watches the
/// memory of the service.
pub async fn measure(uri: &str, plan: Plan, progress: &ProgressBar) -> Result<Report> {
    let database = Database::on(uri).await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let chat = service.client()?.create_chat("Memory").await?;
    let reader = Reader::new(service.url(), chat.id())?;
    let conversation = Conversation::of_megabytes(plan.megabytes);
    let resident = Resident::of(service.pid()?);
    let idle_mb = resident.now()?;
    let mut stage = Stage { resident, progress, phases: Vec::new() };

    stage.append(&chat, &conversation).await?;
    stage.watch("every page of messages", reader.pages(conversation.messages())).await?;
    for (dialect, messages) in conversation.rendered() {
        let (whole, windowed) =
            (format!("dialect={dialect}"), format!("dialect={dialect}&newest={}", usize::MAX));
        let ways = [
            ("JSON", &whole, JSON, Pace::Full),
            ("lines", &whole, NDJSON, Pace::Full),
            ("newest", &windowed, JSON, Pace::Full),
            ("slow", &whole, JSON, Pace::BytesPerMillisecond(SLOW_BYTES)),
        ];
        for (way, query, media_type, pace) in ways {
            let read = reader.history(query, media_type, pace, messages);
            stage.watch(&format!("history, {dialect}, {way}"), read).await?;
        }
        let reads = (0..READERS).map(|_| reader.history(&whole, JSON, Pace::Full, messages));
        let read = async { Ok(try_join_all(reads).await?.into_iter().sum()) };
        stage.watch(&format!("history, {dialect}, {READERS} at once"), read).await?;
    }
    let phases = stage.phases;
    service.stop().await?;
    Ok(Report { messages: conversation.messages(), idle_mb, phases })
}

/// Watches the service through the phases.
struct Stage<'a> {
    resident: Resident,
    progress: &'a ProgressBar,
    phases: Vec<Phase>,
}

impl Stage<'_> {
    /// Has several writers append the conversation, each its share.
    async fn append(&mut self, chat: &Chat, conversation: &Conversation) -> Result<()> {
        let progress = self.progress.clone();
        let writers = (0..WRITERS).map(async |writer| {
            let mut bytes = 0;
            for batch in conversation.batches().skip(writer).step_by(WRITERS) {
                let append = chat.append(&batch.messages).await?;
                ensure!(append.messages.len() == batch.messages.len(), "a message was skipped");
                bytes += batch.bytes;
                progress.inc(batch.bytes as u64);
            }
            Ok(Count { bytes, messages: 0 })
        });
        let append = async { Ok(try_join_all(writers).await?.into_iter().sum()) };
        self.watch(&format!("append, {WRITERS} writers"), append).await
    }

    /// Watches the service while something is asked of it.
    async fn watch(
        &mut self,
        what: &str,
        asked: impl Future<Output = Result<Count>>,
    ) -> Result<()> {
        self.progress.set_message(what.to_owned());
        let started = Instant::now();
        let (count, memory) = self.resident.during(asked).await?;
        self.phases.push(Phase {
            what: what.to_owned(),
            megabytes: count.bytes / 1_000_000,
            seconds: started.elapsed().as_secs_f64(),
            memory,
        });
        Ok(())
    }
}

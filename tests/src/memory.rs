//! The memory that a service needs to store and read a chat that is larger than its memory should be.

mod conversation;
mod imports;
mod plans;
mod reading;
mod report;
mod reported;
mod resident;
mod watch;

pub use imports::{Imports, ImportsReport, Run, imported};
pub use plans::{PlansAtOnce, PlansReport, SmallRequests, plans_at_once};
pub use report::{Phase, Report};
pub use reported::reported;
pub use resident::Memory;
pub use watch::{Watched, watch};

use anyhow::Result;
use futures::future::try_join_all;
use indicatif::ProgressBar;
use tokio::time::Instant;

use crate::database::Database;
use crate::service::Service;
use crate::settings::Settings;
use conversation::Conversation;
use reading::{Chat, Count, JSON, NDJSON, Pace};
use resident::Resident;

/// The size of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Megabytes of message contents.
    pub megabytes: usize,
}

/// Writers at the same time.
const WRITERS: usize = 4;
/// Readers at the same time, in the last phase.
const READERS: usize = 4;
/// Bytes that a slow reader accepts in a millisecond.
const SLOW_BYTES: usize = 20_000;

/// Fills a chat on the mongod at `uri`, reads it in every way, and measures the memory of the service,
/// which is restarted for each phase.
pub async fn measure(uri: &str, plan: Plan, progress: &ProgressBar) -> Result<Report> {
    let database = Database::on(uri).await?;
    let conversation = Conversation::of_megabytes(plan.megabytes);
    let settings = Settings::of(&database);
    let chat_id = create_chat(&settings).await?;
    let mut stage = Stage { settings, chat_id, progress, phases: Vec::new() };

    let what = format!("append, {WRITERS} writers");
    stage.watch(&what, async |chat| append(chat, &conversation, progress).await).await?;
    let messages = conversation.messages();
    stage.watch("every page of messages", async |chat| chat.pages(messages).await).await?;
    for (dialect, rendered) in conversation.rendered() {
        stage.replay(dialect, rendered).await?;
    }
    Ok(Report { messages, phases: stage.phases })
}

async fn create_chat(settings: &Settings) -> Result<String> {
    let service = Service::start(settings).await?;
    let chat = service.client()?.create_chat("Memory").await?;
    service.stop().await?;
    Ok(chat.id().to_owned())
}

/// Appends the conversation with several writers, each with its share.
async fn append(chat: &Chat, conversation: &Conversation, progress: &ProgressBar) -> Result<Count> {
    let writers = (0..WRITERS).map(async |writer| {
        let mut bytes = 0;
        for batch in conversation.batches().skip(writer).step_by(WRITERS) {
            chat.append(&batch.messages).await?;
            bytes += batch.bytes;
            progress.inc(batch.bytes as u64);
        }
        Ok::<_, anyhow::Error>(Count { bytes, messages: 0 })
    });
    Ok(try_join_all(writers).await?.into_iter().sum())
}

/// Measures services through the phases.
struct Stage<'a> {
    settings: Settings,
    chat_id: String,
    progress: &'a ProgressBar,
    phases: Vec<Phase>,
}

impl Stage<'_> {
    /// Reads the history in a dialect, in every way; it must have the given number of messages.
    async fn replay(&mut self, dialect: &str, messages: usize) -> Result<()> {
        let whole = format!("dialect={dialect}");
        let windowed = format!("{whole}&newest={}", usize::MAX);
        let ways = [
            ("JSON", &whole, JSON, Pace::Full),
            ("lines", &whole, NDJSON, Pace::Full),
            ("newest", &windowed, JSON, Pace::Full),
            ("slow", &whole, JSON, Pace::BytesPerMillisecond(SLOW_BYTES)),
        ];
        for (way, query, media_type, pace) in ways {
            let read = async |chat: &Chat| chat.history(query, media_type, pace, messages).await;
            self.watch(&format!("history, {dialect}, {way}"), read).await?;
        }
        let read = async |chat: &Chat| {
            let reads = (0..READERS).map(|_| chat.history(&whole, JSON, Pace::Full, messages));
            Ok(try_join_all(reads).await?.into_iter().sum())
        };
        self.watch(&format!("history, {dialect}, {READERS} at once"), read).await
    }

    /// Starts a service, and measures it during requests.
    async fn watch(
        &mut self,
        what: &str,
        ask: impl AsyncFnOnce(&Chat) -> Result<Count>,
    ) -> Result<()> {
        self.progress.set_message(what.to_owned());
        let service = Service::start(&self.settings).await?;
        let chat = Chat::of(&service, &self.chat_id)?;
        let started = Instant::now();
        let (count, memory) = Resident::of(service.pid()?).during(ask(&chat)).await?;
        self.phases.push(Phase {
            what: what.to_owned(),
            megabytes: count.bytes / 1_000_000,
            seconds: started.elapsed().as_secs_f64(),
            memory,
        });
        service.stop().await
    }
}

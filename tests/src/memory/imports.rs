use std::fmt::{self, Display};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt as _;
use indicatif::ProgressBar;
use mongodb::bson::{Document, doc};
use rustix::process::Signal;
use serde::Serialize;
use serde_json::json;
use tokio::process::Child;
use tokio::time::{Instant, sleep};

use super::resident::Resident;
use crate::binary::command;
use crate::client::APP;
use crate::database::Database;
use crate::settings::Settings;
use crate::signal::send;

/// The chats of an import.
#[derive(Clone, Copy, Debug)]
pub struct Imports {
    /// How many chats.
    pub chats: u64,
    /// The messages of each.
    pub messages: u64,
}

/// What an import needed that was killed halfway and begun again, and the check after it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ImportsReport {
    /// The messages of all chats.
    pub messages: u64,
    /// The messages that were stored when the first import was killed.
    pub stored_at_kill: u64,
    /// The import that was begun again: it reads everything, and stores the rest.
    pub import: Run,
    /// Messages that this import stored in a second.
    pub messages_per_second: f64,
    /// `reprise check --deep`.
    pub check: Run,
}

/// A command that ran to its end.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The peak of its resident set, in megabytes.
    pub peak_mb: f64,
}

/// The pause between two looks at a process or at the database.
const INTERVAL: Duration = Duration::from_millis(50);

/// Imports chats, kills the import when half of them are stored, begins it again, and checks the database.
///
/// Fails if a message is missing or stored twice, if the import warns of anything, or if the check finds anything.
pub async fn imported(uri: &str, plan: Imports, progress: &ProgressBar) -> Result<ImportsReport> {
    let database = Database::on(uri).await?;
    let settings = Settings::of(&database);
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("chats.jsonl");
    plan.write(&file)?;
    let file = file.to_str().context("the path is no text")?;
    let import = ["import", "messages", file, "--app", APP, "--dialect", "openai"];
    let messages = plan.chats * plan.messages;

    progress.set_message("import until it is killed");
    let mut first = start(&import, &settings, Stdio::null()).await?;
    while stored(&database).await? < messages / 2 {
        ensure!(first.try_wait()?.is_none(), "the import has ended before it was killed");
        sleep(INTERVAL).await;
    }
    send(&first, Signal::KILL)?;
    first.wait_with_output().await?;
    let stored_at_kill = stored(&database).await?;

    progress.set_message("import of the rest");
    let import = watched(start(&import, &settings, Stdio::piped()).await?).await?;
    plan.compare(&database).await?;

    progress.set_message("check");
    let check = watched(start(&["check", "--deep"], &settings, Stdio::piped()).await?).await?;
    let rest = u32::try_from(messages - stored_at_kill)?;
    let messages_per_second = f64::from(rest) / import.seconds;
    Ok(ImportsReport { messages, stored_at_kill, import, messages_per_second, check })
}

impl Imports {
    /// Writes the chats, one a line; a message has some 200 bytes.
    fn write(self, file: &Path) -> Result<()> {
        let mut file = BufWriter::new(File::create(file)?);
        let roles = ["user", "assistant"];
        for chat in 0..self.chats {
            let message = |number: u64| {
                let content = format!("{number} of {chat}, ").repeat(12);
                json!({"role": roles[usize::from(number % 2 == 1)], "content": content})
            };
            let messages: Vec<_> = (0..self.messages).map(message).collect();
            let line = json!({"chat_id": format!("chat_{chat}"), "messages": messages});
            writeln!(file, "{line}")?;
        }
        Ok(file.flush()?)
    }

    /// Checks that every chat has each of its messages once.
    async fn compare(self, database: &Database) -> Result<()> {
        let sessions = database.raw().collection::<Document>("chat_sessions");
        let whole = i64::try_from(self.messages)?;
        let wrong = sessions.count_documents(doc! { "last_sequence": { "$ne": whole } }).await?;
        let chats = sessions.count_documents(doc! {}).await?;
        ensure!(chats == self.chats, "{chats} of {} chats are stored", self.chats);
        ensure!(wrong == 0, "{wrong} chats do not have {whole} messages");
        Ok(())
    }
}

/// Counts the messages that are stored.
async fn stored(database: &Database) -> Result<u64> {
    let sum = doc! { "$group": { "_id": null, "messages": { "$sum": "$last_sequence" } } };
    let sessions = database.raw().collection::<Document>("chat_sessions");
    let found: Vec<Document> = sessions.aggregate([sum]).await?.try_collect().await?;
    let count = found.first().and_then(|sum| sum.get("messages"));
    let count = count.and_then(|it| it.as_i64().or_else(|| it.as_i32().map(i64::from)));
    Ok(u64::try_from(count.unwrap_or_default())?)
}

async fn start(arguments: &[&str], settings: &Settings, stderr: Stdio) -> Result<Child> {
    let mut command = command(arguments).await?;
    settings.apply(&mut command);
    Ok(command.stdout(Stdio::null()).stderr(stderr).spawn()?)
}

/// Waits for a process that succeeds and warns of nothing, and looks at its memory until it ends.
async fn watched(child: Child) -> Result<Run> {
    let (begun, mut peak_mb) = (Instant::now(), 0.0);
    let resident = Resident::of(child.id().context("the process has ended")?);
    let mut output = pin!(child.wait_with_output());
    let output = loop {
        // A process that is about to end has no memory any more.
        peak_mb = resident.peak().unwrap_or(peak_mb);
        tokio::select! {
            output = &mut output => break output?,
            () = sleep(INTERVAL) => {}
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or_default();
    ensure!(output.status.success() && said.is_empty(), "{}: {first}", output.status);
    Ok(Run { seconds: begun.elapsed().as_secs_f64(), peak_mb })
}

impl Display for ImportsReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, stored_at_kill, import, messages_per_second, check } = self;
        writeln!(out, "{messages} messages; the first import was killed at {stored_at_kill}")?;
        writeln!(
            out,
            "the second stored the rest in {import}: {messages_per_second:.0} messages a second"
        )?;
        writeln!(out, "check --deep found nothing in {check}")
    }
}

impl Display for Run {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.1} s with a peak of {:.0} MB", self.seconds, self.peak_mb)
    }
}

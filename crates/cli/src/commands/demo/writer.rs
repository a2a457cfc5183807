use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use persistence::mongo::MongoStore;
use persistence::{Contexts, Messages, Outcome};
use records::{ChatId, EventId, NewMessage};
use secrecy::ExposeSecret;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{Stage, Transcript, scope};
use crate::backend::mongo_options;
use crate::settings::Settings;

/// A writer in its own process, which prints a word for each acknowledged message.
pub(super) struct Writer {
    child: Child,
    pid: u32,
    acknowledgements: Lines<BufReader<ChildStdout>>,
}

const STORED: &str = "stored";
const DUPLICATE: &str = "duplicate";

impl Writer {
    /// Starts a writer that appends the messages from `first` on.
    pub(super) fn start(stage: &Stage<'_>, chat_id: &ChatId, first: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("demo").args(&stage.arguments.transcript);
        command.args(["--pace-ms", &stage.arguments.pace_ms.to_string()]);
        command.args(["--write", chat_id.as_str(), &first.to_string()]);
        // In the environment, where other users cannot read it.
        command.env("REPRISE__MONGO__URI", stage.uri.expose_secret());
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let pid = child.id().context("the writer ended at once")?;
        let stdout = child.stdout.take().context("the writer has no output")?;
        Ok(Self { child, pid, acknowledgements: BufReader::new(stdout).lines() })
    }

    /// Waits for the next acknowledgement, and returns whether the message was already stored.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<bool>> {
        let line = self.acknowledgements.next_line().await?;
        Ok(line.map(|line| line == DUPLICATE))
    }

    /// Kills it as a crash would.
    pub(super) async fn kill(mut self) -> anyhow::Result<u32> {
        self.child.kill().await?;
        Ok(self.pid)
    }

    /// Waits until the process exits.
    pub(super) async fn wait(mut self) -> anyhow::Result<u32> {
        let status = self.child.wait().await?;
        ensure!(status.success(), "the second writer failed: {status}");
        Ok(self.pid)
    }
}

/// Runs as the writer: appends messages one by one, and saves its progress in a snapshot.
pub(super) async fn write(
    settings: &Settings,
    transcript: &Transcript,
    chat: &str,
    first: usize,
    pace_ms: u64,
) -> anyhow::Result<()> {
    let uri = settings.mongo.uri.clone().context("the writer needs mongo.uri")?;
    let store = MongoStore::connect(&mongo_options(settings, uri)?).await?;
    let (scope, chat_id) = (scope()?, ChatId::parse(chat)?);
    for (index, body) in transcript.messages.iter().enumerate().skip(first) {
        // The id is derived from the position, so that the store recognises a repeated message.
        let event_id = Some(EventId::parse(format!("demo-{index}"))?);
        let message = NewMessage { event_id, ..body.clone().into() };
        let append = store.append(&scope, &chat_id, vec![message]).await?;
        let snapshot = json!({ "written": index + 1, "last_speaker": body.name });
        if let serde_json::Value::Object(snapshot) = snapshot {
            store.update_context_snapshot(&scope, &chat_id, snapshot).await?;
        }
        let is_duplicate =
            append.messages.iter().any(|message| message.outcome == Outcome::Duplicate);
        let mut out = std::io::stdout();
        writeln!(out, "{}", if is_duplicate { DUPLICATE } else { STORED })?;
        out.flush()?;
        tokio::time::sleep(Duration::from_millis(pace_ms)).await;
    }
    Ok(())
}

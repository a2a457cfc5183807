//! The demo: a writer is killed half way, and a second writer continues the workflow. Or a database full of chats to look at.

mod keep;
mod stories;
mod transcript;
mod writer;

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use futures::TryStreamExt;
use local_mongod::LocalMongod;
use persistence::mongo::MongoStore;
use persistence::{ChatSessions, Contexts, Messages};
use records::{AppId, ChatId, ChatStatus, Message, NewChatSession, Scope, WorkflowName};
use resume::dialect;
use secrecy::SecretString;

use super::serve;
use crate::backend::{mongo_options, mongod_options};
use crate::output::stdout;
use crate::settings::Settings;
use transcript::Transcript;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  reprise demo\n  reprise demo my-transcript.jsonl\n  reprise demo --keep\n\nA file \
                        holds one message a line ({\"role\", \"name\", \"content\"}), or one \
                        conversation a line in \"history\" or \"messages\", of which the first is \
                        played."
)]
pub(crate) struct Arguments {
    /// A transcript to play instead of the built-in one.
    transcript: Option<PathBuf>,
    /// Milliseconds between messages.
    #[arg(long, default_value_t = 40, value_name = "MS")]
    pace_ms: u64,
    /// Instead, fill the app `demo` with 96 chats of the last week, and serve the page that shows them. Keeps the data.
    #[arg(long, conflicts_with = "transcript")]
    keep: bool,
    /// Run as the writer: append the messages from this one on to the chat.
    #[arg(long, hide = true, num_args = 2, value_names = ["CHAT", "FIRST"])]
    write: Option<Vec<String>>,
}

/// Messages that the second writer repeats, because it does not know whether they were stored.
const REPEATED: usize = 2;

/// Plays the demo; the exit code is 0 if no message is missing.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    if arguments.keep {
        keep::fill(settings).await?;
        return serve::run(settings, show_chats).await.map(|()| ExitCode::SUCCESS);
    }
    let transcript = Transcript::load(arguments.transcript.as_deref())?;
    if let Some([chat, first]) = arguments.write.as_deref() {
        writer::write(settings, &transcript, chat, first.parse()?, arguments.pace_ms).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let total = transcript.messages.len();
    ensure!(total >= 4, "a transcript of {total} messages is too short to be cut in half");
    let (uri, mongod) = if let Some(uri) = &settings.mongo.uri {
        (uri.clone(), None)
    } else {
        let mongod = LocalMongod::start(mongod_options(settings)).await?;
        (mongod.uri_with_credentials(), Some(mongod))
    };
    let store = MongoStore::connect(&mongo_options(settings, uri.clone())?).await?;
    let stage = Stage { store, uri, transcript, arguments };
    let is_whole = stage.play().await;
    if let Some(mongod) = mongod {
        mongod.stop().await;
    }
    Ok(if is_whole? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says where the chats are, and opens the page on a terminal.
fn show_chats(listening: SocketAddr) -> anyhow::Result<()> {
    let page = format!("http://{listening}/dashboard#/apps/demo/chats");
    say(format_args!("the chats are at {page}"))?;
    if std::io::stdout().is_terminal()
        && let Err(error) = open::that_detached(page)
    {
        // The address was printed.
        tracing::debug!(%error, "cannot open a browser");
    }
    Ok(())
}

/// What the steps of the demo share.
struct Stage<'a> {
    store: MongoStore,
    uri: SecretString,
    transcript: Transcript,
    arguments: &'a Arguments,
}

impl Stage<'_> {
    async fn play(&self) -> anyhow::Result<bool> {
        let total = self.transcript.messages.len();
        let scope = scope()?;
        let new = NewChatSession::of(WorkflowName::parse("Demo")?);
        let chat_id = self.store.create_chat(&scope, new).await?.chat_id;
        say(format_args!("chat {chat_id}, {total} messages from {}\n", self.transcript.source))?;

        let acknowledged = self.write_until_killed(&chat_id, total / 2).await?;
        self.show_what_is_there(&scope, &chat_id).await?;
        let first = acknowledged.saturating_sub(REPEATED);
        self.write_the_rest(&chat_id, first).await?;
        self.store.set_status(&scope, &chat_id, ChatStatus::Completed, None).await?;
        self.show_what_came_back(&scope, &chat_id).await
    }

    async fn write_until_killed(&self, chat_id: &ChatId, stop: usize) -> anyhow::Result<usize> {
        let mut writer = writer::Writer::start(self, chat_id, 0)?;
        let mut acknowledged = 0;
        while acknowledged < stop && writer.next().await?.is_some() {
            acknowledged += 1;
        }
        let pid = writer.kill().await?;
        say(format_args!("writer {pid} stored {acknowledged} messages, then: kill -9\n"))?;
        Ok(acknowledged)
    }

    async fn show_what_is_there(&self, scope: &Scope, chat_id: &ChatId) -> anyhow::Result<()> {
        let chat = self.store.get_chat(scope, chat_id).await?.context("the chat is gone")?;
        let context = self.store.load_context_snapshot(scope, chat_id).await?;
        let variables = serde_json::Value::Object(context.data);
        say(format_args!("a new orchestrator starts and finds"))?;
        say(format_args!("  status             {}", chat.status))?;
        say(format_args!("  messages           {}", chat.last_sequence))?;
        say(format_args!("  context snapshot   {variables}, taken at {}\n", context.sequence))
    }

    async fn write_the_rest(&self, chat_id: &ChatId, first: usize) -> anyhow::Result<()> {
        let mut writer = writer::Writer::start(self, chat_id, first)?;
        let (mut stored, mut repeated) = (0, 0);
        while let Some(is_duplicate) = writer.next().await? {
            *(if is_duplicate { &mut repeated } else { &mut stored }) += 1;
        }
        let pid = writer.wait().await?;
        say(format_args!(
            "writer {pid} continued from message {first}: {repeated} were already stored and kept \
             their sequence, {stored} were stored\n"
        ))
    }

    async fn show_what_came_back(&self, scope: &Scope, chat_id: &ChatId) -> anyhow::Result<bool> {
        let messages: Vec<Message> = self.store.history(scope, chat_id).try_collect().await?;
        let ag2 = dialect::named("ag2").context("the dialect ag2 is gone")?;
        let rendered = ag2.render(messages.clone(), &resume::Options::default());
        for (sequence, message) in rendered.messages.iter().enumerate() {
            let text = |field: &str| one_line(&message[field]);
            say(format_args!("{sequence:>4}  {:<20.20}  {:.52}", text("name"), text("content")))?;
        }
        let played = self.transcript.messages.iter();
        let is_whole = messages.len() == played.len()
            && messages.iter().zip(played).enumerate().all(|(index, (stored, played))| {
                stored.sequence == index as u64 && stored.body == *played
            });
        let verdict = if is_whole {
            "every message is there once, in order, as it was written"
        } else {
            "MESSAGES ARE MISSING, DUPLICATED OR CHANGED"
        };
        say(format_args!(
            "\n{} stored, {} resumed, {} left out by the strict form: {verdict}",
            messages.len(),
            rendered.messages.len(),
            rendered.dropped.len()
        ))?;
        Ok(is_whole)
    }
}

fn scope() -> anyhow::Result<Scope> {
    Ok(Scope::service(AppId::parse("demo")?))
}

/// Control characters in a transcript must not reach the terminal.
fn one_line(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn say(line: std::fmt::Arguments<'_>) -> anyhow::Result<()> {
    Ok(writeln!(stdout(), "{line}")?)
}

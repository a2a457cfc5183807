use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use indicatif::ProgressBar;
use persistence::mongo::MongoStore;
use persistence::{
    AuditLog as _, ChatFilter, ChatSessions as _, Direction, Messages as _, StoreError,
    ToolRunFilter, ToolRuns as _,
};
use records::{
    Actor, AppId, AuditAction, ChatId, ChatSession, Clock as _, JsonObject, Lifecycle, Scope,
    SystemClock,
};
use serde::Serialize;
use transfer::jsonl::{
    COMPRESSED, INDEX, INDEX_BACKUP, SessionTimes, file_of, index_key, is_file_of_tools,
    tools_file_of, write_entry, write_line, write_tool_line,
};

use super::new_file::{NewFile, remove};
use crate::backend::{Backend, expect_app};
use crate::commands::import::read_index;
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;
use crate::time_argument::time;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The layout holds the messages and the runs of tools of chats that are not purged, without deleted messages; the \
                        numbers say how many are left out. Each file is replaced as a whole, and the index at the end. \
                        Sessions that the directory has already, and that are not exported, stay as they are. Examples:\n  \
                        reprise export jsonl data/sessions --app acme_corp\n  \
                        reprise export jsonl data/sessions --app acme_corp --since 2026-11-01"
)]
pub(crate) struct Arguments {
    /// The directory for the sessions; it is created if it is missing.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The app of the chats.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// Only this chat.
    #[arg(long, value_name = "CHAT")]
    chat: Option<ChatId>,
    /// Only chats that were active at or after this time: a date in UTC, or a time such as 2026-11-01T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<DateTime<Utc>>,
    /// Compress the files of the sessions: `session_ID.jsonl.gz`.
    #[arg(long)]
    gzip: bool,
    #[command(flatten)]
    output: Output,
}

/// Chats, or runs of tools, in one page of the list.
const PAGE: usize = 100;

/// What an export has done, in numbers.
#[derive(Debug, Default, Serialize)]
struct Counts {
    chats: u64,
    messages: u64,
    tool_runs: u64,
    /// Messages that are deleted.
    deleted_messages_left_out: u64,
    /// Chats that the layout cannot hold.
    errors: u64,
}

/// Exports chats into a directory of sessions.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let export = async |store: &MongoStore| export(arguments, store).await;
    let counts = Backend::with_store(settings, export).await.context("cannot export")?;
    arguments.output.print(|| &counts, || text(&counts))?;
    Ok(if counts.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn export(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<Counts> {
    let Arguments { directory, app, chat, .. } = arguments;
    expect_app(store, Some(app)).await?;
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let index_path = directory.join(INDEX);
    let index = read_index(&index_path).with_context(|| unreadable(&index_path))?;
    let index = index.unwrap_or_default();
    let (actor, action) = (Actor::command_line(), AuditAction::ExportChats);
    store.record_action(&actor, Some(app), chat.as_ref(), action).await?;
    let bar = progress::counter("messages")?;
    let scope = Scope::service(app.clone()).finding_deleted();
    let files = if arguments.gzip { Files::Compressed } else { Files::Plain };
    let counts = Counts::default();
    let mut exporter = Exporter { directory, files, store, scope, bar, index, counts };
    match chat {
        Some(chat_id) => {
            let found = store.get_chat(&exporter.scope, chat_id).await?;
            exporter.add(found.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?).await?;
        }
        None => exporter.add_all(arguments.since).await?,
    }
    exporter.write_index(&index_path)?;
    exporter.bar.finish_and_clear();
    Ok(exporter.counts)
}

/// Says why an index that cannot be read ends the export: it would be replaced, and sessions that are not exported would be
/// missing in the new one.
fn unreadable(index: &Path) -> String {
    format!(
        "{} cannot be read, and nothing was exported; replace it by {INDEX_BACKUP}, or remove it: then the new index has only \
         the sessions that are exported",
        index.display()
    )
}

/// How the files of sessions are written.
#[derive(Debug, Clone, Copy)]
enum Files {
    Plain,
    Compressed,
}

struct Exporter<'a> {
    directory: &'a Path,
    files: Files,
    store: &'a MongoStore,
    scope: Scope,
    bar: ProgressBar,
    index: JsonObject,
    counts: Counts,
}

impl Exporter<'_> {
    async fn add_all(&mut self, since: Option<DateTime<Utc>>) -> anyhow::Result<()> {
        let lifecycles = vec![Lifecycle::Active, Lifecycle::Archived, Lifecycle::Deleted];
        let direction = Some(Direction::Ascending);
        let filter = ChatFilter { lifecycles, direction, ..ChatFilter::default() };
        let mut after = None;
        loop {
            let page = self.store.list_chats(&self.scope, &filter, PAGE, after.as_ref()).await?;
            for chat in page.chats {
                if since.is_none_or(|since| since <= chat.last_active_at()) {
                    self.add(chat).await?;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Writes the files of a chat, and its entry of the index.
    async fn add(&mut self, chat: ChatSession) -> anyhow::Result<()> {
        if is_file_of_tools(&chat.chat_id) {
            self.counts.errors += 1;
            let text = "is not exported: its file would be that of the tools of another session";
            return self.tell(&chat.chat_id, text);
        }
        match self.write_files(&chat.chat_id).await {
            Ok(times) => {
                let entry = write_entry(&chat, &times, SystemClock.now());
                self.index.insert(index_key(&chat.chat_id), entry);
                self.counts.chats += 1;
                Ok(())
            }
            Err(error) if is_gone(&error) => {
                self.tell(&chat.chat_id, "is not exported: it was purged meanwhile")
            }
            Err(error) => Err(error.context(format!("chat {}", chat.chat_id))),
        }
    }

    async fn write_files(&mut self, chat_id: &ChatId) -> anyhow::Result<SessionTimes> {
        let times = self.write_messages(chat_id).await?;
        self.write_tool_runs(chat_id).await?;
        Ok(times)
    }

    /// Writes the runs of the tools of a chat, oldest first. Without any, a file that is there stays: its runs may be older than
    /// those that are kept.
    async fn write_tool_runs(&mut self, chat_id: &ChatId) -> anyhow::Result<()> {
        let direction = Direction::Ascending;
        let filter = ToolRunFilter { direction, ..ToolRunFilter::default() };
        let mut file = self.begin()?;
        let (mut number, mut after) = (0, None);
        loop {
            let (scope, after_last) = (&self.scope, after.as_ref());
            let page = self.store.list_tool_runs(scope, chat_id, &filter, PAGE, after_last).await?;
            for run in page.runs {
                number += 1;
                writeln!(file, "{}", write_tool_line(&run, number, chat_id))?;
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        if number > 0 {
            self.finish(file, &tools_file_of(chat_id))?;
        }
        self.counts.tool_runs += number;
        Ok(())
    }

    async fn write_messages(&mut self, chat_id: &ChatId) -> anyhow::Result<SessionTimes> {
        let mut file = self.begin()?;
        let mut times = SessionTimes::default();
        let mut messages = self.store.history(&self.scope, chat_id);
        while let Some(message) = messages.try_next().await? {
            if message.deleted_at.is_some() {
                self.counts.deleted_messages_left_out += 1;
                continue;
            }
            times.add(&message);
            writeln!(file, "{}", write_line(&message, times.message_count, chat_id))?;
            self.bar.inc(1);
        }
        self.finish(file, &file_of(chat_id))?;
        self.counts.messages += times.message_count;
        Ok(times)
    }

    /// Begins a file of a session.
    fn begin(&self) -> std::io::Result<NewFile> {
        match self.files {
            Files::Plain => NewFile::create(self.directory),
            Files::Compressed => NewFile::create_compressed(self.directory),
        }
    }

    /// Finishes a file of a session. It replaces the one of the same session, also one that is compressed and was not, or the
    /// other way round.
    fn finish(&self, file: NewFile, name: &str) -> anyhow::Result<()> {
        let plain = self.directory.join(name);
        let compressed = self.directory.join(format!("{name}{COMPRESSED}"));
        let (path, other) = match self.files {
            Files::Plain => (plain, compressed),
            Files::Compressed => (compressed, plain),
        };
        file.replace(&path)?;
        remove(&other)
    }

    /// Replaces the index; the old one becomes the copy that readers use if the index is broken.
    fn write_index(&self, path: &Path) -> anyhow::Result<()> {
        if path.exists() {
            let mut copy = NewFile::create(self.directory)?;
            std::io::copy(&mut fs::File::open(path)?, &mut copy)?;
            copy.replace(&self.directory.join(INDEX_BACKUP))?;
        }
        let mut file = NewFile::create(self.directory)?;
        serde_json::to_writer_pretty(&mut file, &self.index)?;
        writeln!(file)?;
        file.replace(path)
    }

    fn tell(&self, chat_id: &ChatId, what: &str) -> anyhow::Result<()> {
        Ok(self.bar.suspend(|| writeln!(std::io::stderr(), "chat {chat_id} {what}"))?)
    }
}

fn is_gone(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::ChatNotFound(_)))
}

fn text(counts: &Counts) -> String {
    let Counts { chats, messages, tool_runs, deleted_messages_left_out, errors } = counts;
    let mut lines =
        vec![format!("{chats:>8}  chats exported"), format!("{messages:>8}  messages exported")];
    let others = [
        (tool_runs, "runs of tools exported"),
        (deleted_messages_left_out, "deleted messages left out"),
        (errors, "errors: chats not exported"),
    ];
    let others = others.into_iter().filter(|(count, _)| **count > 0);
    lines.extend(others.map(|(count, what)| format!("{count:>8}  {what}")));
    lines.join("\n")
}

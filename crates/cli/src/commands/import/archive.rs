use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail, ensure};
use persistence::mongo::{HeldSegments, MongoStore, RestoreError, RestoreInto, Restored};
use persistence::{AuditLog as _, Search as _, Store as _};
use records::{Actor, AppId, AuditAction, ChatId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use transfer::lines::Lines;

use super::source;
use crate::backend::Backend;
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;
use crate::signals::told_to_stop;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Everything is stored as it was: ids, sequences and times. What the database has already is compared, and never \
                        changed; differences are counted, and the exit code is 1. It can be broken off and repeated. The \
                        statistics are added up anew at the end. Example:\n  reprise import archive acme_corp.ndjson"
)]
pub(crate) struct Arguments {
    /// The file that `reprise export app` or `reprise export chat` has printed.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// The version of the lines of an archive.
pub(crate) const ARCHIVE_VERSION: u32 = 1;

/// The largest line: the largest document, with every character as an escape.
const MAX_LINE_BYTES: usize = 128 << 20;

/// The most documents that are stored at once, and the most bytes of their lines.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 16 << 20;

/// How many lines of documents that differ are named.
const DIFFERING_LINES: usize = 10;

/// How often a workflow is added up again whose statistics are off after it was.
const ROUNDS: usize = 5;

/// A line of an archive.
#[derive(Debug, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Archive { version: u32, format: i64, app_id: AppId },
    Chat { chat_id: ChatId },
    Document { collection: String, document: Value },
    End { chats: u64, documents: BTreeMap<String, u64> },
}

/// What an import has done, in numbers.
#[derive(Debug, Default, Serialize)]
struct Counts {
    chats: u64,
    stored: u64,
    known: u64,
    differ: u64,
    /// The first lines of the documents that differ.
    differing_lines: Vec<u64>,
}

/// Imports an archive.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let import = async |store: &MongoStore| import(arguments, store).await;
    let counts = Backend::with_store(settings, import).await.context("cannot import")?;
    arguments.output.print(|| &counts, || text(&counts))?;
    Ok(if counts.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(counts: &Counts) -> String {
    let Counts { chats, stored, known, differ, differing_lines } = counts;
    let more = if differing_lines.len() < usize::try_from(*differ).unwrap_or(usize::MAX) {
        ", …"
    } else {
        ""
    };
    let lines = differing_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let lines = if lines.is_empty() { lines } else { format!(" (lines {lines}{more})") };
    format!(
        "{chats:>8}  chats read\n{stored:>8}  documents stored\n{known:>8}  documents stored before\n\
         {differ:>8}  documents that differ{lines}"
    )
}

async fn import(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<Counts> {
    let name = arguments.file.display().to_string();
    let mut importer = None;
    let read = tokio::select! {
        read = read(arguments, store, &name, &mut importer) => read,
        () = told_to_stop() => Err(anyhow!("it was told to stop; repeat it")),
    };
    let Some(importer) = importer else { return read.and_then(|_| bail!("{name} is empty")) };
    // Also after a fault, and if it was told to stop: the chats that are stored must be counted.
    let added_up = tokio::select! {
        added_up = importer.add_up() => added_up,
        () = told_to_stop() => bail!("the statistics were not added up: run `reprise stats rebuild`"),
    };
    ensure!(read?, "{name} is incomplete: its last line is missing");
    added_up?;
    Ok(importer.counts)
}

/// Reads all lines. Returns whether the last one is there.
async fn read<'a>(
    arguments: &Arguments,
    store: &'a MongoStore,
    name: &str,
    importer: &mut Option<Importer<'a>>,
) -> anyhow::Result<bool> {
    let bar = progress::bytes()?;
    let text = source::open_alone(&arguments.file, &bar)?;
    let mut lines = Lines::bounded(text, MAX_LINE_BYTES);
    let mut is_ended = false;
    while let Some(line) = lines.next_line().with_context(|| name.to_owned())? {
        let number = line.number;
        let text = line.text.with_context(|| format!("{name}:{number}: the line is too large"))?;
        let place = || format!("{name}:{number}");
        ensure!(!is_ended, "{}: the archive has ended before", place());
        let record: Record = serde_json::from_slice(text).with_context(|| match &importer {
            Some(_) => place(),
            None => format!("{}: this is not the first line of an archive", place()),
        })?;
        let bytes = text.len();
        match (&mut *importer, record) {
            (None, Record::Archive { version, format, app_id }) => {
                *importer = Some(Importer::begin(store, version, format, app_id).await?);
            }
            (Some(importer), record) => {
                is_ended = importer.take(record, number, bytes).await.with_context(place)?;
            }
            (None, _) => bail!("{}: this is not the first line of an archive", place()),
        }
    }
    bar.finish_and_clear();
    Ok(is_ended)
}

struct Importer<'a> {
    store: &'a MongoStore,
    app_id: AppId,
    /// The chat whose documents are read, and whether it is new in the database.
    chat: Option<(ChatId, bool)>,
    batch: Vec<Value>,
    collection: String,
    bytes: usize,
    /// The line of the first document of the batch.
    first_line: u64,
    read: BTreeMap<String, u64>,
    held: HeldSegments,
    counts: Counts,
}

impl<'a> Importer<'a> {
    async fn begin(
        store: &'a MongoStore,
        version: u32,
        format: i64,
        app_id: AppId,
    ) -> anyhow::Result<Self> {
        ensure!(
            version == ARCHIVE_VERSION,
            "the archive has version {version}; this release reads {ARCHIVE_VERSION}"
        );
        store.ping().await?;
        let stored = store.format_status().await?.stored;
        ensure!(
            format == stored,
            "the archive has the format {format}, and the database {stored}: finish the upgrade of the older one with \
             `reprise upgrade --finish`, and export again"
        );
        let (actor, action) = (Actor::command_line(), AuditAction::ImportChats);
        store.record_action(&actor, Some(&app_id), None, action).await?;
        Ok(Self {
            store,
            app_id,
            chat: None,
            batch: Vec::new(),
            collection: String::new(),
            bytes: 0,
            first_line: 0,
            read: BTreeMap::new(),
            held: HeldSegments::default(),
            counts: Counts::default(),
        })
    }

    /// Takes a line. Returns whether it is the last one.
    async fn take(&mut self, record: Record, line: u64, bytes: usize) -> anyhow::Result<bool> {
        match record {
            Record::Archive { .. } => bail!("an archive has one first line"),
            Record::Chat { chat_id } => {
                self.end_chat().await?;
                let is_new = self.store.reserve_chat(&self.app_id, &chat_id).await?;
                self.chat = Some((chat_id, is_new));
                self.counts.chats += 1;
            }
            Record::Document { collection, document } => {
                let is_full = self.batch.len() == BATCH || self.bytes + bytes > BATCH_BYTES;
                if is_full || collection != self.collection {
                    self.flush().await?;
                    self.collection = collection;
                    self.first_line = line;
                }
                self.batch.push(document);
                self.bytes += bytes;
            }
            Record::End { chats, documents } => {
                self.end_chat().await?;
                let is_whole = chats == self.counts.chats && documents == self.read;
                ensure!(
                    is_whole,
                    "the archive has other numbers of chats or documents than its last line says"
                );
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores what is left of a chat, and makes it searchable.
    async fn end_chat(&mut self) -> anyhow::Result<()> {
        self.flush().await?;
        let Some((chat_id, is_new)) = self.chat.take() else { return Ok(()) };
        let mut left = if is_new { vec![chat_id] } else { Vec::new() };
        while !left.is_empty() {
            left = self.store.index_chats(&left).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        self.bytes = 0;
        let documents = std::mem::take(&mut self.batch);
        if documents.is_empty() {
            return Ok(());
        }
        let into = match &self.chat {
            None => RestoreInto::App,
            Some((chat_id, true)) => RestoreInto::NewChat(chat_id),
            Some((chat_id, false)) => RestoreInto::ExistingChat(chat_id),
        };
        let (app_id, collection) = (&self.app_id, &self.collection);
        let held = &mut self.held;
        let restored =
            self.store.restore_documents(held, app_id, into, collection, &documents).await;
        let restored = restored.map_err(|error| match error {
            RestoreError::Refused(index, reason) => {
                let line = self.first_line + u64::try_from(index).unwrap_or_default();
                anyhow::anyhow!("the document in line {line} is refused: {reason}")
            }
            RestoreError::Store(error) => error.into(),
        })?;
        *self.read.entry(collection.clone()).or_default() += u64::try_from(restored.len())?;
        let counts = &mut self.counts;
        for (line, restored) in (self.first_line..).zip(restored) {
            match restored {
                Restored::Stored => counts.stored += 1,
                Restored::Known => counts.known += 1,
                Restored::Differs => {
                    counts.differ += 1;
                    if counts.differing_lines.len() < DIFFERING_LINES {
                        counts.differing_lines.push(line);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds up the statistics of the app anew: an archive has only those of its chats.
    async fn add_up(&self) -> anyhow::Result<()> {
        for workflow in self.store.counted_workflows(Some(&self.app_id)).await? {
            for _ in 0..ROUNDS {
                let mut is_off = false;
                self.store.rebuild_stats(&workflow, &|| {}, &mut |_| is_off = true).await?;
                if !is_off {
                    break;
                }
            }
        }
        Ok(())
    }
}

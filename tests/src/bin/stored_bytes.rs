//! Measures how many bytes of a stored message are what it came with, on a private mongod.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use clap::Parser;
use futures::TryStreamExt as _;
use local_mongod::{LocalMongod, Options};
use mongodb::bson::{Document, doc, serialize_to_vec};
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{ChatSessions as _, Messages as _};
use records::{AppId, IdSpace, MessageBody, NewChatSession, Scope, WorkflowName};
use resume::dialect::{self, Dialect};
use resume::ingest::assign_event_ids;
use serde_json::Value;
use tests::database::Database;
use tests::transcript::json_lines;

/// Store transcripts, and report the bytes of a stored message with and without `provider`, what it came with.
///
/// A line of a file is an object with `messages`, and with `system` if the dialect has it.
#[derive(Debug, Parser)]
struct Arguments {
    /// A folder with one file for each dialect, such as `openai.jsonl`.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Further transcripts.
    #[arg(value_name = "DIALECT=FILE")]
    sources: Vec<Source>,
}

/// A file of transcripts in a dialect.
#[derive(Clone, Debug)]
struct Source {
    dialect: &'static dyn Dialect,
    file: PathBuf,
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, file) = text.split_once('=').context("a source is DIALECT=FILE")?;
        let dialect = dialect::named(name);
        let dialect = dialect.with_context(|| format!("there is no dialect {name:?}"))?;
        Ok(Self { dialect, file: file.into() })
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
async fn main() -> Result<()> {
    let Arguments { folder, mut sources } = Arguments::parse();
    if let Some(folder) = folder {
        sources.extend(sources_in(&folder)?);
    }
    ensure!(!sources.is_empty(), "name a folder or a source");
    let mongod = LocalMongod::start(Options::from_env()).await?;
    let mut rows = Vec::new();
    for source in &sources {
        let stored = stored(mongod.uri(), source).await;
        rows.push(stored.with_context(|| source.file.display().to_string())?);
    }
    mongod.stop().await;
    println!(
        "| dialect | file | messages | as JSON | stored | without `provider` | messages with it |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (source, sizes) in sources.iter().zip(rows) {
        println!("{}", sizes.row(source));
    }
    Ok(())
}

fn sources_in(folder: &Path) -> Result<Vec<Source>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        files.push(entry?.path());
    }
    files.sort();
    let source = |file: PathBuf| {
        let dialect = dialect::named(file.file_stem()?.to_str()?)?;
        Some(Source { dialect, file })
    };
    Ok(files.into_iter().filter_map(source).collect())
}

/// The bytes of the messages of one source.
#[derive(Default)]
struct Sizes {
    /// Messages of the source, and their bytes as JSON.
    messages: usize,
    json: usize,
    /// Stored messages, and the bytes of their documents.
    stored_messages: usize,
    stored: usize,
    without_own: usize,
    /// Stored messages that came with something of their own.
    with_own: usize,
}

/// Stores the transcripts of a source, and measures the documents of their messages.
async fn stored(uri: &str, source: &Source) -> Result<Sizes> {
    let database = Database::on(uri).await?;
    let store = MongoStore::connect(&MongoOptions::new(uri, database.name())).await?;
    let mut sizes = Sizes::default();
    for transcript in json_lines(&source.file)? {
        sizes.store(&store, source.dialect, transcript).await?;
    }
    for collection in ["chat_sessions", "chat_segments"] {
        let found = database.raw().collection::<Document>(collection);
        let mut found = found.find(doc! {}).projection(doc! { "messages": 1 }).await?;
        while let Some(document) = found.try_next().await? {
            for message in document.get_array("messages")? {
                sizes.add(message.as_document().context("a message is no document")?.clone())?;
            }
        }
    }
    database.raw().drop().await?;
    Ok(sizes)
}

impl Sizes {
    async fn store(
        &mut self,
        store: &MongoStore,
        dialect: &dyn Dialect,
        mut transcript: Value,
    ) -> Result<()> {
        let list = |value: Value| match value {
            Value::Array(list) => list,
            _ => Vec::new(),
        };
        let system = list(transcript["system"].take());
        let mut messages = list(transcript["messages"].take());
        self.messages += messages.len();
        self.json += messages.iter().map(|message| message.to_string().len()).sum::<usize>();
        dialect.prepare(&mut messages);
        let mut parsed = dialect.parse(system, messages);
        ensure!(parsed.dropped.is_empty(), "a message cannot be read: {:?}", parsed.dropped);
        let scope = Scope::service(AppId::parse("measured")?);
        let new = NewChatSession::of(WorkflowName::parse("Measured")?);
        let chat_id = store.create_chat(&scope, new).await?.chat_id;
        assign_event_ids(chat_id.as_str(), &IdSpace::default(), &mut parsed.messages);
        store.append(&scope, &chat_id, parsed.messages).await?;
        Ok(())
    }

    fn add(&mut self, mut message: Document) -> Result<()> {
        self.stored_messages += 1;
        self.stored += serialize_to_vec(&message)?.len();
        self.with_own += usize::from(message.remove(MessageBody::PROVIDER).is_some());
        self.without_own += serialize_to_vec(&message)?.len();
        Ok(())
    }

    fn row(&self, source: &Source) -> String {
        let Self { messages, json, stored_messages, stored, without_own, with_own } = self;
        let each = |bytes: &usize, count: &usize| bytes / count.max(&1);
        let name = source.file.file_name().unwrap_or_default().display();
        #[expect(clippy::cast_precision_loss, reason = "an f64 holds every count here exactly")]
        let share = (*stored as f64 / *without_own as f64 - 1.0) * 100.0;
        format!(
            "| `{}` | `{name}` | {messages}, stored as {stored_messages} | {} | {} (+{share:.1} %) | {} | {with_own} |",
            source.dialect.name(),
            each(json, messages),
            each(stored, stored_messages),
            each(without_own, stored_messages),
        )
    }
}

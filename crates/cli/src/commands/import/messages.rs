use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use persistence::mongo::MongoStore;
use records::{AppId, ChatId, WorkflowName};
use resume::dialect::{self, Dialect};
use transfer::lines::{Line, Lines};
use transfer::transcripts::{ReadChat, read_chat};

use super::clock::ImportClock;
use super::report::Report;
use super::run_on_store;
use super::sink::{Batch, Sink, Stop, settle};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line is a JSON object with the messages of a chat: chat_id (or id), messages (or history), and, as \
                        far as it has them, system, workflow_name, user_id, title, metadata and created_at. It can be broken \
                        off and repeated, also with chats that have grown: what is stored is not stored again. Examples:\n  \
                        reprise import messages chats.jsonl --app acme_corp --dialect openai\n  \
                        reprise import messages tuning.jsonl --app acme_corp --dialect openai --prefix tuning_"
)]
pub(crate) struct Arguments {
    /// The file with the chats, one JSON object a line.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The app of the chats.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// The format of the messages.
    #[arg(long, value_parser = read_dialect)]
    dialect: &'static dyn Dialect,
    /// The workflow of the chats that name none.
    #[arg(long, value_name = "WORKFLOW", default_value = "Chat")]
    workflow: WorkflowName,
    /// The id of a chat that has none is this text and the number of its line.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Read and check everything; store nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

fn read_dialect(name: &str) -> Result<&'static dyn Dialect, String> {
    let supported = || dialect::parsed().map(Dialect::name).collect::<Vec<_>>().join(", ");
    let found = dialect::parsed().find(|dialect| dialect.name() == name);
    found.ok_or_else(|| format!("supported: {}", supported()))
}

/// Imports a file of chats in a dialect.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let report = Report::new(progress::bytes()?);
    let report = run_on_store(settings, report, async |store, clock, report| {
        import(arguments, store, clock, report).await
    });
    report.await?.finish(arguments.output, arguments.dry_run)
}

async fn import(
    arguments: &Arguments,
    store: &MongoStore,
    clock: &ImportClock,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Arguments { file, app, dry_run, .. } = arguments;
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    report.bar.set_length(opened.metadata()?.len());
    let sink = Sink::begin(store, clock, app, *dry_run).await?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let mut lines = Lines::new(BufReader::with_capacity(1 << 18, opened));
    while let Some(line) = lines.next_line()? {
        let place = format!("{name}:{}", line.number);
        let imported = import_line(arguments, &line, &place, &sink, report).await;
        settle(imported, &place, report)?;
        report.bar.set_position(lines.bytes());
    }
    Ok(())
}

async fn import_line(
    arguments: &Arguments,
    line: &Line<'_>,
    place: &str,
    sink: &Sink<'_>,
    report: &mut Report,
) -> Result<(), Stop> {
    if line.is_blank() {
        return Ok(());
    }
    let text = line.text.ok_or_else(|| Stop::Chat("is too large for a chat".to_owned()))?;
    let mut chat = match read_chat(text, arguments.dialect, &arguments.workflow) {
        Ok(chat) => chat,
        Err(_) if !line.is_ended => {
            let cut = "is cut off: it is imported once the file has all of it";
            return Ok(report.warn(place, cut)?);
        }
        Err(error) => return Err(Stop::Chat(error.to_string())),
    };
    report.counts.chats += 1;
    tell(&chat, place, report)?;
    let chat_id = chat_id_of(&mut chat, arguments.prefix.as_deref(), line.number)?;
    chat.new.chat_id = Some(chat_id.clone());
    store_chat(chat, &chat_id, place, sink, report).await
}

/// Returns the id of a chat: its own, or one made of the prefix and the number of its line.
fn chat_id_of(chat: &mut ReadChat, prefix: Option<&str>, number: u64) -> Result<ChatId, Stop> {
    if let Some(chat_id) = chat.new.chat_id.take() {
        return Ok(chat_id);
    }
    let without = || Stop::Chat("has no chat_id: name one, or use --prefix".to_owned());
    let prefix = prefix.ok_or_else(without)?;
    ChatId::parse(format!("{prefix}{number}")).map_err(|error| Stop::Chat(error.to_string()))
}

/// Reports what is not stored as it stands in the line.
fn tell(chat: &ReadChat, place: &str, report: &mut Report) -> Result<(), Stop> {
    for field in &chat.unknown {
        report.warn(place, format!("has a field `{field}` that is left out"))?;
    }
    for noted in &chat.noted {
        let what = format!("message {}: {}: {}", noted.index, noted.rule, noted.detail);
        report.warn(place, what)?;
    }
    for dropped in &chat.dropped {
        report.counts.messages_left_out += 1;
        report.warn(place, format!("message {} is left out: {}", dropped.index, dropped.reason))?;
    }
    Ok(())
}

async fn store_chat(
    chat: ReadChat,
    chat_id: &ChatId,
    place: &str,
    sink: &Sink<'_>,
    report: &mut Report,
) -> Result<(), Stop> {
    let is_new = sink.get(chat_id).await?.is_none();
    if is_new {
        sink.create(chat.new, chat.created_at).await?;
        report.counts.created += 1;
    }
    let mut stored = 0;
    let mut batch = Batch::default();
    for (message, bytes) in chat.messages {
        if batch.is_full(bytes) {
            let full = std::mem::take(&mut batch);
            stored += sink.append_batch(chat_id, full, None, is_new, report).await?;
        }
        if !batch.add(message, bytes) {
            report.warn(place, "has two messages with one id: the first one is stored")?;
        }
    }
    stored += sink.append_batch(chat_id, batch, None, is_new, report).await?;
    if stored > 0
        && let Some(fault) = sink.index(chat_id).await
    {
        report.warn(place, fault)?;
    }
    Ok(())
}

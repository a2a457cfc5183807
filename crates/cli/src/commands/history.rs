use std::io::{self, BufWriter, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use futures::TryStreamExt;
use persistence::AuditLog as _;
use records::{Actor, AppId, AuditAction, ChatId, Scope};
use resume::{Options, UnsettledPolicy, dialect};
use service::history::{self, Format, HistoryForm, HistoryItem, HistoryItems, Source};

use crate::backend::Backend;
use crate::settings::Settings;
use crate::terminal::{safe_json, safe_line};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  reprise history acme_corp chat_abc123\n  \
                        reprise history acme_corp chat_abc123 --dialect openai > messages.jsonl\n  \
                        reprise history acme_corp chat_abc123 --format json > history.json")]
pub(crate) struct Arguments {
    /// The app the chat belongs to.
    app: String,
    /// The chat.
    chat: String,
    #[arg(long, default_value = "ag2", help = dialect_help())]
    dialect: String,
    /// Print only the newest COUNT messages; system messages are kept and counted.
    #[arg(long, value_name = "COUNT")]
    newest: Option<usize>,
    /// How to treat tool calls without results: remove (default), settle, trim or reject.
    #[arg(long, value_name = "POLICY", value_parser = read_policy)]
    unsettled: Option<UnsettledPolicy>,
    /// What to print: only the messages, or the whole API response, as json or ndjson.
    #[arg(long, value_enum, default_value_t = Output::Messages, hide_possible_values = true)]
    format: Output,
}

/// Describes `--dialect`, with every dialect that there is.
fn dialect_help() -> String {
    let names: Vec<_> = dialect::names().collect();
    format!("The format of the messages: {}", names.join(", "))
}

fn read_policy(name: &str) -> Result<UnsettledPolicy, String> {
    let names = || UnsettledPolicy::ALL.map(UnsettledPolicy::as_str).join(", ");
    UnsettledPolicy::from_name(name).ok_or_else(|| format!("supported: {}", names()))
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// One message on each line; standard error reports what is left out or changed.
    Messages,
    /// The JSON object of the API.
    Json,
    /// The lines of the API; the last one says that the history is complete.
    Ndjson,
}

/// Prints a chat in a dialect while reading it; an exit code of 0 means that the output is complete.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let app_id = AppId::parse(&arguments.app)?;
    let chat_id = ChatId::parse(&arguments.chat)?;
    let Some(dialect) = dialect::named(&arguments.dialect) else {
        let names: Vec<_> = dialect::names().collect();
        bail!("unknown dialect {:?}; supported: {}", arguments.dialect, names.join(", "));
    };
    let options = Options { unsettled: arguments.unsettled, ..Options::default() };
    let form = HistoryForm { dialect, newest: arguments.newest, options };
    Backend::with_store(settings, async |store| {
        let (actor, read) = (Actor::command_line(), AuditAction::ReadChat);
        let recorded = store.record_action(&actor, Some(&app_id), Some(&chat_id), read).await;
        recorded.context("cannot record the read in the audit log")?;
        let source = Source {
            store: Arc::new(store.clone()),
            scope: Scope::service(app_id),
            chat_id,
            read_timeout: Duration::from_millis(settings.limits.request_timeout_ms),
        };
        print(source, form, arguments.format).await
    })
    .await
}

async fn print(source: Source, form: HistoryForm, output: Output) -> anyhow::Result<()> {
    let (chat_id, dialect) = (source.chat_id.clone(), form.dialect.name());
    let items = history::read(source, form).await.context("cannot read the chat")?;
    let format = match output {
        Output::Messages => return print_messages(items).await,
        Output::Json => Format::Json,
        Output::Ndjson => Format::Ndjson,
    };
    let mut chunks = pin!(history::write(format, chat_id, dialect, items));
    let mut out = io::stdout();
    while let Some(chunk) = chunks.try_next().await.context("cannot read the chat")? {
        // A chunk consists of whole texts.
        out.write_all(safe_json(&String::from_utf8_lossy(&chunk)).as_bytes())?;
    }
    if format == Format::Json {
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

async fn print_messages(mut items: HistoryItems) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout());
    let mut notes = io::stderr();
    while let Some(item) = items.try_next().await.context("cannot read the chat")? {
        match item {
            HistoryItem::Message(message) => {
                writeln!(out, "{}", safe_json(&message.to_string()))?;
            }
            HistoryItem::Dropped(dropped) => {
                let sequence = dropped.sequence.unwrap_or_default();
                let reason = dropped.reason.to_string();
                writeln!(notes, "left out message {sequence}: {}", safe_line(&reason))?;
            }
            HistoryItem::Repaired(repaired) => {
                let repair = repaired.repair.to_string();
                writeln!(notes, "changed message {}: {}", repaired.sequence, safe_line(&repair))?;
            }
            HistoryItem::Extras(extras) => {
                for instruction in extras.system {
                    writeln!(notes, "instruction: {}", safe_json(&instruction.to_string()))?;
                }
            }
        }
    }
    Ok(out.flush()?)
}

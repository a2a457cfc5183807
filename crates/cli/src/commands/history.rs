use std::io::{self, BufWriter, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use futures::TryStreamExt;
use persistence::AuditLog as _;
use records::{Actor, AppId, AuditAction, ChatId, Scope};
use resume::replay::Form;
use resume::{Options, UnsettledPolicy, dialect};
use serde::Deserialize;
use serde_json::Value;
use service::history::{self, Format, Source};

use crate::backend::Backend;
use crate::output::stdout;
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
    /// How to treat tool calls without results: remove (default), settle, trim, reject or keep.
    #[arg(long, value_name = "POLICY", value_parser = read_policy)]
    unsettled: Option<UnsettledPolicy>,
    /// Render as this agent sees it: its own turns are the assistant's, those of all others the user's.
    #[arg(long = "as", value_name = "AGENT")]
    viewpoint: Option<String>,
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
    let options = Options {
        unsettled: arguments.unsettled,
        viewpoint: arguments.viewpoint.clone(),
        ..Options::default()
    };
    let form = Form { dialect, newest: arguments.newest, options };
    Backend::with_store(settings, async |store| {
        let (actor, read) = (Actor::command_line(), AuditAction::ReadChat);
        let recorded = store.record_action(&actor, Some(&app_id), Some(&chat_id), read).await;
        recorded.context("cannot record the read in the audit log")?;
        let source =
            Source { store: Arc::new(store.clone()), scope: Scope::service(app_id), chat_id };
        let read_timeout = Duration::from_millis(settings.limits.request_timeout_ms);
        print(source, form, read_timeout, arguments.format).await
    })
    .await
}

async fn print(
    source: Source,
    form: Form,
    read_timeout: Duration,
    output: Output,
) -> anyhow::Result<()> {
    let format = if output == Output::Json { Format::Json } else { Format::Ndjson };
    let chunks = history::read(source, form, format, read_timeout).await;
    let mut chunks = pin!(chunks.context("cannot read the chat")?);
    let mut out = BufWriter::new(stdout());
    while let Some(chunk) = chunks.try_next().await.context("cannot read the chat")? {
        // A chunk consists of whole texts, and of whole lines.
        let text = String::from_utf8_lossy(&chunk);
        match output {
            Output::Json | Output::Ndjson => out.write_all(safe_json(&text).as_bytes())?,
            Output::Messages => {
                for line in text.lines() {
                    if line.starts_with(END) {
                        report(line)?;
                    } else {
                        writeln!(out, "{}", safe_json(line))?;
                    }
                }
            }
        }
    }
    if output == Output::Json {
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// How the last line begins; no message has this field.
const END: &str = r#"{"complete":true,"#;

/// The last line of a history.
#[derive(Debug, Deserialize)]
struct End {
    dropped: Vec<Change>,
    #[serde(default)]
    repaired: Vec<Change>,
    #[serde(default)]
    system: Vec<Value>,
}

/// A message that is left out or changed.
#[derive(Debug, Deserialize)]
struct Change {
    sequence: Option<u64>,
    detail: String,
}

/// Reports on standard error what the last line of a history says.
fn report(line: &str) -> anyhow::Result<()> {
    let mut notes = io::stderr();
    let End { dropped, repaired, system } = serde_json::from_str(line)?;
    for (what, changes) in [("left out", dropped), ("changed", repaired)] {
        for Change { sequence, detail } in changes {
            let sequence = sequence.unwrap_or_default();
            writeln!(notes, "{what} message {sequence}: {}", safe_line(&detail))?;
        }
    }
    for instruction in system {
        writeln!(notes, "instruction: {}", safe_json(&instruction.to_string()))?;
    }
    Ok(())
}

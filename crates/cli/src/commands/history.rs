use std::io::Write as _;

use anyhow::{Context, bail};
use futures::TryStreamExt;
use persistence::Messages;
use records::{AppId, ChatId, Message, Scope};
use resume::dialect;

use crate::backend::Backend;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  reprise history acme_corp chat_abc123\n  \
                        reprise history acme_corp chat_abc123 --dialect openai > messages.jsonl")]
pub(crate) struct Arguments {
    /// The app the chat belongs to.
    app: String,
    /// The chat.
    chat: String,
    /// The form to print the messages in: ag2 or openai.
    #[arg(long, default_value = "ag2")]
    dialect: String,
}

/// Prints a chat in a dialect; what the dialect leaves out is said on standard error.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let app_id = AppId::parse(&arguments.app)?;
    let chat_id = ChatId::parse(&arguments.chat)?;
    let Some(dialect) = dialect::named(&arguments.dialect) else {
        let names: Vec<_> = dialect::names().collect();
        bail!("there is no dialect {:?}; there are {}", arguments.dialect, names.join(", "));
    };
    let backend = Backend::join(settings).await?;
    let scope = Scope::service(app_id);
    let messages: Result<Vec<Message>, _> =
        backend.store.history(&scope, &chat_id).try_collect().await;
    backend.close().await;
    let messages = messages.context("cannot read the chat")?;
    let rendered = dialect.render(messages, &resume::Options::default());
    let mut out = std::io::stdout().lock();
    for message in &rendered.messages {
        writeln!(out, "{message}")?;
    }
    let mut notes = std::io::stderr().lock();
    for dropped in &rendered.dropped {
        let sequence = dropped.sequence.unwrap_or_default();
        writeln!(notes, "left out message {sequence}: {}", dropped.reason)?;
    }
    for repaired in &rendered.repaired {
        writeln!(notes, "changed message {}: {}", repaired.sequence, repaired.repair)?;
    }
    Ok(())
}

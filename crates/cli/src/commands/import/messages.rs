use std::path::PathBuf;
use std::process::ExitCode;

use records::ChatId;
use resume::dialect::{self, Dialect};
use transfer::lines::{Line, Lines};
use transfer::transcripts::{ReadChat, read_chat};

use super::chat;
use super::destination::Destination;
use super::report::Report;
use super::sink::{Sink, Stop, settle};
use super::source;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line is a JSON object with the messages of a chat: chat_id (or id), messages (or history), and, as \
                        far as it has them, system, workflow_name, user_id, title, metadata and created_at. It can be broken \
                        off and repeated, also with chats that have grown: what is stored is not stored again. A chat that begins otherwise than \
                        the one that is stored under its id is refused. A file whose \
                        name ends in .gz is decompressed. Examples:\n  \
                        reprise import messages chats.jsonl --app acme_corp --dialect openai\n  \
                        reprise import messages tuning.jsonl --app acme_corp --dialect openai --prefix tuning_"
)]
pub(crate) struct Arguments {
    /// The file with the chats, one JSON object a line.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format of the messages.
    #[arg(long, value_parser = read_dialect)]
    dialect: &'static dyn Dialect,
    /// The id of a chat that has none is this text and the number of its line.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    #[command(flatten)]
    destination: Destination,
}

fn read_dialect(name: &str) -> Result<&'static dyn Dialect, String> {
    let supported = || dialect::parsed().map(Dialect::name).collect::<Vec<_>>().join(", ");
    let found = dialect::parsed().find(|dialect| dialect.name() == name);
    found.ok_or_else(|| format!("supported: {}", supported()))
}

/// Imports a file of chats in a dialect.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Arguments { file, destination, .. } = arguments;
    let report = Report::new(progress::bytes()?);
    let name = source::name_of(file);
    let text = source::open_alone(file, &report.bar)?;
    let import = async |sink: &Sink<'_>, report: &mut Report| {
        let mut lines = Lines::new(text);
        while let Some(line) = source::next_line(&mut lines, &name, report)? {
            let place = format!("{name}:{}", line.number);
            let imported = import_line(arguments, &line, &place, sink, report).await;
            settle(imported, &place, report)?;
        }
        Ok(())
    };
    destination.import(settings, report, import).await
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
    let mut chat = match read_chat(text, arguments.dialect, &arguments.destination.workflow) {
        Ok(chat) => chat,
        Err(_) if !line.is_ended => return Ok(report.warn(place, source::CUT_OFF)?),
        Err(error) => return Err(Stop::Chat(error.to_string())),
    };
    report.counts.chats += 1;
    chat::tell(&chat, place, report)?;
    let chat_id = chat_id_of(&mut chat, arguments.prefix.as_deref(), line.number)?;
    chat.new.chat_id = Some(chat_id.clone());
    chat::refuse_another(&chat, &chat_id, sink).await?;
    chat::store(chat, &chat_id, place, sink, report).await
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

use std::path::PathBuf;
use std::process::ExitCode;

use transfer::ag2_log::{Log, LoggedSession};
use transfer::lines::{Line, Lines};

use super::chat;
use super::destination::Destination;
use super::report::Report;
use super::sink::{Sink, Stop, settle};
use super::source;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The log is what `autogen.runtime_logging` writes with the logger \"file\". A session becomes a chat: its \
                        messages, each once and with its speaker, and its calls of models, with tokens and cost. It can be broken \
                        off and repeated, also with a log that has grown: what is stored is not stored again. A file whose name \
                        ends in .gz is decompressed. Examples:\n  \
                        reprise import ag2 autogen_logs/runtime.log --app acme_corp --dry-run\n  \
                        reprise import ag2 autogen_logs/runtime.log --app acme_corp --workflow Support"
)]
pub(crate) struct Arguments {
    /// The log.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    destination: Destination,
}

/// Imports a log.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Arguments { file, destination } = arguments;
    let report = Report::new(progress::bytes()?);
    let name = source::name_of(file);
    let text = source::open_alone(file, &report.bar)?;
    let import = async |sink: &Sink<'_>, report: &mut Report| {
        let (mut lines, mut log) = (Lines::new(text), Log::default());
        while let Some(line) = source::next_line(&mut lines, &name, report)? {
            if let Some(session) = read(&mut log, &line, &name, report)? {
                import_session(session, destination, &name, sink, report).await?;
            }
        }
        match log.finish() {
            Some(session) => import_session(session, destination, &name, sink, report).await,
            None => Ok(()),
        }
    };
    destination.import(settings, report, import).await
}

/// Reads a line. Returns the session that ends before it.
fn read(
    log: &mut Log,
    line: &Line<'_>,
    file: &str,
    report: &mut Report,
) -> anyhow::Result<Option<LoggedSession>> {
    let place = format!("{file}:{}", line.number);
    if line.is_blank() {
        return Ok(None);
    }
    let Some(text) = line.text else {
        report.refuse(&place, "is too large for a message")?;
        return Ok(None);
    };
    match log.push(text, line.number) {
        Ok(ended) => return Ok(ended),
        Err(_) if !line.is_ended => report.warn(&place, source::CUT_OFF)?,
        Err(error) => report.refuse(&place, error)?,
    }
    Ok(None)
}

async fn import_session(
    session: LoggedSession,
    destination: &Destination,
    file: &str,
    sink: &Sink<'_>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let place = format!("{file}:{}", session.line);
    let imported = store(session, destination, &place, sink, report).await;
    settle(imported, &place, report)
}

async fn store(
    session: LoggedSession,
    destination: &Destination,
    place: &str,
    sink: &Sink<'_>,
    report: &mut Report,
) -> Result<(), Stop> {
    if session.is_too_large() {
        return Err(Stop::Chat("begins a session that is too large for a chat".to_owned()));
    }
    if session.refused > 0 {
        let what = format!("{} messages that no agent accepted are left out", session.refused);
        report.counts.messages_left_out += session.refused;
        report.warn(place, what)?;
    }
    let chat_id = session.chat_id().clone();
    let (chat, calls) =
        session.into_chat(&destination.workflow).map_err(|error| Stop::Chat(error.to_string()))?;
    report.counts.chats += 1;
    chat::tell(&chat, place, report)?;
    chat::refuse_changed(&chat, &chat_id, sink).await?;
    chat::store(chat, &chat_id, place, sink, report).await?;
    sink.record_calls(&chat_id, calls, report).await
}

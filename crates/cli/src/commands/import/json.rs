use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use records::WorkflowName;
use transfer::jsonl::{COMPRESSED, INDEX, MESSAGES, OlderFile, OlderSession, TOOLS_USED};
use transfer::lines::without_mark;

use super::destination::Destination;
use super::jsonl::{Importer, Session};
use super::report::Report;
use super::sink::Sink;
use super::source::{self, Source};
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "This is the layout before JSON Lines. A file is a session with `sessionId`, `title`, `messages` and \
                        `metadata`, or a list of messages. It can be broken off and repeated: what is stored is not stored again. \
                        A file whose name ends in .gz is decompressed. Example:\n  \
                        reprise import json data/chats --app acme_corp --dry-run"
)]
pub(crate) struct Arguments {
    /// The file of a session, or a directory with files whose names end in .json or .json.gz.
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    #[command(flatten)]
    destination: Destination,
}

/// The largest file, in bytes without compression: a file is held as a whole.
const MAX_BYTES: u64 = 32 << 20;

/// Imports a file, or a directory of files.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Arguments { path, destination } = arguments;
    let report = Report::new(progress::bytes()?);
    let files = files(path).with_context(|| path.display().to_string())?;
    report.bar.set_length(files.iter().map(|(_, bytes)| bytes).sum());
    let workflow = &destination.workflow;
    let import = async |sink: &Sink<'_>, report: &mut Report| {
        for (file, _) in &files {
            if let Some(session) = read(file, workflow, report)? {
                Importer { sink, report, workflow }.import(session).await?;
            }
        }
        Ok(())
    };
    destination.import(settings, report, import).await
}

/// Returns the files to read, by their names, with their sizes.
fn files(path: &Path) -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(vec![(path.to_owned(), about.len())]);
    }
    let mut files = Vec::new();
    for file in path.read_dir()? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        let name = name.strip_suffix(COMPRESSED).unwrap_or(&name);
        if name.strip_suffix(".json").is_some() && name != INDEX {
            files.push((file.path(), file.metadata()?.len()));
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file; `None` if there is nothing in it that can be imported.
fn read(
    path: &Path,
    workflow: &WorkflowName,
    report: &mut Report,
) -> anyhow::Result<Option<Session>> {
    let name = source::name_of(path);
    let mut text = Vec::new();
    let opened = source::open(path, &report.bar);
    let read = opened.and_then(|opened| opened.take(MAX_BYTES + 1).read_to_end(&mut text));
    if let Err(error) = read {
        report.refuse(&name, format!("cannot be read: {error}"))?;
        return Ok(None);
    }
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > MAX_BYTES) {
        report.refuse(&name, format!("is too large: it may have {MAX_BYTES} bytes"))?;
        return Ok(None);
    }
    match OlderFile::read(without_mark(&text), &name, workflow) {
        Ok(OlderFile::Session(session)) => Ok(Some(session_of(*session, &name, report)?)),
        Ok(OlderFile::SharedState) => {
            report.warn(&name, "holds what agents share, and no session: it is left out")?;
            Ok(None)
        }
        Err(error) => {
            report.refuse(&name, error)?;
            Ok(None)
        }
    }
}

fn session_of(session: OlderSession, file: &str, report: &mut Report) -> anyhow::Result<Session> {
    let OlderSession { entry, messages, tools } = session;
    for note in &entry.notes {
        report.warn(file, note)?;
    }
    let chat_id = entry.chat_id.clone();
    let list = |field, lines| Source::List { file: file.to_owned(), field, lines };
    let tools = (!tools.is_empty()).then(|| list(TOOLS_USED, tools));
    let messages = Some(list(MESSAGES, messages));
    Ok(Session { chat_id, entry: Some(entry), messages, tools })
}

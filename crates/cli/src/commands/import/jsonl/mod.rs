mod directory;
mod session;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use self::directory::Directory;
pub(crate) use self::directory::read_index;
pub(crate) use self::session::{Importer, Session};
use super::destination::Destination;
use super::report::Report;
use super::sink::Sink;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "It can be broken off and repeated: a message that is stored is not stored again, and of a file that has \
                        grown only the new lines are added. A line that cannot be imported is reported with its file and \
                        number, the others are imported, and the exit code is 1. Files of sessions may be compressed: \
                        session_ID.jsonl.gz. Example:\n  \
                        reprise import jsonl data/sessions --app acme_corp --dry-run"
)]
pub(crate) struct Arguments {
    /// The directory with the sessions.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    destination: Destination,
}

/// Imports a directory of sessions.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let Arguments { directory, destination } = arguments;
    let mut report = Report::new(progress::bytes()?);
    let Directory { sessions, bytes } =
        Directory::read(directory, &destination.workflow, &mut report)?;
    report.bar.set_length(bytes);
    let import = async |sink: &Sink<'_>, report: &mut Report| {
        let mut importer = Importer { sink, report, workflow: &destination.workflow };
        for session in sessions {
            importer.import(session).await?;
        }
        Ok(())
    };
    destination.import(settings, report, import).await
}

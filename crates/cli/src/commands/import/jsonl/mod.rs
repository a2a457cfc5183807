mod directory;
mod session;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use persistence::mongo::MongoStore;
use records::{AppId, WorkflowName};

use self::directory::Directory;
pub(crate) use self::directory::read_index;
use self::session::Importer;
use super::clock::ImportClock;
use super::report::Report;
use super::run_on_store;
use super::sink::Sink;
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "It can be broken off and repeated: a message that is stored is not stored again, and of a file that has \
                        grown only the new lines are added. A line that cannot be imported is reported with its file and \
                        number, the others are imported, and the exit code is 1. Example:\n  \
                        reprise import jsonl data/sessions --app acme_corp --dry-run"
)]
pub(crate) struct Arguments {
    /// The directory with the sessions.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The app of the chats.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// The workflow of the chats whose session names none.
    #[arg(long, value_name = "WORKFLOW", default_value = "Chat")]
    workflow: WorkflowName,
    /// Read and check everything; store nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// Imports a directory of sessions.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut report = Report::new(progress::bytes()?);
    let directory = Directory::read(&arguments.directory, &arguments.workflow, &mut report)?;
    let report = run_on_store(settings, report, async |store, clock, report| {
        import(arguments, store, clock, directory, report).await
    });
    report.await?.finish(arguments.output, arguments.dry_run)
}

async fn import(
    arguments: &Arguments,
    store: &MongoStore,
    clock: &ImportClock,
    directory: Directory,
    report: &mut Report,
) -> anyhow::Result<()> {
    let sink = Sink::begin(store, clock, &arguments.app, arguments.dry_run).await?;
    report.bar.set_length(directory.bytes);
    let mut importer = Importer { sink: &sink, report, workflow: &arguments.workflow };
    for session in directory.sessions {
        importer.import(session).await?;
    }
    Ok(())
}

//! Imports: one file for each format.

mod ag2;
mod archive;
mod chat;
mod clock;
mod destination;
mod json;
mod jsonl;
mod messages;
mod mongo;
mod report;
mod sink;
mod source;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Subcommand;
use persistence::mongo::MongoStore;

pub(crate) use archive::ARCHIVE_VERSION;
pub(crate) use jsonl::read_index;

use self::clock::ImportClock;
use self::report::Report;
use crate::backend::Backend;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Format {
    /// Import sessions in JSON Lines: a directory with an index and a file for each.
    Jsonl(jsonl::Arguments),
    /// Import sessions of the layout before JSON Lines: a JSON file for each.
    Json(json::Arguments),
    /// Import chats of another system, one JSON object a line, in any format that is read.
    Messages(messages::Arguments),
    /// Import chats of another system from its MongoDB.
    Mongo(mongo::Arguments),
    /// Import the sessions of a log that AG2 has written, with their calls.
    Ag2(ag2::Arguments),
    /// Import an app or a chat from another database, with everything.
    Archive(archive::Arguments),
}

/// Runs an import on the store, with a clock that it can put back, and returns its report.
async fn run_on_store(
    settings: &Settings,
    mut report: Report,
    import: impl AsyncFnOnce(&MongoStore, &ImportClock, &mut Report) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let clock = Arc::new(ImportClock::default());
    let command = async |store: &MongoStore| import(store, &clock, &mut report).await;
    let importing =
        Backend::with_store_and_clock(settings, Arc::<ImportClock>::clone(&clock), command);
    importing.await.context("cannot import")?;
    Ok(report)
}

/// Imports what another system has.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    match &arguments.format {
        Format::Jsonl(arguments) => jsonl::run(arguments, settings).await,
        Format::Json(arguments) => json::run(arguments, settings).await,
        Format::Ag2(arguments) => ag2::run(arguments, settings).await,
        Format::Archive(arguments) => archive::run(arguments, settings).await,
        Format::Messages(arguments) => messages::run(arguments, settings).await,
        Format::Mongo(arguments) => mongo::run(arguments, settings).await,
    }
}

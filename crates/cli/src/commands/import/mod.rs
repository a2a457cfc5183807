//! Imports: one file for each format.

mod archive;
mod clock;
mod jsonl;
mod messages;
mod mongo;
mod report;
mod sink;

use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use archive::ARCHIVE_VERSION;
pub(crate) use jsonl::read_index;

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
    /// Import chats of another system, one JSON object a line, in any format that is read.
    Messages(messages::Arguments),
    /// Import chats of another system from its MongoDB.
    Mongo(mongo::Arguments),
    /// Import an app or a chat from another database, with everything.
    Archive(archive::Arguments),
}

/// Imports what another system has.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    match &arguments.format {
        Format::Jsonl(arguments) => jsonl::run(arguments, settings).await,
        Format::Archive(arguments) => archive::run(arguments, settings).await,
        Format::Messages(arguments) => messages::run(arguments, settings).await,
        Format::Mongo(arguments) => mongo::run(arguments, settings).await,
    }
}

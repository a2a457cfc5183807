//! Exports: one file for each format.

mod archive;
mod checkpoints;
mod jsonl;
mod new_file;
mod person;

use std::process::ExitCode;

use clap::Subcommand;

use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Without a format, everything about a person is exported: their chats, whole, deleted ones too; what the \
                        person said, answered and is called in the chats of others; their wallet, assistants and documents; and the \
                        usage of their chats, also of purged ones. Each line is a JSON object. The last one has \"record\": \"end\": \
                        an export without it is incomplete. Examples:\n  \
                        reprise export --app acme_corp --user alice > alice.jsonl\n  \
                        reprise export jsonl data/sessions --app acme_corp"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    format: Option<Format>,
    #[command(flatten)]
    person: Option<person::Person>,
}

#[derive(Debug, Subcommand)]
enum Format {
    /// Export chats as sessions in JSON Lines: a directory with an index and a file for each.
    Jsonl(jsonl::Arguments),
    /// Print an app with everything, for another database.
    App(archive::AppArguments),
    /// Print a chat with everything, for another database.
    Chat(archive::ChatArguments),
    /// Print the signed states of the chats of an app, a line each, to be kept away from the database.
    Checkpoints(checkpoints::Arguments),
}

/// Exports a person, or chats in a format.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let printed = match (&arguments.format, &arguments.person) {
        (Some(Format::Jsonl(arguments)), _) => return jsonl::run(arguments, settings).await,
        (Some(Format::App(arguments)), _) => archive::run_app(arguments, settings).await,
        (Some(Format::Chat(arguments)), _) => archive::run_chat(arguments, settings).await,
        (Some(Format::Checkpoints(arguments)), _) => checkpoints::run(arguments, settings).await,
        (None, Some(person)) => person::run(person, settings).await,
        (None, None) => anyhow::bail!("name a format, or --app and --user"),
    };
    printed.map(|()| ExitCode::SUCCESS)
}

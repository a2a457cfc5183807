//! What workflows and users do and cost, in the terminal.

mod proof;
mod show;
mod users;

use std::process::ExitCode;

use clap::Subcommand;

use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what the workflows of an app, or one workflow, have done.
    Show(show::Arguments),
    /// Show which users cost what, by the calls of the chats that they own.
    Users(users::Arguments),
    /// Recompute all stats from chats, status changes and calls; print every difference.
    #[command(after_help = "Services may run meanwhile. Exits with 1 if there is a difference. \
                            Examples:\n  reprise stats verify\n  reprise stats verify --app \
                            acme_corp")]
    Verify(proof::Arguments),
    /// Verify all stats and correct every difference.
    #[command(after_help = "Services may run meanwhile; run one rebuild at a time. Example:\n  \
                            reprise stats rebuild --app acme_corp")]
    Rebuild(proof::Arguments),
}

/// Runs a command on stats.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Verb::Show(arguments) => show::run(arguments, settings).await.map(|()| ExitCode::SUCCESS),
        Verb::Users(arguments) => users::run(arguments, settings).await.map(|()| ExitCode::SUCCESS),
        Verb::Verify(arguments) => proof::verify(arguments, settings).await,
        Verb::Rebuild(arguments) => proof::rebuild(arguments, settings).await,
    }
}

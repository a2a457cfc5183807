//! The commands on wallets, for operators.

mod verify;

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
    /// Recompute every balance from its entries; print every difference.
    Verify(verify::Arguments),
}

/// Runs a command on wallets.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        Verb::Verify(arguments) => verify::run(arguments, settings).await,
    }
}

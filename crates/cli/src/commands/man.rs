use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::arguments;

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reprise man /usr/local/share/man/man1")]
pub(crate) struct Arguments {
    /// The directory, which is created if it is missing.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes a page for each command.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let directory = &arguments.directory;
    let cannot = || format!("cannot write the pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    let command = arguments::Arguments::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory).with_context(cannot)
}

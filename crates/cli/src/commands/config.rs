use std::io::Write as _;

use crate::output::stdout;
use crate::settings::{DEFAULTS, Settings};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Secrets are hidden. Examples:\n  reprise config --defaults > reprise.toml\n  \
                        reprise config --config reprise.toml"
)]
pub(crate) struct Arguments {
    /// Print the file with every setting, its default and its meaning instead.
    #[arg(long)]
    defaults: bool,
}

/// Prints the settings as they are in force, or the default ones.
pub(crate) fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let text = if arguments.defaults { DEFAULTS.to_owned() } else { toml::to_string(settings)? };
    Ok(stdout().write_all(text.as_bytes())?)
}

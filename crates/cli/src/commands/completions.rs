use std::io::{self, Write as _};

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::arguments;
use crate::output::stdout;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
                        reprise completions bash > /etc/bash_completion.d/reprise\n  \
                        reprise completions zsh > ~/.zfunc/_reprise\n  \
                        reprise completions fish > ~/.config/fish/completions/reprise.fish")]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints what a shell runs to complete commands.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let mut script = Vec::new();
    let mut command = arguments::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "reprise", &mut script);
    stdout().write_all(&script)
}

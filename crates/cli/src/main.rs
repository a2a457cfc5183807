#![doc = include_str!("../README.md")]

mod arguments;
mod backend;
mod commands;
mod logging;
mod progress;
mod settings;
mod terminal;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            // One paragraph with the chain of errors: what failed, then why. If this cannot be
            // written, there is no other place to report to.
            let _ = writeln!(std::io::stderr(), "reprise: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    logging::start(&settings.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(commands::run(arguments.command, settings));
    // Background work, such as sealing, is safe to stop anywhere.
    runtime.shutdown_background();
    code
}

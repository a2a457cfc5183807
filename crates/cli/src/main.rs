#![doc = include_str!("../README.md")]

mod arguments;
mod backend;
mod commands;
mod logging;
mod output;
mod progress;
mod settings;
mod terminal;
mod time_argument;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use settings::{LogFormat, Settings};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            logging::tell(LogFormat::Text, &format!("reprise: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    let format = settings.log.format;
    logging::start(&settings.log)?;
    let ended = run_command(arguments, settings);
    // A log in JSON contains the reason as well, because standard error must hold nothing else.
    if let (LogFormat::Json, Err(error)) = (format, &ended) {
        tracing::error!(cause = format!("{error:#}"), "the command failed");
        return Ok(ExitCode::FAILURE);
    }
    ended
}

fn run_command(arguments: Arguments, settings: Settings) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(commands::run(arguments.command, settings));
    // Background work, such as sealing, is safe to stop anywhere.
    runtime.shutdown_background();
    code
}
